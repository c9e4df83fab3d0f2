import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from remembered import (
    GOOD,
    SESSION,
    a_full_memory,
    a_job,
    a_memory,
    answers,
    by_hand,
    facts,
    from_files,
    note_files,
    notes,
    scribe,
    spool,
    write_note,
)

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.conversations import Conversation
from ogcode.agent.index.listing import listed
from ogcode.agent.index.refresh import create, refresh
from ogcode.agent.model import Overloaded
from ogcode.agent.models.scripted import ScriptedModel


@pytest.fixture
async def memory(tmp_path: Path) -> Memory:
    return await a_full_memory(tmp_path)


def test_what_was_written_is_found_by_title_topic_file_and_identifier(memory: Memory) -> None:
    found = notes(memory)
    assert [entry.title for entry in found.find("zebra")] == ["Zebra retry fix"]
    assert len(found.find("backoff")) == 4
    assert len(found.find("internal/dispatch/retry.go")) == 4
    assert {entry.title for entry in found.find("getRetryBackoff")} >= {"Note 3", "Look at getRetryBackoff again"}
    assert [entry.title for entry in found.find("重试")] == ["Note 3"]


def written(memory: Memory) -> Path:
    """Pick a note of the scribe's."""
    return next(path for path in note_files(memory) if "retry-fix" in path.name)


def edit(memory: Memory) -> None:
    path = written(memory)
    path.write_text(path.read_text().replace("five", "six") + "\nxylophone\n")


def edit_to_the_same_size(memory: Memory) -> None:
    path = written(memory)
    path.write_text(path.read_text()[::-1])


def move(memory: Memory) -> None:
    (memory.root.memory / "old" / "deep").mkdir(parents=True)
    path = written(memory)
    path.rename(memory.root.memory / "old" / "deep" / path.name)


def delete(memory: Memory) -> None:
    written(memory).unlink()


def delete_all(memory: Memory) -> None:
    shutil.rmtree(memory.root.memory)


def add_what_is_no_note(memory: Memory) -> None:
    write_note(memory, ".hidden.md", "hidden")
    write_note(memory, ".git/x.md", "hidden")
    write_note(memory, "a.md~", "backup")
    write_note(memory, "a.txt", "text")
    write_note(memory, "huge.md", "x" * 1_000_001)
    (memory.root.memory / "folder.md").mkdir()
    (memory.root.memory / "link.md").symlink_to("/etc/passwd")
    (memory.root.memory / "out").symlink_to("/etc")
    Path(os.fsdecode(os.fsencode(memory.root.memory) + b"/\xff.md")).write_text("not UTF-8")


CHANGES = (edit, edit_to_the_same_size, move, delete, delete_all, add_what_is_no_note)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_files_are_the_truth(memory: Memory, change: Callable[[Memory], None]) -> None:
    answers(memory)
    change(memory)
    assert answers(memory) == from_files(memory)


def shadow(memory: Memory) -> None:
    """Write a note of others that bears the id of one's own, in a conversation that is another's."""
    write_note(memory, f"copies/{written(memory).name}", '---\nsession_id: "another"\n---\n# A copy\n')


def unshadow(memory: Memory) -> None:
    shadow(memory)
    notes(memory)
    written(memory).unlink()


@pytest.mark.parametrize("change", [*CHANGES, shadow, unshadow], ids=lambda change: change.__name__)
def test_conversations_that_have_changed_are_summed_up_again(memory: Memory, change: Callable[[Memory], None]) -> None:
    def told() -> list[list[Conversation]]:
        return [notes(memory, trusted=trusted).conversations() for trusted in (False, True)]

    before = told()
    change(memory)
    grown = told()
    memory.root.database.unlink(missing_ok=True)
    assert grown == told()
    assert (grown == before) == (change in (move, add_what_is_no_note, shadow))


def test_the_conversations_of_all_are_those_of_every_scope(memory: Memory) -> None:
    write_note(memory, "of-another.md", '---\nsession_id: "another"\n---\n# One\n')
    own = notes(memory, trusted=False).conversations()
    assert own == notes(memory, {SESSION: 99}).conversations()
    assert {each.session_id for each in notes(memory).conversations()} > {each.session_id for each in own}


def test_a_moved_note_is_the_same_note(memory: Memory) -> None:
    before = {entry.id: entry.origin for entry in notes(memory).entries()}
    move(memory)
    assert {entry.id: entry.origin for entry in notes(memory).entries()} == before


def test_what_is_no_note_is_not_listed(memory: Memory) -> None:
    before = notes(memory).entries()
    add_what_is_no_note(memory)
    assert notes(memory).entries() == before


@pytest.mark.parametrize(
    "junk", [b"", b"[" * 9_000, b"\xff\x00", b'---\nturn: 99999999999999999999\ntitle: "\\ud800"\n---\n']
)
def test_a_broken_note_is_listed_and_hides_no_other(memory: Memory, junk: bytes) -> None:
    before = len(notes(memory).entries())
    write_note(memory, "broken.md", junk)
    assert len(notes(memory).entries()) == before + 1


def test_both_sides_of_a_merge_conflict_are_found_and_flagged(memory: Memory) -> None:
    write_note(memory, "c.md", "# C\n<<<<<<< ours\nxylophone\n=======\nkazoo\n>>>>>>> theirs\n")
    for word in ("xylophone", "kazoo"):
        (entry,) = notes(memory).find(word)
        assert "conflict" in entry.malformed


def test_a_clone_at_another_path_finds_the_same_once_it_is_trusted(memory: Memory, tmp_path: Path) -> None:
    before = [[facts(entry) for entry in found] for found in answers(memory)]
    shutil.copytree(memory.root.path, tmp_path / "clone")
    clone = Memory.of(find_root(tmp_path / "clone", None), tmp_path / "other-home")
    assert [[facts(entry) for entry in found] for found in answers(clone)] == before
    assert answers(clone, trusted=False) == [[] for _ in before]


STRANGE = ('"unclosed', "a AND", "NEAR(", "*", "-x", "'; DROP TABLE notes; --", "", "x" * 100_000, "a " * 50_000)
STRANGER = (
    "col:x",
    "^",
    "(",
    "\x00",
    "\ud800",
    "title_words : x",
    "NOT",
    "漢" * 5_000,
    "²",
    "_",
    "\U0001f600",
    "a\u0301",
)


@pytest.mark.parametrize("query", [*STRANGE, *STRANGER], ids=range(21))
def test_no_query_is_an_error(memory: Memory, query: str) -> None:
    found = notes(memory)
    found.find(query)
    found.passages(query, notes=8, characters=3_000)
    found.named(query)


def test_the_reader_can_not_write(memory: Memory) -> None:
    index = open_index(memory)
    for statement in ("delete from notes", "create table x (y)", "update facts set value = ''"):
        with pytest.raises(sqlite3.OperationalError):
            index.connection.execute(statement)


def test_notes_of_others_and_edited_ones_are_hidden_until_the_folder_is_trusted(memory: Memory) -> None:
    edit(memory)
    assert {entry.origin for entry in notes(memory).entries()} == {"own", "edited", "foreign"}
    for entry in [*notes(memory, trusted=False).entries(), *notes(memory, trusted=False).find("retry fix note")]:
        assert entry.origin == "own"
    edited = next(entry for entry in notes(memory).entries() if entry.origin == "edited")
    assert notes(memory, trusted=False).named(edited.id) == []


def test_a_note_that_was_claimed_after_it_was_read_becomes_our_own(memory: Memory) -> None:
    name, text = by_hand(5)
    path = write_note(memory, name, text)
    assert [entry.origin for entry in notes(memory).named(path.stem)] == ["foreign"]
    write_note(memory, name, text, own=True)
    assert [entry.origin for entry in notes(memory).named(path.stem)] == ["own"]


def test_a_pending_turn_is_there_until_its_note_is(memory: Memory) -> None:
    assert [entry.pending for entry in notes(memory).find("Look again")][:1] == [True]
    (job,) = memory.root.spool.glob("*.json")
    write_note(memory, f"{job.stem}--x.md", "# Look again\n", own=True)
    assert [entry.pending for entry in notes(memory).find("Look again")][:1] == [False]


def test_a_turn_is_found_at_every_moment_of_becoming_a_note(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    for number in range(1, 16):
        (job,) = spool(memory, a_job(number, request=f"about the ZEBRA{number}"))
        drain = scribe(memory, ScriptedModel(GOOD))
        writer = threading.Thread(target=lambda drain=drain: asyncio.run(drain.run()))
        writer.start()
        seen = {len(notes(memory).find(f"ZEBRA{number}"))}
        while writer.is_alive():
            seen.add(len(notes(memory).find(f"ZEBRA{number}")))
        writer.join()
        assert seen == {1}, job.id


@pytest.mark.parametrize("said", [GOOD, Overloaded("too busy")], ids=["written", "to be bettered"])
@pytest.mark.parametrize("known", [False, True], ids=["afresh", "behind another's refresh"])
async def test_a_turn_that_gets_its_note_between_listing_and_reading_is_not_missed(
    tmp_path: Path, said: str | Overloaded, known: bool
) -> None:
    memory = a_memory(tmp_path)
    spool(memory, a_job())
    before = listed(memory.root)
    await scribe(memory, ScriptedModel(*[said] * 3)).run()
    assert bool(listed(memory.root).keys() & before.keys()) is isinstance(said, Overloaded)
    connection = sqlite3.connect(":memory:")
    create(connection)
    for files in (listed(memory.root), before) if known else (before,):
        refresh(connection, memory.root.store, files, memory.manifest, memory.seal)
    [note] = note_files(memory)
    seen = connection.execute("select path, pending from notes where pending < 2").fetchall()
    assert seen == [(f"memory/{note.name}", 0)]
