"""F26: an agent, its user and undo at random on the same files; what the user wrote is never lost."""

import random
import shutil
from pathlib import Path

import pytest
from remembered import START

from ogcode.agent.rights.seal import Seal
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.files import file_tools
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.undo.back import Undo
from ogcode.agent.undo.kept import digest
from ogcode.agent.undo.plan import NothingToUndo, Plan

SESSION = "3f8c21aa" + "0" * 24
PATHS = ("a", "b", "d/c", "d/e/f", "g/h")
ACTIONS = dict(
    [
        *[("write", 5), ("edit", 5), ("cut_short", 1), ("next_turn", 4), ("start_again", 1)],
        *[("undo_last", 4), ("redo", 4), ("rewind", 2)],
        *[("user_writes", 2), ("user_deletes", 1), ("user_moves", 1), ("user_makes_beside", 1)],
        ("user_removes_folder", 1),
    ]
)
"""What happens, and how often."""

Tree = dict[str, str]


class Game:
    """Every text is used once, so that it is known whose it is."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.top = folder / "work"
        self.top.mkdir()
        self.turn, self.texts = 1, 0
        self.ours: dict[str, set[str]] = {path: set() for path in PATHS}
        """What the tools wrote to each path, or found there and have kept."""
        self.snapshots: dict[int, Tree] = {}
        """The files as they were before each turn, for as long as the user has not changed any since."""
        self.after_redo: list[Tree] = []
        """What redo has to bring back, under the same condition."""
        self.undo = Undo(
            Workspace(self.top),
            lambda: self.top / ".ogcode" / "undo",
            lambda: SESSION,
            Seal(folder / "home"),
            lambda: START,
        )
        self.wrong: list[str] = []
        self.did = dict.fromkeys(ACTIONS, 0)
        self.start_again()
        self.snapshots[1] = self.tree()

    async def play(self, steps: int) -> list[str]:
        for _ in range(steps):
            [action] = self.chance.choices(list(ACTIONS), list(ACTIONS.values()))
            done = getattr(self, action)()
            if done is not None:
                await done
            self.did[action] += 1
            if self.wrong:
                return [f"{action} in turn {self.turn}", *self.wrong]
        return []

    def tree(self) -> Tree:
        return {
            str(path.relative_to(self.top)): path.read_text()
            for path in self.top.rglob("*")
            if path.is_file() and ".ogcode" not in path.parts
        }

    def text(self, whose: str) -> str:
        self.texts += 1
        return f"{whose} {self.texts}\n"

    def some_path(self) -> Path:
        return self.top / self.chance.choice(PATHS)

    async def write(self) -> None:
        path, text = self.some_path(), self.text("agent")
        name = str(path.relative_to(self.top))
        found = path.read_text() if path.is_file() else None
        try:
            if found is not None:
                await self.tools["read"](path=name, start_line=1, lines=0)
            await self.tools["write"](path=name, content=text)
        except ToolError:
            return  # a folder has its name, or a file that of a folder
        self.changed(name, found, text)

    async def edit(self) -> None:
        path = self.some_path()
        name = str(path.relative_to(self.top))
        if not path.is_file() or not (found := path.read_text()):
            return
        text = self.text("agent")
        await self.tools["edit"](path=name, old=found, new=text, all=False)
        self.changed(name, found, text)

    def cut_short(self) -> None:
        """A kill between what is kept and the change itself."""
        path = self.some_path()
        if path.is_file():
            found = path.read_text()
            self.undo.keep(self.turn, path, found.encode(), self.text("agent").encode())
            self.ours[str(path.relative_to(self.top))].add(found)
            self.after_redo.clear()

    def changed(self, name: str, found: str | None, text: str) -> None:
        self.ours[name] |= {text, *([] if found is None else [found])}
        self.after_redo.clear()

    def next_turn(self) -> None:
        self.turn += 1
        self.snapshots[self.turn] = self.tree()

    def start_again(self) -> None:
        tools = file_tools(
            self.undo.workspace, max_bytes=lambda: 9_000, keep=lambda *given: self.undo.keep(self.turn, *given)
        )
        self.tools = {tool.name: tool.function for tool in tools}
        self.undo.sweep()

    def user_writes(self) -> None:
        path = self.some_path()
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.text("user"))
            self.meddled()

    def user_deletes(self) -> None:
        path = self.some_path()
        if path.is_file():
            path.unlink()
            self.meddled()

    def user_moves(self) -> None:
        here, there = self.some_path(), self.some_path()
        if here.is_file() and not there.exists() and there.parent.is_dir():
            here.rename(there)
            self.meddled()

    def user_makes_beside(self) -> None:
        folder = self.some_path().parent
        if folder.is_dir():
            (folder / f"user-{self.texts}").write_text(self.text("user"))
            self.meddled()

    def user_removes_folder(self) -> None:
        folder = self.top / "d"
        if folder.is_dir():
            shutil.rmtree(folder)
            self.meddled()

    def meddled(self) -> None:
        self.snapshots.clear()
        self.after_redo.clear()

    def do(self, plan: Plan) -> None:
        before = self.tree()
        done = self.undo.do(plan)
        after = self.tree()
        for name in before.keys() | after.keys():
            if before.get(name) == after.get(name):
                continue
            if name not in self.ours:
                self.wrong.append(f"{name} is none of our files")
            elif name in before and before[name] not in self.ours[name]:
                self.wrong.append(f"{name} is lost: {before[name]}")
            elif name in after and after[name] not in self.ours[name]:
                self.wrong.append(f"{name} became {after[name]}")
            elif name in before and not self.is_kept(before[name]):
                self.wrong.append(f"{name} can't be had again: {before[name]}")
        for step in done.steps:
            if not step.why and self.holds(step.change.path) != step.change.after:
                self.wrong.append(f"{step.change.path} is not {step.does}")

    def undo_to(self, turn: int, plan: Plan) -> None:
        before = self.tree()
        expected = self.snapshots.get(turn)
        self.do(plan)
        if expected is not None and self.tree() != expected:
            self.wrong.append(f"not as before turn {turn}: {self.tree()} and not {expected}")
        if expected is not None:
            self.after_redo.append(before)
        else:
            self.after_redo.clear()
        self.snapshots = {number: tree for number, tree in self.snapshots.items() if number <= turn}

    def undo_last(self) -> None:
        try:
            plan = self.undo.last()
        except NothingToUndo:
            return
        self.undo_to(plan.turns[0], plan)

    def redo(self) -> None:
        try:
            plan = self.undo.again()
        except NothingToUndo:
            if self.after_redo:
                self.wrong.append("nothing to redo")
            return
        self.do(plan)
        first = min(plan.turns, default=0)
        self.snapshots = {number: tree for number, tree in self.snapshots.items() if number <= first}
        if self.after_redo and self.tree() != (expected := self.after_redo.pop()):
            self.wrong.append(f"redo gave {self.tree()} and not {expected}")

    def rewind(self) -> None:
        turn = self.chance.randint(max(1, self.turn - 3), self.turn)
        try:
            plan = self.undo.before(turn)
        except NothingToUndo:
            return
        self.undo_to(turn, plan)

    def holds(self, path: str) -> str:
        return digest(Path(path).read_bytes()) if Path(path).is_file() else ""

    def is_kept(self, text: str) -> bool:
        return (self.top / ".ogcode" / "undo" / digest(text.encode())).exists()


async def played(folder: Path, seed: int, steps: int) -> list[str]:
    place = folder / str(seed)
    place.mkdir()
    game = Game(place, seed)
    wrong = await game.play(steps)
    assert wrong or min(game.did.values()) > 0, game.did
    return wrong


async def test_whatever_is_undone_the_user_loses_nothing_and_an_undisturbed_undo_is_exact(fast: Path) -> None:
    assert {seed: wrong for seed in range(2) if (wrong := await played(fast, seed, 250))} == {}


@pytest.mark.torture
async def test_it_is_so_for_thousands_of_steps(fast: Path) -> None:
    assert {seed: wrong for seed in range(2, 22) if (wrong := await played(fast, seed, 250))} == {}
