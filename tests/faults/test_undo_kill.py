"""F3: kill -9 of a session around the edits of a turn, its end, its undo, its redo and its rewind."""

import asyncio
import itertools
import json
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from faulty import Done, Ended, in_child, kill_at, struck
from remembered import START

from ogcode.agent.events import ignore
from ogcode.agent.files.durable import Lock
from ogcode.agent.memory.spool import jobs, prepare_store
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.tools.files import file_tools
from ogcode.agent.transcript import recollect
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.agent.undo.plan import NothingToUndo
from ogcode.tui.behind.undoing import put_back
from ogcode.tui.commands.undo import undo_in
from ogcode.tui.earlier import Choice, finish_open_turns, lock_file
from ogcode.tui.place import Here, look_around
from ogcode.tui.wiring import open_session

Work = Callable[[Here, Done], None]

SESSION = "3f8c21aa" + "0" * 24
LINES = (0, 200, 2_000)


def texts(lines: int) -> list[str]:
    """What the file is in turn, with so many lines more."""
    return [f"it is {number}\n" + "more\n" * lines for number in ("one", "two", "three")]


def a_place(folder: Path) -> Here:
    (folder / "repo").mkdir()
    here = look_around(folder / "repo", {"HOME": str(folder), "PATH": "/usr/bin:/bin"}, lambda: START, trust=True)
    return replace(here, config=replace(here.config, sandbox="off"))


def calling(tool: str, **arguments: str) -> ToolCall:
    return ToolCall("", tool, json.dumps(arguments))


def begin(here: Here, lines: int) -> None:
    shutil.rmtree(here.root.top)
    here.root.top.mkdir()
    (here.root.top / "a.txt").write_text(texts(lines)[0])


async def allowed(call: ToolCall) -> Verdict:
    return Verdict(True)


def a_session(here: Here, done: Done) -> None:
    """Change files in two turns, take that back and do it again, then go back to before the second."""
    model = ScriptedModel(
        calling("edit", path="a.txt", old="it is one", new="it is two"),
        "one is two",
        calling("edit", path="a.txt", old="it is two", new="it is three"),
        calling("write", path="new/b.txt", content="made\n"),
        "two is three",
    )
    opened = open_session(here, model, Choice(identity=SESSION), memory="on")
    for number in (1, 2):
        asyncio.run(opened.session.ask(f"turn {number}", emit=ignore, approve=allowed, limits=Limits()))
        done(f"finished {number}")
    for command, argument in (("/undo", ""), ("/redo", ""), ("/rewind", "2"), ("/redo", "")):
        put_back(opened, command, argument)


def by_hand(here: Here, _: Done) -> None:
    """Do the same to files without a session around it."""
    prepare_store(here.root.store)
    Lock.take(lock_file(here, SESSION))
    undo, turn = undo_in(here, SESSION), itertools.count(1)
    tools = file_tools(here.workspace(), max_bytes=lambda: 9_000, keep=lambda *given: undo.keep(next(turn), *given))
    functions = {tool.name: tool.function for tool in tools}
    edit, write = functions["edit"], functions["write"]

    async def change() -> None:
        await edit(path="a.txt", old="it is one", new="it is two", all=False)
        await edit(path="a.txt", old="it is two", new="it is three", all=False)
        await write(path="new/b.txt", content="made\n")

    asyncio.run(change())
    for plan in (undo.last, undo.again, lambda: undo.before(1)):
        undo.do(plan())


def counted(work: Work, here: Here) -> int:
    """Tell how many operations there are to be killed at."""
    count = itertools.count()

    def counting(_: str, real: Callable[..., object], arguments: Sequence[object]) -> object:
        next(count)
        return real(*arguments)

    begin(here, 0)
    with struck(counting):  # in this process, so that its children find all modules loaded
        work(here, lambda _: None)
    return next(count)


def state(here: Here) -> dict[str, str]:
    top = here.root.top
    return {
        str(path.relative_to(top)): path.read_text()
        for path in sorted(top.rglob("*"))
        if path.is_file() and ".ogcode" not in path.relative_to(top).parts
    }


@dataclass(frozen=True, slots=True)
class Outcome:
    ended: Ended
    wrong: tuple[str, ...]


def killed(work: Work, here: Here, number: int, lines: int) -> Outcome:
    begin(here, lines)

    def die(done: Done) -> None:
        with struck(kill_at(number)):
            work(here, done)

    ended = in_child(die)
    wrong = [f"unforeseen: {ended.told}"] if ended.status > 0 else []
    found, made = state(here), {"a.txt": texts(lines), "new/b.txt": ["made\n"]}
    wrong += [f"mixed {name}" for name in made if name in found and found[name] not in made[name]]
    finish_open_turns(here)  # what the next start does first
    wrong += [f"left {name}" for name in state(here) if name not in made]
    spooled = {job.turn for _, job, _ in jobs(here.root.store) if not isinstance(job, Exception)}
    wrong += [f"lost turn {turn}" for turn in (1, 2) if f"finished {turn}" in ended.told and turn not in spooled]
    path = here.root.sessions / f"{SESSION}.jsonl"
    if path.exists() and recollect(path).open_turn:
        wrong.append("a turn is still open")
    undo = undo_in(here, SESSION)
    try:
        undone = undo.do(undo.before(1))
        wrong += [f"{step.change.path}: {step.why}" for step in undone.steps if step.why]
    except NothingToUndo:
        pass  # it came before the first edit
    if state(here) != {"a.txt": made["a.txt"][0]} or (here.root.top / "new").exists():
        wrong.append(f"not put back: {sorted(state(here))}")
    return Outcome(ended, tuple(wrong))


def fails(work: Work, folder: Path, runs: int) -> dict[int, tuple[str, ...]]:
    """Kill it so many times, each time at another operation as long as there are some; give what was wrong then."""
    here = a_place(folder)
    every = list(range(1, counted(work, here) + 1))
    random.Random(3).shuffle(every)
    found, kills = dict[int, tuple[str, ...]](), 0
    for run in range(runs):
        number = every[run % len(every)]
        outcome = killed(work, here, number, LINES[run % len(LINES)])
        kills += outcome.ended.killed
        found |= {number: outcome.wrong} if outcome.wrong else {}
    print(f"{runs} runs, {len(every)} operations, {kills} kills")  # noqa: T201  # what it is run for
    assert kills > runs * 0.9
    return found


def test_files_that_are_changed_or_put_back_in_a_kill_are_old_or_new_and_can_be_put_back(fast: Path) -> None:
    assert fails(by_hand, fast, 92) == {}


def test_a_session_is_killed_and_loses_no_finished_turn_and_its_files_can_be_put_back(fast: Path) -> None:
    assert fails(a_session, fast, 8) == {}


@pytest.mark.torture
@pytest.mark.parametrize("work", [by_hand, a_session])
def test_it_is_killed_a_thousand_times(fast: Path, work: Work) -> None:
    assert fails(work, fast, 1_000) == {}
