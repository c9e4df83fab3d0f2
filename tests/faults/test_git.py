"""F13: git, and other hands, at the folder of memory. Each command runs twice."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from real_scribe import a_scripted_memory, scribe_command, turns, until
from remembered import GOOD, SESSION, START, a_job, a_memory, note_files, notes, scribe, spool, waiting

from ogcode.agent.events import Event, Warned
from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.health import gone, troubles
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.memory.trash import restore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.librarian.library import Library
from ogcode.librarian.tools import librarian_tools
from ogcode.tui.commands.init import COMMIT
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.wiring import open_session

Git = Callable[..., int]


def git_in(folder: Path) -> Git:
    def git(*arguments: str) -> int:
        settings = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
        return subprocess.run(["git", *settings, *arguments], cwd=folder, capture_output=True).returncode

    return git


async def written(memory: Memory, *numbers: int) -> list[str]:
    """Finish turns and write their notes; give their ids."""
    added = spool(memory, *[a_job(number) for number in numbers])
    replies = [GOOD.replace("Dispatch", f"Dispatch {number}") for number in numbers]
    await scribe(memory, ScriptedModel(*replies, *replies)).run()
    return [job.id for job in added]


async def a_repository(folder: Path, *, committed: bool = False) -> tuple[Memory, Git]:
    """A repository with two written notes and a turn that waits."""
    memory = a_memory(folder)
    git = git_in(memory.root.path)
    git("init", "-q")
    (memory.root.path / "code.py").write_text("1\n")
    git("add", "code.py")
    git("commit", "-qm", "first")
    memory = Memory.of(find_root(memory.root.path, None), memory.home)
    if committed:
        prepare_store(memory.root.store)
        (memory.root.store / ".gitignore").write_text(COMMIT)
    await written(memory, 1, 2)
    if committed:
        git("add", ".")
        git("commit", "-qm", "memory")
    spool(memory, a_job(3))
    return memory, git


async def seen(memory: Memory, *, trusted: bool = False) -> dict[str, str]:
    """Read everything, as a person and as the librarian would; give each note's origin, or `waits`."""
    found = notes(memory, trusted=trusted)
    library = Library(found, memory.root.sessions, memory.root.top, memory.seal)
    memory_map, file_map, read = [tool.function for tool in librarian_tools(library)]
    assert await memory_map()
    for entry in found.entries():
        assert found.text(entry)
        assert await file_map(entry.name)
        assert await read(entry.name, "Outcome")
    assert len(found.find("dispatch")) == len(found.entries())
    return {entry.id[11:17]: "waits" if entry.pending else entry.origin for entry in found.entries()}


WHOLE = {"091512": "own", "091612": "own", "091712": "waits"}
HARMLESS = (
    ["clean", "-fd"],
    ["stash", "-u"],
    ["checkout", "-q", "-B", "other", "HEAD"],
    ["reset", "-q", "--hard"],
    ["add", "-A"],
    ["rm", "-rqf", "--ignore-unmatch", "."],
)


@pytest.mark.parametrize("command", HARMLESS, ids=" ".join)
async def test_memory_that_git_does_not_see_loses_nothing(tmp_path: Path, command: list[str]) -> None:
    memory, git = await a_repository(tmp_path)
    for _ in range(2):
        (memory.root.path / "code.py").write_text("2\n")
        (memory.root.path / "untracked").write_text("x")
        assert git(*command) == 0
        assert await seen(memory) == WHOLE
    assert await written(memory, 4)
    assert list((await seen(memory)).values()) == ["own"] * 4


THOROUGH = (["clean", "-fdx"], ["stash", "-a"])


@pytest.mark.parametrize("committed", [False, True], ids=["ignored", "committed"])
@pytest.mark.parametrize("command", THOROUGH, ids=" ".join)
async def test_what_git_takes_away_is_gone_and_the_next_turn_is_remembered(
    tmp_path: Path, command: list[str], committed: bool
) -> None:
    memory, git = await a_repository(tmp_path, committed=committed)
    for _ in range(2):
        assert git(*command) == 0
        assert await seen(memory) == (dict(list(WHOLE.items())[:2]) if committed else {})
    await written(memory, 4)
    assert (await seen(memory))["091812"] == "own"
    if command[0] == "stash":
        await written(memory, 5)
        shutil.move(memory.root.store, tmp_path / "since")
        if committed:  # the second one took what was made since
            assert git("stash", "drop") == 0
            assert git("reset", "-q", "--hard") == 0
        assert git("stash", "pop") == 0
        assert await seen(memory) == WHOLE


async def test_notes_that_are_gone_without_being_forgotten_are_reported(tmp_path: Path) -> None:
    memory, git = await a_repository(tmp_path)
    assert "091512" not in str(troubles(memory, trusted=False))
    for _ in range(2):
        assert git("clean", "-fdx") == 0
        found = [trouble for trouble in troubles(memory, trusted=False) if trouble.kind == "gone"]
        assert [trouble.path[18:24] for trouble in found] == ["091512", "091612"]
        assert all("its bytes are kept nowhere" in trouble.said for trouble in found)


STEPS = (["clean", "-fd"], ["stash", "-u"], ["reset", "-q", "--hard"], ["checkout", "-q", "-B", "other"])


@pytest.mark.parametrize("command", STEPS, ids=" ".join)
async def test_committed_memory_loses_nothing(tmp_path: Path, command: list[str]) -> None:
    memory, git = await a_repository(tmp_path, committed=True)
    for _ in range(2):
        (memory.root.path / "code.py").write_text("2\n")
        assert git(*command) == 0
        assert await seen(memory) == WHOLE


@pytest.mark.parametrize("command", STEPS[:2], ids=" ".join)
async def test_notes_that_are_not_committed_yet_are_told_to_be_gone_and_can_be_brought_back(
    tmp_path: Path, command: list[str]
) -> None:
    memory, git = await a_repository(tmp_path, committed=True)
    added = await written(memory, 4)
    before = {path: path.read_bytes() for path in note_files(memory)}
    for _ in range(2):
        assert git(*command) == 0
        assert await seen(memory) == dict(list(WHOLE.items())[:2])
        told = [trouble.path for trouble in troubles(memory, trusted=False)]
        assert told == [str(path.relative_to(memory.root.store)) for path in [*before][2:]]
    assert [stone.note for stone in gone(memory)][1:] == added
    for stone in gone(memory):
        restore(memory.root.store, stone, START)
    assert {path: path.read_bytes() for path in note_files(memory)} == before
    assert (await seen(memory), gone(memory)) == ({**WHOLE, "091712": "own", "091812": "own"}, [])


async def test_committed_notes_go_and_come_with_the_branch_and_stay_our_own(tmp_path: Path) -> None:
    memory, git = await a_repository(tmp_path, committed=True)
    for _ in range(2):
        assert git("checkout", "-q", "HEAD~1") == 0
        assert await seen(memory) == {"091712": "waits"}
        assert len(gone(memory)) == 2
        assert git("checkout", "-q", "main") == 0
        assert await seen(memory) == WHOLE
        assert gone(memory) == []


async def test_a_note_in_conflict_is_flagged_and_read_and_not_written_over(tmp_path: Path) -> None:
    memory, git = await a_repository(tmp_path, committed=True)
    note = note_files(memory)[0]
    git("checkout", "-q", "-b", "other")
    for branch, words in (("other", "six tries"), ("main", "seven tries")):
        assert git("checkout", "-q", branch) == 0
        note.write_text(note.read_text().replace("Five tries", words))
        git("commit", "-qam", words)
    assert git("merge", "other") == 1
    assert git("merge", "other") != 0
    before = note.read_bytes()
    assert await seen(memory, trusted=True) == {**WHOLE, "091512": "edited"}
    assert "091512" not in await seen(memory)
    [entry] = notes(memory).named(note.name)
    assert "conflict" in entry.malformed
    assert {"six tries", "seven tries"} <= {line[:-14] for line in notes(memory).text(entry).split("\n")}
    await written(memory, 4)
    assert note.read_bytes() == before


async def test_a_worktree_shares_memory_and_takes_none_of_it_away(tmp_path: Path) -> None:
    memory, git = await a_repository(tmp_path)
    for number in (4, 5):
        assert git("worktree", "add", "-q", "-f", "--detach", str(tmp_path / "tree")) == 0
        tree = Memory.of(find_root(tmp_path / "tree", None), memory.home)
        await written(tree, number)
        assert await seen(tree) == await seen(memory)
        assert git("worktree", "remove", "--force", str(tmp_path / "tree")) == 0
    assert list((await seen(memory)).values()) == ["own"] * 5


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


@pytest.mark.parametrize("command", [["rm", "-rf", ".ogcode"], ["git", "clean", "-qfdx"]], ids=" ".join)
async def test_a_session_goes_on_when_its_memory_is_removed_under_it(tmp_path: Path, command: list[str]) -> None:
    memory, _ = await a_repository(tmp_path)
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(memory.home), "PATH": "/usr/bin:/bin"}
    here = look_around(memory.root.path, environ, utc_now, trust=True)
    opened = open_session(here, ScriptedModel("one", "two", "three"), Choice(), memory="on")
    told = list[Event]()
    for number in range(3):
        await opened.session.ask(f"ask {number}", emit=told.append, approve=yes, limits=Limits())
        if number < 2:
            subprocess.run(command, cwd=memory.root.path, check=True)
    opened.close()
    assert any(isinstance(event, Warned) for event in told)
    await scribe(memory, ScriptedModel()).run()
    assert [entry.title for entry in notes(memory, trusted=False).entries()] == ["ask 2"]
    assert (memory.root.store / ".gitignore").read_text() == "*\n"


def test_a_scribe_whose_folder_is_removed_leaves_the_next_turns_to_the_next_scribe(tmp_path: Path) -> None:
    memory = a_scripted_memory(tmp_path)
    turns(memory, 1)
    command, environ = scribe_command(memory, linger=60)
    process = subprocess.Popen(command, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL)
    until(lambda: note_files(memory))

    def removed() -> bool:  # again, while the scribe is still putting its index there
        shutil.rmtree(memory.root.store, ignore_errors=True)
        return not memory.root.store.exists()

    until(removed)
    until(lambda: process.poll() is not None)
    assert process.returncode == 0


CASES: Sequence[Callable[[Memory], object]] = (
    lambda memory: shutil.rmtree(memory.root.memory),
    lambda memory: shutil.rmtree(memory.root.spool),
    lambda memory: shutil.rmtree(memory.root.locks),
    lambda memory: (memory.root.store / ".gitignore").unlink(),
    lambda memory: memory.root.database.unlink(),
)


@pytest.mark.parametrize("remove", CASES, ids=["memory", "spool", "locks", ".gitignore", "index.db"])
async def test_a_part_of_memory_that_is_removed_is_made_again(
    tmp_path: Path, remove: Callable[[Memory], object]
) -> None:
    memory, _ = await a_repository(tmp_path)
    await seen(memory)
    remove(memory)
    await seen(memory)
    (identity,) = await written(memory, 4)
    assert (await seen(memory))[identity[11:17]] == "own"
    assert waiting(memory) == []
    assert all(entry.session_id == SESSION for entry in notes(memory).entries())
