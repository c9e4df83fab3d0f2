"""Work through the spool: every waiting turn gets its one note, in order, whatever happens in between."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import time

from ogcode.agent.durable import create_file, replace_file, sweep
from ogcode.agent.memory.extract import extract_note, is_short_talk
from ogcode.agent.memory.index import Memory
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.notes import parse_note, slug
from ogcode.agent.memory.spool import drop_job, is_ours, jobs, prepare_store, put_back
from ogcode.agent.model import TRANSIENT, ModelError
from ogcode.scribe.validate import NoteRefused

Compose = Callable[[Job], Awaitable[str]]
"""Has a model write a note. Raises ModelError and NoteRefused."""
Log = Callable[[str], None]


@dataclass(slots=True)
class Drain:
    """One pass over the spool at a time; the caller holds the scribe's lock."""

    memory: Memory
    compose: Compose
    trusted: bool
    log: Log
    away: bool = False
    """The endpoint failed in this drain: no use in asking it again for the next job."""

    async def run(self) -> int:
        """Write what can be written now; return how many notes were written or bettered."""
        prepare_store(self.memory.root.store)
        sweep(self.memory.root.memory, older_than=0, now=time())
        sweep(self.memory.root.spool, older_than=3600, now=time())
        written = self._written()
        waiting = [(job, mark) for _, job, mark in jobs(self.memory.root.store) if isinstance(job, Job)]
        done = 0
        for job, mark in sorted(waiting, key=lambda each: (each[0].upgrade, each[0].id)):
            own = is_ours(job, mark, self.memory.seal)
            if not own and not self.trusted:
                self.log(f"{job.id}: not spooled by this user's ogcode; left alone until the folder is trusted")
                continue
            done += await (
                self._better(job, written.get(job.id)) if job.upgrade else self._write(job, written, own=own)
            )
        return done

    def _written(self) -> dict[str, Path]:
        """Find the notes that are there, by id, wherever in the memory folder they were moved."""
        found = dict[str, Path]()
        for path in self.memory.root.memory.rglob("*.md"):
            stem = path.stem.split("--")
            if len(stem) >= 2:
                found["--".join(stem[:2])] = path
        return found

    async def _write(self, job: Job, written: dict[str, Path], *, own: bool) -> int:
        if there := written.get(job.id):
            if there.stat().st_size:  # a crash came between the note's name and the end of its job
                return await self._better(job, there)
            there.unlink()  # it came between name and content, on a file system without hard links
        text, better_later = extract_note(job), False
        if not is_short_talk(job):
            try:
                text = await self._composed(job)
            except (ModelError, NoteRefused) as error:
                self.log(f"{job.id}: written without a model: {error}")
                better_later = isinstance(error, ModelError)
        note = parse_note(f"{job.id}.md", text.encode())
        path = self.memory.root.memory / f"{job.id}--{slug(note.title)}.md"
        if own:
            self._claim(job, text)
        try:
            create_file(path, text.encode())
        except FileExistsError:
            self.log(f"{path.name} is there already")
        if better_later:
            put_back(self.memory.root.store, replace(job, upgrade=True, tries=job.tries + 1), self.memory.seal)
        else:
            drop_job(self.memory.root.store, job)
        written[job.id] = path
        return 1

    async def _better(self, job: Job, path: Path | None) -> int:
        """Replace a note that was written without a model, unless somebody has edited or removed it."""
        before = path.read_bytes() if path else b""
        if path is None or not self._unedited(job, before):
            drop_job(self.memory.root.store, job)
            return 0
        try:
            text = await self._composed(job)
        except ModelError as error:
            self.log(f"{job.id}: stays as it is for now: {error}")
            return 0
        except NoteRefused as error:
            self.log(f"{job.id}: stays as it is: {error}")
            drop_job(self.memory.root.store, job)
            return 0
        self._claim(job, text)
        if path.read_bytes() == before:
            replace_file(path, text.encode())
        drop_job(self.memory.root.store, job)
        return 1

    def _unedited(self, job: Job, content: bytes) -> bool:
        """Tell whether a note is still the one that was written without a model."""
        origin = self.memory.manifest.origin(job.id, sha256(content).hexdigest())
        return origin == "own" and parse_note(job.id, content).scribe == "extract"

    async def _composed(self, job: Job) -> str:
        if self.away:
            raise ModelError("the model could not be reached")
        try:
            return await self.compose(job)
        except TRANSIENT:
            self.away = True
            raise

    def _claim(self, job: Job, text: str) -> None:
        try:
            self.memory.manifest.add(job.id, text.encode())
        except OSError as error:
            self.log(f"{job.id}: will count as foreign: {self.memory.manifest.path}: {error.strerror}")
