import json
import os
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shutil import copytree

import pytest
from faulty import Done, Ended, in_child, kill_at, struck
from remembered import GOOD, START, a_job, a_memory, by_hand, note_files, notes, scribe, spool, waiting, write_note
from writers import drain, titled

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.health import gone
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.memory.trash import (
    TrashRefused,
    forget,
    forgotten,
    keep_edited,
    purge,
    restore,
    tombstones,
    undoable,
)
from ogcode.agent.model import Overloaded
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.tui.commands.init import COMMIT

OUTSIDE = "../outside.md"


def a_note(folder: Path) -> tuple[Memory, Path, str]:
    memory = a_memory(folder)
    path = write_note(memory, *by_hand(1), own=True)
    os.utime(path, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    return memory, path, "--".join(path.stem.split("--")[:2])


def put_away(memory: Memory, path: Path, note: str) -> None:
    forget(memory.root.store, [(note, str(path.relative_to(memory.root.store)))], START)


def test_what_is_forgotten_leaves_a_tombstone_and_comes_back_byte_for_byte_as_ones_own(tmp_path: Path) -> None:
    memory, path, note = a_note(tmp_path)
    before, facts = path.read_bytes(), path.stat()
    put_away(memory, path, note)
    [stone] = undoable(memory.root.store)
    assert (notes(memory).entries(), forgotten(memory.root.store, note)) == ([], True)
    assert (stone.files[0].sha256, stone.at[:10]) == (sha256(before).hexdigest(), "2026-09-12")

    restore(memory.root.store, stone, START)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, facts.st_mtime_ns)
    [entry] = notes(memory).entries()
    assert (entry.origin, forgotten(memory.root.store, note), undoable(memory.root.store)) == ("own", False, [])


async def test_a_forgotten_turn_is_not_written_again_until_it_is_brought_back(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    [job] = spool(memory, a_job(1))
    forget(memory.root.store, [(job.id, f"spool/{job.id}.json")], START)
    assert (await scribe(memory, ScriptedModel()).run(), waiting(memory)) == (0, [])

    [stone] = undoable(memory.root.store)
    restore(memory.root.store, stone, START)
    assert (await scribe(memory, ScriptedModel(GOOD)).run(), len(note_files(memory))) == (1, 1)


async def test_a_turn_that_is_forgotten_while_its_note_is_written_stays_forgotten(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    [job] = spool(memory, a_job(1))
    drain = scribe(memory, ScriptedModel())

    async def composed(_: object) -> str:
        forget(memory.root.store, [(job.id, f"spool/{job.id}.json")], START)
        return GOOD

    drain.compose = composed
    await drain.run()
    assert (note_files(memory), waiting(memory)) == ([], [])


async def test_the_job_that_would_better_a_note_goes_and_comes_back_with_it(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    [job] = spool(memory, a_job(1))
    await scribe(memory, ScriptedModel(*[Overloaded("away")] * 9)).run()
    [path] = note_files(memory)
    put_away(memory, path, job.id)
    assert (note_files(memory), waiting(memory)) == ([], [])
    restore(memory.root.store, undoable(memory.root.store)[0], START)
    assert (note_files(memory), waiting(memory)) == ([path], [job.id])


def test_another_file_in_the_place_of_a_forgotten_note_is_not_written_over(tmp_path: Path) -> None:
    memory, path, note = a_note(tmp_path)
    put_away(memory, path, note)
    path.write_text("# Mine\n", "utf-8")
    with pytest.raises(TrashRefused, match="another file"):
        restore(memory.root.store, undoable(memory.root.store)[0], START)
    assert path.read_text("utf-8") == "# Mine\n"


def test_an_edit_is_taken_back_unless_the_note_was_changed_since(tmp_path: Path) -> None:
    memory, path, note = a_note(tmp_path)
    before = path.read_bytes()
    keep_edited(memory.root.store, note, f"memory/{path.name}", before, became=b"# Edited\n", now=START)
    path.write_bytes(b"# Edited again\n")
    [stone] = undoable(memory.root.store)
    with pytest.raises(TrashRefused):
        restore(memory.root.store, stone, START)
    path.write_bytes(b"# Edited\n")
    restore(memory.root.store, stone, START)
    assert (path.read_bytes(), forgotten(memory.root.store, note)) == (before, False)


def test_what_is_forgotten_for_good_is_in_no_file_any_more_and_stays_forgotten(tmp_path: Path) -> None:
    memory, path, note = a_note(tmp_path)
    other = write_note(memory, *by_hand(2))
    put_away(memory, path, note)
    forget(memory.root.store, [("2026-09-12T091402Z--3f8c21aa", f"memory/{other.name}")], START)
    assert purge(memory.root.store, note, START, claimed=[]) == 1
    left = [file for file in memory.root.store.rglob("*") if file.is_file() and b"word1\n" in file.read_bytes()]
    assert (left, forgotten(memory.root.store, note)) == ([], True)
    assert [stone.note for stone in undoable(memory.root.store)] == ["2026-09-12T091402Z--3f8c21aa"]


@pytest.mark.parametrize(
    "path", [OUTSIDE, "memory/../../outside.md", "/outside.md", "config.toml", "memory/a.md\0", "locks/x.md", "memory"]
)
def test_a_tombstone_that_came_with_a_repository_writes_nothing_outside_of_memory(tmp_path: Path, path: str) -> None:
    memory, note, identity = a_note(tmp_path)
    put_away(memory, note, identity)
    log = memory.root.store / "trash" / "tombstones.jsonl"
    row = json.loads(log.read_text("utf-8"))
    row["files"][0]["path"] = path
    log.write_text(json.dumps(row) + "\n{torn\n[]\n", "utf-8")
    assert tombstones(memory.root.store) == []


def test_nothing_comes_back_through_a_link_or_from_a_trash_that_was_changed(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    path = write_note(memory, f"sub/{by_hand(1)[0]}", "# One\n")
    forget(memory.root.store, [("2026-09-12T091401Z--3f8c21aa", f"memory/sub/{path.name}")], START)
    [stone] = undoable(memory.root.store)
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path)
    with pytest.raises(TrashRefused, match="link"):
        restore(memory.root.store, stone, START)
    path.parent.unlink()
    [kept] = memory.root.store.joinpath("trash").glob("*.md")
    kept.write_text("# Other\n", "utf-8")
    with pytest.raises(TrashRefused, match="no longer holds"):
        restore(memory.root.store, stone, START)


def forgetting_killed_at(number: int, folder: Path) -> tuple[Ended, Memory]:
    memory = a_memory(folder)
    path = write_note(memory, *by_hand(1), own=True)
    [job] = spool(memory, a_job(1))

    def work(_: Done) -> None:
        with struck(kill_at(number)):
            stones = forget(
                memory.root.store,
                [("2026-09-12T091401Z--3f8c21aa", f"memory/{path.name}"), (job.id, f"spool/{job.id}.json")],
                datetime(2026, 9, 13, tzinfo=UTC),
            )
            for stone in stones:
                restore(memory.root.store, stone, START)

    return in_child(work), memory


def test_wherever_forgetting_or_its_undoing_dies_what_is_not_there_can_be_brought_back(fast: Path) -> None:
    died, lost = 0, list[str]()
    points = range(1, 200)
    for number in random.Random(1).sample(points, 40):
        ended, memory = forgetting_killed_at(number, fast / str(number))
        assert ended.killed or ended.status == 0, ended.told
        died += ended.killed
        for stone in undoable(memory.root.store):
            restore(memory.root.store, stone, START)
        if len(note_files(memory)) != 1 or len(waiting(memory)) != 1 or undoable(memory.root.store):
            lost.append(f"at operation {number}")
    assert died > 10
    assert lost == []


async def test_a_turn_that_got_its_note_while_it_was_being_forgotten_is_forgotten_with_it(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    [job] = spool(memory, a_job(1))
    await scribe(memory, ScriptedModel(GOOD)).run()
    written = note_files(memory)
    forget(memory.root.store, [(job.id, f"spool/{job.id}.json")], START)
    assert (note_files(memory), forgotten(memory.root.store, job.id)) == ([], True)
    restore(memory.root.store, undoable(memory.root.store)[0], START)
    assert note_files(memory) == written


def a_committed_memory(folder: Path) -> Memory:
    memory = a_memory(folder)
    prepare_store(memory.root.store)
    memory.root.store.joinpath(".gitignore").write_text(COMMIT)
    return memory


def holding(memory: Memory, words: bytes) -> list[Path]:
    return [path for path in memory.root.store.rglob("*") if path.is_file() and words in path.read_bytes()]


async def bettered(memory: Memory) -> bytes:
    """Write a note without a model, then better it; give the last of its bytes."""
    spool(memory, a_job(1))
    await scribe(memory, ScriptedModel(*[Overloaded("away")] * 9)).run()
    await scribe(memory, ScriptedModel(GOOD)).run()
    return note_files(memory)[0].read_bytes()


async def test_a_bettered_note_that_git_took_comes_back_as_it_was_last_under_its_name(tmp_path: Path) -> None:
    memory = a_committed_memory(tmp_path)
    content = await bettered(memory)
    [path] = note_files(memory)
    path.unlink()
    [stone] = gone(memory)
    restore(memory.root.store, stone, START)
    assert (note_files(memory), path.read_bytes(), gone(memory)) == ([path], content, [])


async def test_a_note_is_not_brought_back_over_what_has_its_name_now(tmp_path: Path) -> None:
    memory = a_committed_memory(tmp_path)
    await bettered(memory)
    [path] = note_files(memory)
    path.unlink()
    [stone] = gone(memory)
    path.write_text("# Mine\n", "utf-8")
    with pytest.raises(TrashRefused, match="another file"):
        restore(memory.root.store, stone, START)
    assert (path.read_text("utf-8"), gone(memory)) == ("# Mine\n", [])


async def test_where_git_sees_nothing_no_second_copy_is_kept(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    await bettered(memory)
    assert not memory.root.store.joinpath("trash").exists()


async def test_a_note_whose_copy_can_not_be_kept_is_written_all_the_same_and_that_is_logged(tmp_path: Path) -> None:
    memory, log = a_committed_memory(tmp_path), list[str]()
    memory.root.store.joinpath("trash").write_text("no folder")
    spool(memory, a_job(1))
    await scribe(memory, ScriptedModel(GOOD), log=log).run()
    assert (len(note_files(memory)), [("no copy of it is kept" in line) for line in log]) == (1, [True])


async def test_a_checkout_that_was_moved_misses_nothing_and_forgets_for_good_what_it_brought(tmp_path: Path) -> None:
    memory = a_committed_memory(tmp_path)
    await bettered(memory)
    copytree(memory.root.path, tmp_path / "moved")
    moved = Memory.of(find_root(tmp_path / "moved", None), memory.home)
    [path] = note_files(moved)
    note = "--".join(path.stem.split("--")[:2])
    put_away(moved, path, note)
    assert (gone(moved), len(holding(moved, b"is tried five times"))) == ([], 1)
    assert purge(moved.root.store, note, START, claimed=moved.manifest.claims().anywhere(note)) == 2
    assert holding(moved, b"# Dispatch") == []


async def test_a_turn_forgotten_for_good_while_its_note_is_written_leaves_no_copy(tmp_path: Path) -> None:
    memory = a_committed_memory(tmp_path)
    [job] = spool(memory, a_job(1))
    late = list[str]()

    def strike(name: str, real: Callable[..., object], arguments: Sequence[object]) -> object:
        if name == "open" and arguments[0] == memory.manifest.path and not late:  # its words are about to be claimed
            late.append(job.id)
            forget(memory.root.store, [(job.id, f"spool/{job.id}.json")], START)
            purge(memory.root.store, job.id, START, claimed=memory.manifest.claims().anywhere(job.id))
        return real(*arguments)

    with struck(strike):
        await scribe(memory, ScriptedModel(GOOD)).run()
    assert (late, note_files(memory), holding(memory, b"# Dispatch")) == ([job.id], [], [])


def test_wherever_the_scribe_dies_no_note_has_its_name_before_a_copy_of_it_is_kept(fast: Path) -> None:
    died, without = 0, list[str]()
    for number in random.Random(1).sample(range(1, 110), 30):
        memory = a_committed_memory(fast / str(number))
        spool(memory, a_job(1), a_job(2))

        def work(_: Done) -> None:
            with struck(kill_at(number)):  # noqa: B023  # it is over before the next round
                drain(memory, titled(), Overloaded("away"))  # noqa: B023
                drain(memory)  # noqa: B023

        died += in_child(work).killed
        kept = {path.stem for path in memory.root.store.joinpath("trash").glob("*.md")}
        without += [f"{path.name} at {number}" for path in note_files(memory) if digest(path) not in kept]
    assert died > 10
    assert without == []


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
