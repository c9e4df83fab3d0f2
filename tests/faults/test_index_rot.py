"""F15: bytes of the index that turn over in silence, and others that hold or replace it."""

import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from remembered import a_full_memory, answers, answers_of, notes

from ogcode.agent.index.cache import Memory, open_index


@pytest.fixture
async def memory(fast: Path) -> Memory:
    return await a_full_memory(fast)


def flip(path: Path, chance: random.Random, *, silently: bool) -> int:
    """Turn one bit over; silently, size and times stay as they were, as when a disk does it."""
    facts, content = path.stat(), bytearray(path.read_bytes())
    place = chance.randrange(len(content))
    content[place] ^= 1 << chance.randrange(8)
    with path.open("r+b") as file:
        file.write(content)
    if silently:
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    return place


def rotten(memory: Memory, seeds: range, *, silently: bool) -> dict[int, str]:
    """Flip a byte a time; give the places after which an answer was not that of the files, or there was none."""
    before, wrong = answers(memory), dict[int, str]()
    good = memory.root.database.read_bytes()
    for seed in seeds:
        place = flip(memory.root.database, random.Random(seed), silently=silently)
        try:
            if answers(memory) != before:
                wrong[place] = "differs"
        except Exception as error:  # any at all
            wrong[place] = f"{type(error).__name__}: {error}"
        if memory.root.database.read_bytes() != good:
            memory.root.database.unlink()
            assert answers(memory) == before
            good = memory.root.database.read_bytes()
    return wrong


def test_a_byte_that_is_turned_over_changes_no_answer(memory: Memory) -> None:
    assert rotten(memory, range(20), silently=False) == {}


@pytest.mark.torture
def test_five_hundred_bytes_that_are_turned_over_change_no_answer(memory: Memory) -> None:
    assert rotten(memory, range(1_000, 1_500), silently=False) == {}


def test_a_byte_that_rots_in_silence_changes_no_answer(memory: Memory) -> None:
    assert rotten(memory, range(20), silently=True) == {}


@pytest.mark.torture
def test_five_hundred_bytes_that_rot_in_silence_change_no_answer(memory: Memory) -> None:
    assert rotten(memory, range(1_000, 1_500), silently=True) == {}


def asked_while_it_rots(memory: Memory, seeds: range, *, bits: int) -> int:
    """Flip bits after the index was opened and checked; count the times that an answer was not that of the files."""
    before, wrong = answers(memory), 0
    good = memory.root.database.read_bytes()
    for seed in seeds:
        chance, found = random.Random(seed), notes(memory)
        for _ in range(bits):
            flip(memory.root.database, chance, silently=True)
        wrong += answers_of(found) != before
        found.index.close()
        memory.root.database.write_bytes(good)
        open_index(memory).close()  # takes what was put back for a stranger's, and makes its own
        good = memory.root.database.read_bytes()
    return wrong


def test_a_database_that_is_overwritten_under_a_reader_is_made_anew(memory: Memory) -> None:
    before, found = answers(memory), notes(memory)
    for start in (0, 4_096, 20_000):
        with memory.root.database.open("r+b") as file:
            file.seek(start)
            file.write(random.Random(start).randbytes(memory.root.database.stat().st_size - start))
        assert answers_of(found) == before
        found = notes(memory)


@pytest.mark.torture
def test_what_rots_five_hundred_times_under_a_reader_is_no_error(memory: Memory) -> None:
    wrong = asked_while_it_rots(memory, range(400), bits=1) + asked_while_it_rots(memory, range(100), bits=400)
    assert wrong <= 50  # what is spoilt within the words of a note still looks like words


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def a_full_folder(path: Path) -> None:
    path.unlink()
    (path / "sub").mkdir(parents=True)


def of_schema_zero(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as database:
        database.executescript("create table notes (path text primary key, body text); pragma user_version = 0")


def with_leftovers(path: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").write_bytes(os.urandom(5_000))


def with_leftovers_that_are_folders(path: Path) -> None:
    for suffix in ("-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").mkdir()


HARM = (a_fifo, a_link_to_itself, a_full_folder, of_schema_zero, with_leftovers, with_leftovers_that_are_folders)


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_whatever_stands_in_the_place_of_the_index_the_answers_are_those_of_the_files(
    memory: Memory, harm: Callable[[Path], None]
) -> None:
    before = answers(memory)
    harm(memory.root.database)
    assert answers(memory) == before


@pytest.mark.parametrize("size", [0, 1, 511, 512, 4_095, 4_096, 20_000])
def test_an_index_that_was_cut_anywhere_gives_the_answers_of_the_files(memory: Memory, size: int) -> None:
    before = answers(memory)
    facts = memory.root.database.stat()
    os.truncate(memory.root.database, size)
    os.utime(memory.root.database, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert answers(memory) == before


@pytest.mark.torture
def test_while_another_program_holds_the_database_the_answers_are_those_of_the_files(memory: Memory) -> None:
    before = answers(memory)
    holder = sqlite3.connect(memory.root.database, isolation_level=None)
    holder.execute("begin exclusive")
    assert answers(memory) == before
    holder.close()
