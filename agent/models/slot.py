"""A local model that serves one request at a time: who works goes first, whoever writes notes gives way.

Those who use a server meet in a folder of the user's, whatever repository they work in.
"""

import asyncio
import itertools
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from ogcode.agent.files.durable import Lock, make_folder
from ogcode.agent.model import Delayed, Delta, Model, Options, ToolSpec
from ogcode.agent.models import installed, openai
from ogcode.agent.models.around import Around
from ogcode.agent.models.wire import Wire, is_loopback
from ogcode.agent.turn import Message

POLL = 0.05
PATIENCE = 5.0
"""Seconds that one who works waits for the slot; a server has a queue of its own."""
SILENT = 0.5
"""Seconds of it without a word."""

_SLOT = "model"
_WORK = "work-"


class SlotTaken(Exception):
    """Somebody was at work until the time was up."""


def meeting_place(home: Path, base: str, *, otherwise: Path) -> Path:
    """Give the folder of those who use a server; without a writable home only this repository's are met."""
    place = home / "locks" / sha256(base.encode()).hexdigest()[:16]
    try:
        make_folder(place)
    except OSError:
        return otherwise
    return place


@contextmanager
def all_at_work(models: Iterable[Model]) -> Iterator[None]:
    """Let others know that a turn runs on models of this machine."""
    with ExitStack() as claims:
        for locks in {each.locks for each in models if isinstance(each, Awaiting)}:
            claims.enter_context(at_work(locks))
        yield


@contextmanager
def at_work(locks: Path) -> Iterator[None]:
    """Let others know that a turn runs, from its first request to its last and all in between."""
    claim: Lock | None = None
    if os.path.isdir(locks) and not any(os.path.islink(place) for place in (locks, locks.parent)):  # noqa: PTH112, PTH114  # of another user, too
        names = (f"{_WORK}{os.getpid()}-{time.monotonic_ns()}-{number}" for number in itertools.count())
        with suppress(OSError):  # who can't write here has no scribe that could be in the way
            while claim is None:
                claim = Lock.take(locks / next(names))
    try:
        yield
    finally:
        if claim:
            claim.release(remove=True)


class Awaiting(Around):
    """A model that is asked once nobody who gives way has its slot any more."""

    def __init__(self, model: Model, locks: Path) -> None:
        super().__init__(model)
        self.locks = locks
        self._slot = locks / _SLOT

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        for waited in range(round(PATIENCE / POLL)):
            if not _is_held(self._slot):
                break
            if waited == round(SILENT / POLL):
                yield Delayed("the note of an earlier turn is put aside")
            await asyncio.sleep(POLL)
        async for delta in self._model.stream(messages, tools, options=options):
            yield delta


class Spare:
    """The slot as somebody has it who can wait: when nobody has worked for `quiet` seconds, and until somebody does."""

    def __init__(self, locks: Path, *, quiet: float, now: Callable[[], float] = time.monotonic) -> None:
        self._locks = locks
        self._quiet = quiet
        self._now = now
        self._since = now()
        """Since when nobody has worked, as far as is known."""

    async def given(self, work: Callable[[], Awaitable[str]], *, over: Callable[[], bool]) -> str:
        """Do work that may be cut off and begun anew as often as it takes.

        Raises:
            SlotTaken: it could not be done before it was `over`.
        """
        while True:
            if lock := self._taken():
                try:
                    if done := await self._uninterrupted(work):
                        return done.result()
                finally:
                    lock.release()
            if over():
                raise SlotTaken("the model is in use")
            await asyncio.sleep(POLL)

    def _taken(self) -> Lock | None:
        if self._is_wanted() or self._now() - self._since < self._quiet:
            return None
        lock = Lock.take(self._locks / _SLOT)
        if lock and self._is_wanted():  # whoever came between the two may not have seen the lock
            lock.release()
            return None
        return lock

    async def _uninterrupted(self, work: Callable[[], Awaitable[str]]) -> "asyncio.Future[str] | None":
        """Work until it is done, or somebody else begins; None then."""
        task = asyncio.ensure_future(work())
        try:
            while not task.done() and not self._is_wanted():
                await asyncio.wait([task], timeout=POLL)
            return task if task.done() else None
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    def _is_wanted(self) -> bool:
        """Tell whether somebody works, and take note of when; claims of the dead are removed."""
        wanted = False
        for claim in self._locks.glob(f"{_WORK}*"):
            with suppress(OSError):  # a link that somebody made is no claim
                if dead := Lock.take(claim):
                    dead.release(remove=True)
                else:
                    wanted = True
        if wanted:
            self._since = self._now()
        return wanted


async def has_one_slot(name: str, *, environ: Mapping[str, str], api_base: str) -> bool:
    """Tell whether a model is served on this machine, one request at a time as far as is known.

    Raises:
        ModelError: its address is none.
    """
    base = base_here(name, environ=environ, api_base=api_base)
    if not base or name.startswith("ollama"):
        return bool(base) and environ.get("OLLAMA_NUM_PARALLEL", "") in ("", "0", "1")
    return (await openai.slots_of(Wire(base, model=name))).number <= 1


def base_here(name: str, *, environ: Mapping[str, str], api_base: str) -> str:
    """Find the server of a model where that is on this machine; empty where it is not.

    Raises:
        ModelError: its address is none.
    """
    match name.partition("/")[0]:
        case "ollama" | "ollama_chat":
            base = installed.base_of(environ.get("OLLAMA_HOST", ""))
        case "openai" if own := api_base or environ.get("OPENAI_BASE_URL", ""):
            base = openai.base_of(own)
        case _:
            return ""
    return base if is_loopback(urlsplit(base).hostname or "") else ""


def _is_held(path: Path) -> bool:
    try:
        if not path.exists() or not (lock := Lock.take(path)):
            return path.exists()
    except OSError:  # a link, or not ours to open
        return False
    lock.release()
    return False
