"""Processes whose file operations go wrong: killed, refused, cut short; and what is wrong with a memory afterwards."""

import gc
import itertools
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from remembered import note_files, waiting

from ogcode.agent.files.durable import TEMPORARY
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import jobs

OPERATIONS = ("open", "write", "fsync", "close", "link", "replace", "rename", "unlink", "mkdir")
ENDS = ("\nFive tries with backoff.\n", "is tried five times.\n")
"""How a note that is whole ends: by a model, or from the turn alone."""

Done = Callable[[str], None]
"""Told when a turn counts as finished."""
Strike = Callable[[str, Callable[..., object], Sequence[object]], object]
"""Stands in for a file operation: gets its name, what it really does, and its arguments."""


@contextmanager
def struck(strike: Strike, operations: Sequence[str] = OPERATIONS) -> Iterator[None]:
    """Have file operations of this process go through `strike`."""
    real = {name: getattr(os, name) for name in operations}

    def standing_in(name: str) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            return strike(name, lambda *given: real[name](*given, **options), arguments)

        return call

    for name in operations:
        setattr(os, name, standing_in(name))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def kill_at(number: int) -> Strike:
    """Die at the n-th file operation; of a write, half is done by then."""
    count = itertools.count(1)

    def strike(name: str, real: Callable[..., object], arguments: Sequence[object]) -> object:
        if next(count) == number:
            if name == "write":
                _half(real, arguments)
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    return strike


@dataclass(frozen=True, slots=True)
class Fault:
    """What becomes of an operation: `error` raised, or of a write a half done; once, or from then on."""

    operation: str
    error: int = 0
    sticky: bool = False


def fail_at(fault: Fault, number: int) -> Strike:
    """Let the n-th operation of a kind go wrong."""
    count = itertools.count(1)

    def strike(name: str, real: Callable[..., object], arguments: Sequence[object]) -> object:
        if name != fault.operation or (now := next(count)) < number or (now > number and not fault.sticky):
            return real(*arguments)
        if not fault.error:
            return _half(real, arguments)
        if name == "close":
            real(*arguments)
        raise OSError(fault.error, os.strerror(fault.error))

    return strike


def _half(write: Callable[..., object], arguments: Sequence[object]) -> object:
    content = bytes(arguments[1])  # type: ignore[call-overload]  # os.write's
    return write(arguments[0], content[: (len(content) + 1) // 2])


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child went: 0, a negative signal, or 1 after an exception that nobody foresaw."""

    status: int
    told: tuple[str, ...]
    """Lines that it told on the way."""

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL


def in_child(work: Callable[[Done], None]) -> Ended:
    """Do something in a process of its own, which is given a way to tell lines."""
    gc.freeze()  # pages that nobody touches are not copied
    read, write = os.pipe()
    tell = os.write

    def done(line: str) -> None:
        tell(write, f"{line}\n".encode())

    child = os.fork()
    if child == 0:
        try:
            gc.disable()
            work(done)
        except BaseException as error:  # told to the parent, whose assertion shows it
            done(f"unforeseen {type(error).__name__}: {error}")
            os._exit(1)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read().splitlines()
    return Ended(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), tuple(told))


def faults(memory: Memory, finished: Sequence[str], *, own: bool = True) -> list[str]:
    """Say what is wrong once a writer has gone on after something went wrong."""
    files = note_files(memory)
    names = ["--".join(path.stem.split("--")[:2]) for path in files]
    better = {job.id for _, job, _ in jobs(memory.root.store) if isinstance(job, Job) and job.upgrade}
    strays = [*memory.root.memory.glob(f"{TEMPORARY}*"), *(memory.root.store / "locks").glob(f"{TEMPORARY}*")]
    return [
        *(f"lost {identity}" for identity in finished if identity not in names),
        *(f"twice {identity}" for identity in sorted(set(names)) if names.count(identity) > 1),
        *(f"torn {path.name}" for path in files if not path.read_text().endswith(ENDS)),
        *(f"left {path.name}" for path in strays),
        *(f"waits {identity}" for identity in waiting(memory) if identity not in better | _empty(memory)),
        *(f"disowned {path.name}" for path in files if own and not _own(memory, path)),
    ]


def _empty(memory: Memory) -> set[str]:
    """Name the turns that had not finished when their process died, on a file system without hard links."""
    return {path.stem for path in memory.root.spool.glob("*.json") if not path.stat().st_size}


def _own(memory: Memory, path: Path) -> bool:
    identity = "--".join(path.stem.split("--")[:2])
    return memory.manifest.origin(identity, sha256(path.read_bytes()).hexdigest()) == "own"
