"""kill -9 at every file operation from the end of a turn to its note; and writers that must not pass."""

import asyncio
import itertools
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from remembered import GOOD, a_job, a_memory, note_files, notes, scribe, spool, waiting

from ogcode.agent.durable import TEMPORARY
from ogcode.agent.memory.index import Memory
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import drop_job, jobs, prepare_store
from ogcode.agent.model import Broken
from ogcode.agent.models.scripted import ScriptedModel

OPERATIONS = ("open", "write", "fsync", "close", "link", "replace", "rename", "unlink", "mkdir")
END = "\nFive tries with backoff.\n"

Done = Callable[[str], None]
"""Told when a turn counts as finished."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Something that ought to bring finished turns to their notes, and goes on after a crash."""

    write: Callable[[Memory, Sequence[Job], Done], None]
    resume: Callable[[Memory], None]


def titled() -> str:
    """Give a note with another title at each try, as a model would."""
    return GOOD.replace("fix", f"fix {random.randrange(10**9)}")


def drain(memory: Memory) -> None:
    asyncio.run(scribe(memory, ScriptedModel(*[titled() for _ in range(9)])).run())


def ours(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    for turn in turns:
        done(spool(memory, turn)[0].id)
    asyncio.run(scribe(memory, ScriptedModel(titled(), Broken)).run())  # the second one is to be bettered
    drain(memory)


def in_place(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    for turn in turns:
        done(spool(memory, turn)[0].id)
    resume_in_place(memory)


def resume_in_place(memory: Memory) -> None:
    for _, job, _ in jobs(memory.root.store):
        assert isinstance(job, Job)
        if not list(memory.root.memory.glob(f"{job.id}*")):
            note = os.open(memory.root.memory / f"{job.id}--x.md", os.O_CREAT | os.O_WRONLY)
            os.write(note, GOOD.encode())
            os.close(note)
        drop_job(memory.root.store, job)


def without_spool(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    prepare_store(memory.root.store)
    for number, turn in enumerate(turns):
        identity = f"2026-09-12T09000{number}Z--{turn.session_id[:8]}"
        done(identity)
        temporary = memory.root.memory / f"{TEMPORARY}{number}"
        note = os.open(temporary, os.O_CREAT | os.O_WRONLY)
        os.write(note, GOOD.encode())
        os.close(note)
        temporary.replace(memory.root.memory / f"{identity}--x.md")


def random_name(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    for turn in turns:
        done(spool(memory, turn)[0].id)
    resume_random_name(memory)


def resume_random_name(memory: Memory) -> None:
    for _, job, _ in jobs(memory.root.store):
        assert isinstance(job, Job)
        temporary = memory.root.memory / f"{TEMPORARY}{random.randrange(10**9)}"
        temporary.write_text(GOOD)
        temporary.replace(memory.root.memory / f"{job.id}--{random.randrange(10**9)}.md")
        drop_job(memory.root.store, job)


OURS = Writer(ours, drain)
WRONG = {
    "in place": Writer(in_place, resume_in_place),
    "no spool": Writer(without_spool, lambda memory: None),
    "random name": Writer(random_name, resume_random_name),
}


def kill_at(number: int) -> None:
    """Make this process die at its n-th file operation; of a write, half is done by then."""
    count = itertools.count(1)

    def hooked(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            if next(count) == number:
                if name == "write":
                    function(arguments[0], bytes(arguments[1])[: len(bytes(arguments[1])) // 2])  # type: ignore[call-overload]  # os.write's
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in OPERATIONS:
        setattr(os, name, hooked(name, getattr(os, name)))


def crashed(writer: Writer, memory: Memory, number: int) -> tuple[bool, list[str]]:
    """Run a writer in a process that is killed; tell whether it was, and which turns had finished."""
    read, write = os.pipe()
    tell = os.write

    def done(identity: str) -> None:
        tell(write, f"{identity}\n".encode())

    child = os.fork()
    if child == 0:
        try:
            kill_at(number)
            writer.write(memory, [a_job(1), a_job(2)], done)
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        finished = pipe.read().split()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0, finished


def faults(memory: Memory, finished: Sequence[str]) -> list[str]:
    """Say what is wrong once a writer has gone on after a crash."""
    files = note_files(memory)
    names = ["--".join(path.stem.split("--")[:2]) for path in files]
    return [
        *(f"lost {identity}" for identity in finished if identity not in names),
        *(f"twice {identity}" for identity in set(names) if names.count(identity) > 1),
        *(f"torn {path.name}" for path in files if not path.read_text().endswith(END)),
        *(
            f"left {path.name}"
            for path in memory.root.store.rglob(f"{TEMPORARY}*")
            if path.parent == memory.root.memory
        ),
        *(f"waits {identity}" for identity in waiting(memory)),
    ]


@pytest.fixture
def fast() -> Iterator[Path]:
    """A folder in memory: a killed process loses nothing that it gave to the kernel."""
    folder = Path(tempfile.mkdtemp(prefix="ogcode-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)


def points(writer: Writer, folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Kill a writer at each of its operations in turn, until it comes through."""
    for number in itertools.count(1):
        memory = a_memory(folder / str(number))
        killed, finished = crashed(writer, memory, number)
        writer.resume(memory)
        yield number, faults(memory, finished)
        if not killed:
            return


def test_no_turn_is_lost_doubled_or_torn_at_whatever_operation_the_process_dies(fast: Path) -> None:
    found = dict(points(OURS, fast))
    assert len(found) > 100
    assert {number: wrong for number, wrong in found.items() if wrong} == {}


def test_notes_stay_our_own_whenever_the_process_dies(fast: Path) -> None:
    for number in range(60, 140, 5):
        memory = a_memory(fast / f"own-{number}")
        crashed(OURS, memory, number)
        drain(memory)
        assert {entry.origin for entry in notes(memory, trusted=False).entries()} == {"own"}
        assert len(notes(memory, trusted=False).entries()) == len(note_files(memory))


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_writer_is_found_out(fast: Path, kind: str) -> None:
    wrong = [number for number, found in points(WRONG[kind], fast) if found]
    assert wrong != []
