"""Writers that bring finished turns to their notes: ours, and three that must not pass."""

import asyncio
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from faulty import Done
from remembered import GOOD, scribe, spool

from ogcode.agent.files.durable import TEMPORARY
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import drop_job, jobs, prepare_store
from ogcode.agent.model import Broken
from ogcode.agent.models.scripted import Reply, ScriptedModel


@dataclass(frozen=True, slots=True)
class Writer:
    """Something that ought to bring finished turns to their notes, and goes on after a crash."""

    write: Callable[[Memory, Sequence[Job], Done], None]
    resume: Callable[[Memory], None]


def titled() -> str:
    """Give a note with another title at each try, as a model would."""
    return GOOD.replace("fix", f"fix {random.randrange(10**9)}")


def drain(memory: Memory, *replies: Reply) -> None:
    """Work through the spool once, with a model that ends with good notes."""
    asyncio.run(scribe(memory, ScriptedModel(*replies, *[titled() for _ in range(9)])).run())


def ours(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    for turn in turns:
        done(spool(memory, turn)[0].id)
    drain(memory, titled(), Broken)  # the second one is to be bettered
    drain(memory)


def put(path: Path) -> None:
    """Write a note as one does who knows no better."""
    note = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.write(note, GOOD.encode())
    os.close(note)


def in_place(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    for turn in turns:
        done(spool(memory, turn)[0].id)
    resume_in_place(memory)


def resume_in_place(memory: Memory) -> None:
    for _, job, _ in jobs(memory.root.store):
        assert isinstance(job, Job)
        if not list(memory.root.memory.glob(f"{job.id}*")):
            put(memory.root.memory / f"{job.id}--x.md")
        drop_job(memory.root.store, job)


def without_spool(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    prepare_store(memory.root.store)
    for number, turn in enumerate(turns):
        identity = f"2026-09-12T09000{number}Z--{turn.session_id[:8]}"
        done(identity)
        temporary = memory.root.memory / f"{TEMPORARY}{number}"
        put(temporary)
        temporary.replace(memory.root.memory / f"{identity}--x.md")


def random_name(memory: Memory, turns: Sequence[Job], done: Done) -> None:
    for turn in turns:
        done(spool(memory, turn)[0].id)
    resume_random_name(memory)


def resume_random_name(memory: Memory) -> None:
    for _, job, _ in jobs(memory.root.store):
        assert isinstance(job, Job)
        temporary = memory.root.memory / f"{TEMPORARY}{random.randrange(10**9)}"
        put(temporary)
        temporary.replace(memory.root.memory / f"{job.id}--{random.randrange(10**9)}.md")
        drop_job(memory.root.store, job)


OURS = Writer(ours, drain)
WRONG = {
    "in place": Writer(in_place, resume_in_place),
    "no spool": Writer(without_spool, lambda memory: None),
    "random name": Writer(random_name, resume_random_name),
}
