import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from remembered import GOOD, a_job, a_memory, facts, note_files, notes, scribe, spool, write_note

from ogcode.agent.durable import Lock
from ogcode.agent.memory.index import Memory, open_index
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.memory.search import Entry
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.root import find_root

QUERIES = ("retry backoff", "dispatch", "zebra", "internal/dispatch/retry.go", "getRetryBackoff", "重试")


def by_hand(number: int, body: str = "", title: str = "") -> tuple[str, str]:
    name = f"2026-09-12T0914{number:02}Z--3f8c21aa--n{number}.md"
    return name, f"# {title or f'Note {number}'}\n\nTopics: t{number}\n\n## Outcome\n{body or f'word{number}'}\n"


@pytest.fixture
async def memory(tmp_path: Path) -> Memory:
    """Two notes of the scribe's, one by hand, one turn that waits."""
    memory = a_memory(tmp_path)
    spool(memory, a_job(1), a_job(2))
    await scribe(memory, ScriptedModel(GOOD, GOOD.replace("Dispatch", "Zebra"))).run()
    write_note(memory, *by_hand(3, "重试 retry getRetryBackoff"))
    spool(memory, a_job(4, request="Look at getRetryBackoff again"))
    return memory


def answers(memory: Memory, *, trusted: bool = True) -> list[list[Entry]]:
    found = notes(memory, trusted=trusted)
    return [found.entries(), *(found.find(query) for query in QUERIES)]


def from_files(memory: Memory) -> list[list[Entry]]:
    """Answer by an index that was never on disk: a copy whose folder no database can be written to."""
    copy = memory.root.path.parent / f"copy-{len(os.listdir(memory.root.path.parent))}"
    shutil.copytree(memory.root.path, copy, symlinks=True)
    with contextlib.suppress(FileNotFoundError):
        (copy / ".ogcode" / "index.db").unlink()
    (copy / ".ogcode" / "index.db").mkdir()
    return answers(Memory(find_root(copy, None), memory.manifest, memory.seal, memory.home))


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


def deleted(path: Path) -> None:
    path.unlink()


def cut_short(path: Path) -> None:
    os.truncate(path, 100)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def of_the_future(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("pragma user_version = 999")


def with_other_tables(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("drop table notes; create table notes (path text);")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def no_database(path: Path) -> None:
    path.write_bytes(b"x" * 20_000)


def in_wal_mode(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("pragma journal_mode = wal")


def with_a_planted_journal(path: Path) -> None:
    Path(f"{path}-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + b"\xff" * 2_000)


HARM = (
    deleted,
    cut_short,
    emptied,
    of_the_future,
    with_other_tables,
    a_folder,
    no_database,
    in_wal_mode,
    with_a_planted_journal,
)


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_whatever_becomes_of_the_index_the_answers_are_those_of_the_files(
    memory: Memory, harm: Callable[[Path], None]
) -> None:
    before = answers(memory)
    harm(memory.root.database)
    assert answers(memory) == before
    assert answers(memory) == before


def test_a_flipped_byte_anywhere_changes_no_answer(memory: Memory) -> None:
    before = answers(memory)
    chance = random.Random(3)
    for _ in range(40):
        content = bytearray(memory.root.database.read_bytes())
        place = chance.randrange(len(content))
        content[place] ^= 1 << chance.randrange(8)
        memory.root.database.write_bytes(content)
        assert answers(memory) == before, place


def test_an_index_that_a_repository_ships_is_never_opened(memory: Memory, tmp_path: Path) -> None:
    before = answers(memory, trusted=False)
    open_index(memory).close()
    with contextlib.closing(sqlite3.connect(memory.root.database)) as planted, planted:
        planted.execute("update notes set title = 'PLANTED', origin = 'own'")
    planted_file = memory.root.database.read_bytes()
    home = tmp_path / "another-home"
    shutil.copytree(memory.home, home)
    shutil.rmtree(home / "manifests")
    victim = Memory(memory.root, Manifest(home, memory.root.path), memory.seal, home)
    assert "PLANTED" not in str(answers(victim))
    assert memory.root.database.read_bytes() != planted_file
    assert answers(memory, trusted=False) == before


def test_an_index_that_is_a_link_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    before = answers(memory)
    memory.root.database.unlink()
    memory.root.database.symlink_to(tmp_path / "elsewhere")
    assert answers(memory) == before
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("blocked", ["locks", "index.db", "home"])
def test_where_no_index_can_be_written_it_is_built_in_memory(memory: Memory, tmp_path: Path, blocked: str) -> None:
    before = from_files(memory)
    if blocked == "home":
        memory = replace(memory, manifest=Manifest(tmp_path / "file", memory.root.path))
        shutil.copytree(memory.home / "manifests", tmp_path / "kept")
        (tmp_path / "file").write_text("no folder")
        assert [[facts(entry) for entry in found] for found in answers(memory)] == [
            [facts(entry) for entry in found] for found in before
        ]
        return
    shutil.rmtree(memory.root.store / blocked, ignore_errors=True)
    (memory.root.store / blocked).unlink(missing_ok=True)
    (memory.root.store / blocked).mkdir() if blocked == "index.db" else (memory.root.store / blocked).write_text("")
    assert answers(memory) == before


LOOK = """
import sys
from pathlib import Path
from ogcode.agent.memory.index import Memory, open_index
from ogcode.agent.root import find_root
sys.stdin.read()
index = open_index(Memory.of(find_root(Path(sys.argv[1]), None), Path(sys.argv[2])))
print(*[row[0] for row in index.execute("select id from notes order by created_at desc")])
"""


def test_a_folder_that_can_only_be_read_gives_the_same_answers(memory: Memory) -> None:
    before = [entry.id for entry in notes(memory).entries()]
    memory.root.database.unlink()
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    shell = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    looked = [sys.executable, "-c", LOOK, str(memory.root.path), str(memory.home)]
    command = [*unshare, "sh", "-c", shell, "-", str(memory.root.path), *looked]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        pytest.skip("no unshare")
    if "unshare:" in asked.stderr or "mount:" in asked.stderr:
        pytest.skip(asked.stderr)
    assert asked.stdout.split() == before
    assert not memory.root.database.exists()


def test_eight_processes_that_refresh_at_once_leave_one_good_index(memory: Memory) -> None:
    write = [write_note(memory, *by_hand(number)) for number in range(10, 50)]
    command = [sys.executable, "-c", LOOK, str(memory.root.path), str(memory.home)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    for process in processes:
        assert process.stdin
        process.stdin.close()
    counts = [len(process.stdout.read().split()) for process in processes if process.stdout]
    assert [process.wait() for process in processes] == [0] * 8
    assert counts == [len(write) + 4] * 8
    with contextlib.closing(sqlite3.connect(memory.root.database)) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    assert answers(memory) == from_files(memory)


def test_while_another_process_holds_the_index_it_is_built_in_memory_and_left_alone(memory: Memory) -> None:
    before = notes(memory).entries()
    lock = Lock.take(memory.root.locks / "index")
    assert lock
    edit(memory)
    inode = memory.root.database.stat().st_ino
    assert notes(memory).entries() != before
    assert memory.root.database.stat().st_ino == inode
    lock.release()


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
            index.execute(statement)


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
