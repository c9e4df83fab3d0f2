"""Work through the spool: every waiting turn gets its one note, in order, whatever happens in between."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from time import time

from ogcode.agent.files.durable import create_file, replace_file, sweep
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.extract import extract_note, is_short_talk
from ogcode.agent.memory.job import NEVER, Job
from ogcode.agent.memory.manifest import Origin
from ogcode.agent.memory.markdown import cut
from ogcode.agent.memory.notes import parse_note, slug
from ogcode.agent.memory.pins import with_pin
from ogcode.agent.memory.spool import drop_job, is_ours, jobs, prepare_store, put_back
from ogcode.agent.memory.trash import TrashRefused, forgotten, hidden, keep, keep_edited, purge, purged
from ogcode.agent.model import ContextOverflow, ModelError, Refused
from ogcode.agent.models.slot import SlotTaken
from ogcode.agent.sensitive.secrets import scrub
from ogcode.scribe.validate import NoteRefused

Compose = Callable[[Job], Awaitable[str]]
"""Has a model write a note, asking again where that may help. Raises ModelError and NoteRefused."""
Given = Callable[[str, Callable[[], Awaitable[str]], Callable[[], bool]], Awaitable[str]]
"""Has work done when the model of that name is free, unless it is over before that. Raises SlotTaken then."""
Log = Callable[[str], None]

WAITS = (20.0, 60.0, 300.0, 1_800.0, 7_200.0)
"""Seconds until a note is tried again, by how often it was tried; a model refuses to write one as often at most."""

LONGEST = 600.0
"""Seconds that a model has for one note, all attempts together: an endpoint may take a request and never answer."""

OLD = 600.0
"""Seconds after which a turn waits no longer for a model: its note is written without one, and bettered after that."""

PAUSE = 60.0
"""Seconds that a note which is to be bettered waits for a model that is in use, before others get their turn."""

NO_TIME = "a model had no time for it yet"

_DAY = 86_400.0


async def at_once(name: str, work: Callable[[], Awaitable[str]], over: Callable[[], bool]) -> str:  # noqa: ARG001
    """Have work done by a model that is always free."""
    return await work()


@dataclass(slots=True)
class Drain:
    """One pass over the spool; the caller holds the scribe's lock."""

    memory: Memory
    compose: Compose
    trusted: bool
    log: Log
    now: Callable[[], datetime]
    asks: Callable[[Job], str] = attrgetter("model")
    """Names the model that `compose` asks for a job."""
    given: Given = at_once
    seconds: float = LONGEST
    scrub: Callable[[str], str] = scrub
    """Takes secrets out of a note before it is written, whoever wrote it."""
    due: str = NEVER
    """When the next note is to be bettered by itself: ISO 8601, UTC."""
    _works: set[str] = field(default_factory=set)
    _away: dict[str, Job] = field(default_factory=dict)
    """Models that failed in this pass, with the job that met it: no use in asking them for the next one."""
    _left: dict[str, Job] = field(default_factory=dict)
    """Jobs that wait for another try."""
    _seen: set[str] = field(default_factory=set)
    """Ids of the jobs that this pass knows."""
    _notes: dict[str, list[Path]] | None = None

    async def run(self) -> int:
        """Write what can be written now; return how many notes were written or bettered."""
        prepare_store(self.memory.root.store)
        sweep(self.memory.root.memory, older_than=0, now=time())
        for folder in (self.memory.root.store, self.memory.root.spool, self.memory.home):  # others write there too
            sweep(folder, older_than=3600, now=time())
        done = await self._write_new()
        rested = {name for name, due in self._dues().items() if due <= _iso(self.now())}
        for job in sorted(self._left.values(), key=lambda job: (job.due_at != "", job.id)):  # first what is asked for
            if self._is_due(job, rested):
                done += await self._better(job, self._there(job))
                done += await self._write_new()
        refused = [job.due_at for job in self._left.values() if job.refused]
        self.due = min([*refused, *self._dues().values()], default=NEVER)
        return done

    async def _write_new(self) -> int:
        """Write the notes that are not there yet, oldest first, also those of turns that end meanwhile."""
        done = 0
        while found := self._unseen():
            self._left |= {job.id: job for job, own in found if job.upgrade and self._ours(job, own=own)}
            for job, own in found:
                if not job.upgrade and self._believed(job, own=own):
                    done += await self._write(job, own=own)
        return done

    def _unseen(self) -> list[tuple[Job, bool]]:
        """Read what has come into the spool, and tell of each whether this user's ogcode put it there."""
        found = [(job, is_ours(job, mark, self.memory.seal)) for job, mark in self._jobs()]
        self._seen |= {job.id for job, _ in found}
        return found

    def _dues(self) -> dict[str, str]:
        """Tell when each model that failed is asked again; one that fails again rests longer, for all its notes."""
        latest = dict[str, str]()
        for job in self._left.values():
            if not job.refused:
                latest[self.asks(job)] = max(latest.get(self.asks(job), ""), job.due_at)
        return latest

    def _jobs(self) -> list[tuple[Job, str]]:
        found = jobs(self.memory.root.store, but=self._seen)
        return [(job, mark) for _, job, mark in found if isinstance(job, Job)]

    def _believed(self, job: Job, *, own: bool) -> bool:
        if not own and not self.trusted:
            self.log(f"{job.id}: not spooled by this user's ogcode; left alone until the folder is trusted")
        return own or self.trusted

    def _ours(self, job: Job, *, own: bool) -> bool:
        """Tell whether a note is to be bettered: what others spooled must change none, nor say which model writes."""
        if not own and self._believed(job, own=own):
            self.log(f"{job.id}: not spooled by this user's ogcode; its note stays as it is")
            drop_job(self.memory.root.store, job)
        return own

    def _is_due(self, job: Job, rested: set[str]) -> bool:
        """Tell whether to try now; that a model works is a reason, but not where it refused this very turn."""
        if not job.due_at or self.asks(job) in self._away:
            return not job.due_at  # where the model is away, a job that somebody wants tried is told so
        return job.due_at <= _iso(self.now()) if job.refused else self.asks(job) in self._works | rested

    def _there(self, job: Job, *, look_again: bool = False) -> Path | None:
        """Find the note of a job that is there already, wherever in the memory folder it was moved."""
        if self._notes is None or look_again:
            self._notes = self._found()
        return next((path for path in self._notes.get(job.id, ()) if self._is_of(job, _content(path))), None)

    def _found(self) -> dict[str, list[Path]]:
        found = dict[str, list[Path]]()
        for path in self.memory.root.memory.rglob("*.md"):
            stem = path.stem.split("--")
            if len(stem) >= 2:
                found.setdefault("--".join(stem[:2]), []).append(path)
        return found

    def _is_of(self, job: Job, content: bytes) -> bool:
        """Tell whether a file is a job's note, and not somebody's with its id; also one whose claim failed."""
        return not content or self._origin(job, content) != "foreign" or content == self._extract(job).encode()

    def _origin(self, job: Job, content: bytes) -> Origin:
        return self.memory.manifest.origin(job.id, sha256(content).hexdigest())

    def _extract(self, job: Job) -> str:
        return self.scrub(extract_note(job))

    async def _write(self, job: Job, *, own: bool) -> int:
        if there := self._there(job):
            if _content(there):  # a crash came between the note's name and the end of its job
                return await self._better(job, there if own else None)
            there.unlink(missing_ok=True)  # it came between name and content, on a file system without hard links
        gone = forgotten(self.memory.root.store, job.id)
        asked = await self._ask(job) if own and not gone and not is_short_talk(job) else extract_note(job)
        text = self.scrub(asked) if isinstance(asked, str) else self._extract(job)
        if forgotten(self.memory.root.store, job.id):
            self._close(job, "")
            return 0
        if own and (fault := self._claim(job, text)):
            text, asked = self._extract(job), fault
        path = self.memory.root.memory / f"{job.id}--{slug(parse_note(f'{job.id}.md', text.encode()).title)}.md"
        self._keep(path, text)
        try:
            create_file(path, text.encode())
        except FileExistsError:
            self.log(f"{path.name} is there already")
        if self._notes is not None:
            self._notes.setdefault(job.id, []).append(path)
        if self._taken_back(job, path):
            return 0
        if isinstance(asked, Job):
            self.log(f"{job.id}: written without a model: {asked.failure}")
        self._close(job, asked)
        return 1

    async def _better(self, job: Job, path: Path | None) -> int:
        """Replace a note that no model wrote, or that somebody wants again, unless it was edited or removed."""
        before = _content(path)
        if path is None or not self._unedited(job, before):
            self._close(job, "")
            return 0
        claimed = self._origin(job, before) == "own"
        asked = (None if claimed else self._claim(job, before.decode())) or await self._ask(job)
        if asked is job:  # it was not its turn
            return 0
        if isinstance(asked, Job):
            self.log(f"{job.id}: stays as it is for now: {asked.failure}")
            self._close(job, asked)
            return 0
        if not path.exists():  # it was moved meanwhile, or forgotten
            path = self._there(job, look_again=True)
        if path is None or _content(path) != before:
            self._close(job, "")
            return 0
        text = self.scrub(asked)
        if parse_note(path.name, before).pinned:
            text = with_pin(text, pinned=True)
        if fault := self._claim(job, text):
            self._close(job, fault)
            return 0
        self._keep(path, text)
        if job.again and (fault := self._put_aside(job, path, before, text)):
            self._close(job, fault)
            return 0
        replace_file(path, text.encode())
        if self._taken_back(job, path):
            return 0
        self._close(job, asked)
        return 1

    def _taken_back(self, job: Job, path: Path) -> bool:
        """Remove a note that was forgotten between the last look and its writing: the tombstone comes before all."""
        if not forgotten(self.memory.root.store, job.id):
            return False
        path.unlink(missing_ok=True)
        if purged(self.memory.root.store, job.id):
            claimed = self.memory.manifest.claims().anywhere(job.id)
            purge(self.memory.root.store, job.id, self.now(), claimed=claimed)
        self._close(job, "")
        return True

    def _keep(self, path: Path, text: str) -> None:
        """Keep a copy of what git could take away before it is committed."""
        try:
            if not hidden(self.memory.root.store):
                keep(self.memory.root.store, f"memory/{path.name}", text.encode())
        except (OSError, TrashRefused) as error:
            self.log(f"{path.name}: no copy of it is kept: {error}")

    def _put_aside(self, job: Job, path: Path, before: bytes, text: str) -> Job | None:
        """Keep what a model wrote before, so that it can be undone as an edit can; or give the job as it waits."""
        there = path.relative_to(self.memory.root.store).as_posix()
        try:
            keep_edited(self.memory.root.store, job.id, there, before, became=text.encode(), now=self.now())
        except TrashRefused as error:
            return self._failed(job, str(error), refused=True)
        return None

    def _close(self, job: Job, asked: "str | Job") -> None:
        """End a job whose note is there, or keep it to better that; a crash before this leaves it as it was."""
        if isinstance(asked, Job):
            put_back(self.memory.root.store, asked, self.memory.seal)
            self._left[job.id] = asked
        else:
            drop_job(self.memory.root.store, job)
            self._left.pop(job.id, None)

    def _unedited(self, job: Job, content: bytes) -> bool:
        """Tell whether a note is still as the scribe wrote it, and one to be replaced."""
        if content == self._extract(job).encode():
            return not is_short_talk(job)
        replaceable = job.again or parse_note(job.id, content).scribe == "extract"
        return replaceable and self._origin(job, content) == "own"

    async def _ask(self, job: Job) -> str | Job:
        """Have the note written; where that fails, give the job as it waits for another try."""
        name = self.asks(job)
        if met := self._away.get(name):
            return replace(job, upgrade=True, failure=met.failure, tried_at=met.tried_at, due_at=met.due_at)
        if not job.upgrade and self._is_old(job):
            return replace(job, upgrade=True, failure=NO_TIME)
        began = time()

        async def composed() -> str:
            async with asyncio.timeout(self.seconds):
                return await self.compose(job)

        def over() -> bool:
            return time() - began > PAUSE if job.upgrade else self._is_old(job)

        try:
            text = await self.given(name, composed, over)
        except SlotTaken:
            return job if job.upgrade else replace(job, upgrade=True, failure=NO_TIME)
        except NoteRefused as error:
            self._works.add(name)
            return self._failed(job, f"{name} made no note of it: {error}", refused=True)
        except TimeoutError:
            failed = self._failed(job, f"{name} took longer than {self.seconds:g} s", refused=False)
        except ModelError as error:
            refused = isinstance(error, Refused | ContextOverflow)
            asked_to_wait = getattr(error, "retry_after", None) or 0.0
            failed = self._failed(job, str(error), refused=refused, at_least=asked_to_wait)
            if isinstance(error, ContextOverflow):
                return failed  # the next turn may be shorter
        except OSError:
            raise
        except Exception as error:  # one turn that trips us up must not keep the others from their notes
            return self._failed(job, f"{type(error).__name__}: {error}", refused=True)
        else:
            self._works.add(name)
            return text
        self._away[name] = failed
        return failed

    def _is_old(self, job: Job) -> bool:
        """Tell whether a turn has waited for too long, by when it came into the spool."""
        try:
            spooled = (self.memory.root.spool / f"{job.id}.json").lstat().st_mtime
        except FileNotFoundError:  # forgotten meanwhile
            return False
        return time() - spooled > OLD

    def _failed(self, job: Job, why: str, *, refused: bool, at_least: float = 0.0) -> Job:
        tries, now = job.tries + 1, self.now()
        seconds = max(WAITS[min(tries, len(WAITS)) - 1], min(at_least, _DAY))
        return replace(
            job,
            upgrade=True,
            tries=tries,
            failure=cut(self.scrub(" ".join(why.split())), 300, "…"),
            tried_at=_iso(now),
            due_at=NEVER if refused and tries >= len(WAITS) else _iso(now + timedelta(seconds=seconds)),
            refused=refused,
        )

    def _claim(self, job: Job, text: str) -> Job | None:
        """Write down that a note is ours; where that fails, give the job as it waits for another try."""
        try:
            self.memory.manifest.add(job.id, text.encode())
        except OSError as error:
            return self._failed(job, f"can't be claimed: {self.memory.manifest.path}: {error.strerror}", refused=False)
        return None


def _content(path: Path | None) -> bytes:
    try:
        return path.read_bytes() if path else b""
    except FileNotFoundError:
        return b""


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
