"""What the scribe has still to do, and making it do that now."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ogcode.agent.index.cache import Memory
from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import is_ours, jobs
from ogcode.agent.memory.switch import MEANS
from ogcode.tui.commands.notes import chosen, counted, gone_here, open_notes
from ogcode.tui.commands.terminal import answer, answer_json, flat, remark
from ogcode.tui.place import Here

LOG = 5
"""Lines of the scribe's log that are shown."""

STILL_WAITING = 3
"""Exit code where the time was up: as a time limit's."""


def show_status(here: Here, *, as_json: bool) -> int:
    """Tell what is written, what waits, what could not be written as it should be, and why."""
    written = sum(not entry.pending for entry in open_notes(here).entries())
    spooled = _jobs(here)
    broken = [(path.name, str(job)) for path, job, _ in jobs(here.root.store) if not isinstance(job, Job)]
    pending, upgrades = ([job for job in spooled if job.upgrade is upgrade] for upgrade in (False, True))
    away = len(gone_here(here))
    log = [] if here.root.store.is_symlink() else _tail(here.root.store / "scribe.log", LOG)
    steps = [
        *(["ogcode memory wait writes what is pending"] if pending else []),
        *(["ogcode memory rescribe --all tries again with a model"] if upgrades else []),
        *(["ogcode memory doctor says what to do about broken files"] if broken else []),
        *(["ogcode memory doctor says what to do about notes that are gone"] if away else []),
    ]
    if as_json:
        answer_json(
            {
                "root": str(here.root.path),
                "trusted": here.trusted,
                "memory": here.config.memory,
                "recall": here.config.recall,
                "notes": written,
                "gone": away,
                "pending": [_told(job) for job in pending],
                "to_upgrade": [_told(job) for job in upgrades],
                "broken": [{"file": f"spool/{name}", "why": why} for name, why in broken],
                "log": log,
                "next": steps,
            }
        )
        return 0
    answer(f"root: {here.root.path}\ntrusted: {'yes' if here.trusted else 'no'}")
    missing = f" ({away} gone)" if away else ""
    answer(f"memory: {here.config.memory} ({MEANS[here.config.memory]})\nnotes: {written}{missing}")
    for what, waiting in (("pending", pending), ("written without a model", upgrades)):
        for job in waiting:
            answer(f"{'to be written again' if job.again else what}: {job.id}{_why(job)}")
    for what, lines in (("broken", [f"spool/{name}: {why}" for name, why in broken]), ("log", log), ("next", steps)):
        for line in lines:
            answer(f"{what}: {flat(line)}")
    return 0


def wait_for_notes(here: Here, seconds: float, *, as_json: bool) -> int:
    """Start the scribe and wait until no turn waits for its note."""

    def waiting() -> list[str]:
        return [job.id for job in _jobs(here) if not job.upgrade]

    if waiting():
        _start(here)
        _until(lambda: not waiting(), seconds)
    left = waiting()
    if as_json:
        answer_json({"pending": left})
    if left:
        remark(f"ogcode: {counted(len(left), 'turn')} still without a note; ogcode memory status says why")
    return STILL_WAITING if left else 0


def rescribe_notes(here: Here, names: Sequence[str], *, seconds: float, as_json: bool) -> int:
    """Have notes written anew by a model, by name or all that none wrote; say what came of each."""
    from ogcode.agent.memory.rescribe import RescribeImpossible, rescribe

    notes, memory = open_notes(here), Memory.of(here.root, here.home)
    upgrades = {job.id for job in _jobs(here) if job.upgrade}
    entries = [chosen(notes, name) for name in names] or [
        entry
        for entry in notes.entries()
        if not entry.pending and entry.origin == "own" and (entry.scribe == "extract" or entry.id in upgrades)
    ]
    tried, said = dict[str, str](), dict[str, str]()
    for entry in entries:
        try:
            tried[entry.id] = rescribe(memory, here.root.sessions, entry, secrets=here.secrets).tried_at
        except RescribeImpossible as error:
            said[entry.id] = str(error)
    if tried:
        _start(here)
        _until(lambda: not any(job.tried_at == tried.get(job.id, "-") for job in _jobs(here)), seconds)
    left = {job.id: job for job in _jobs(here)}
    after = {entry.id: entry for entry in open_notes(here).entries()}
    done = [note for note in tried if note not in left and note in after and after[note].scribe != "extract"]
    for entry in entries:
        what = _came(left.get(entry.id), after.get(entry.id, entry), written=entry.id in done)
        if as_json:
            answer_json({"id": entry.id, "written": entry.id in done, "said": said.get(entry.id, what)})
        else:
            answer(said.get(entry.id) or f"{entry.id}: {what}")
    if not entries:
        remark("there is no note that a model did not write")
    return 0 if len(done) == len(entries) else 1


def _came(job: Job | None, entry: Entry, *, written: bool) -> str:
    if written:
        return f"written by {flat(entry.scribe)}"
    if job and job.failure:
        return f"stays as it is: {flat(job.failure)}"
    return "not written yet; ogcode memory status says why"


def _jobs(here: Here) -> list[Job]:
    """List what waits in the spool; of others only where the folder is trusted."""
    return [
        job
        for _, job, mark in jobs(here.root.store)
        if isinstance(job, Job) and (here.trusted or is_ours(job, mark, here.seal))
    ]


def _told(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "why": job.failure,
        "tries": job.tries,
        "tried_at": job.tried_at or None,
        "due_at": job.due_at or None,
    }


def _why(job: Job) -> str:
    if not job.failure:
        return ""
    tried = f", last at {job.tried_at[:16].replace('T', ' ')}" if job.tried_at else ""
    return f": {flat(job.failure)} (tried {counted(job.tries, 'time')}{tried})"


def _tail(path: Path, lines: int) -> list[str]:
    try:
        told = path.read_text("utf-8", "replace") if path.is_file() and not path.is_symlink() else ""
    except OSError:
        return []
    return told.splitlines()[-lines:]


def _start(here: Here) -> None:
    from ogcode.tui.wiring import start_scribe  # loads asyncio

    start_scribe(here, linger=0.0)


def _until(holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
