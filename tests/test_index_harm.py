"""Whatever becomes of the index, the answers are those of the files."""

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
from remembered import a_full_memory, answers, by_hand, facts, from_files, note_files, notes, write_note

from ogcode.agent.files.durable import Lock
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.memory.manifest import Manifest


@pytest.fixture
async def memory(tmp_path: Path) -> Memory:
    return await a_full_memory(tmp_path)


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
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.files.root import find_root
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
    note_files(memory)[0].unlink()
    inode = memory.root.database.stat().st_ino
    assert notes(memory).entries() != before
    assert memory.root.database.stat().st_ino == inode
    lock.release()
