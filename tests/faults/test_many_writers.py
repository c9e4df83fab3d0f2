"""F11: eight processes finish turns of two sessions in the same second, while all of them read one index."""

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from faulty import Done, faults, in_child
from remembered import GOOD, SESSION, a_job, a_memory, note_files, notes, spool, waiting
from writers import drain

from ogcode.agent.files.durable import Lock
from ogcode.agent.index.cache import Memory

SESSIONS = (SESSION, "9b3e77d0" * 4)


def writer(memory: Memory, number: int, turns: int) -> Callable[[Done], None]:
    """Finish turns, look things up between them, and be the scribe wherever nobody is."""

    def work(done: Done) -> None:
        chance = random.Random(number)
        for turn in range(turns):
            job = a_job(1, session=SESSIONS[number % 2], request=f"Look at part {number} {turn}")
            done(spool(memory, replace(job, turn=1_000 * number + turn))[0].id)
            if chance.random() < 3 / turns:
                assert notes(memory, trusted=False).find("dispatch", limit=3)
            if chance.random() < 3 / turns:
                write_what_waits(memory)
        write_what_waits(memory)

    return work


def write_what_waits(memory: Memory) -> None:
    if lock := Lock.take(memory.root.locks / "scribe"):
        drain(memory, *[GOOD] * 2_000)
        lock.release()


def a_second(memory: Memory, turns: int) -> list[str]:
    """Let all eight at it; give what finished."""
    children, pipes = list[int](), list[int]()
    for number in range(8):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            ended = in_child(writer(memory, number, turns))
            with os.fdopen(write, "w") as pipe:
                pipe.write("\n".join(ended.told))
            os._exit(ended.status != 0)
        os.close(write)
        children.append(child)
        pipes.append(read)
    told = list[str]()
    for read in pipes:
        with os.fdopen(read) as pipe:
            told += pipe.read().split("\n")
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8, told
    return told


def check(folder: Path, turns: int) -> None:
    memory = a_memory(folder)
    finished = a_second(memory, turns)
    write_what_waits(memory)
    assert Counter(finished).most_common(1)[0][1] == 1
    assert (len(finished), len(note_files(memory)), waiting(memory)) == (8 * turns, 8 * turns, [])
    assert faults(memory, finished) == []
    entries = notes(memory, trusted=False).entries()
    assert {entry.path for entry in entries} == {f"memory/{path.name}" for path in note_files(memory)}
    assert Counter(entry.session_id for entry in entries) == dict.fromkeys(SESSIONS, 4 * turns)
    with sqlite3.connect(memory.root.database) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    memory.root.database.unlink()
    assert notes(memory, trusted=False).entries() == entries


def test_two_hundred_turns_of_one_second_have_two_hundred_notes(fast: Path) -> None:
    check(fast, 25)


@pytest.mark.torture
@pytest.mark.parametrize("times", range(20))
def test_sixteen_hundred_turns_of_one_second_have_as_many_notes(fast: Path, times: int) -> None:
    check(fast, 200)
