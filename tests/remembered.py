"""A folder with a memory: turns to spool, a scribe that drains them, and notes to look at."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Entry, Notes, Scope
from ogcode.agent.memory.job import NEVER, Job
from ogcode.agent.memory.spool import add_job, jobs
from ogcode.agent.model import Model
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.turn import Usage
from ogcode.scribe.compose import compose
from ogcode.scribe.drain import Drain

SESSION = "3f8c21aa" + "0" * 24
START = datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC)

GOOD = """# Dispatch retry fix

Topics: dispatch, retries, backoff

## What was done
- Set the limit of tries to five.

## Outcome
Five tries with backoff.
"""


def a_memory(folder: Path) -> Memory:
    (folder / "repo").mkdir(parents=True, exist_ok=True)
    return Memory.of(find_root(folder / "repo", None), folder / "home")


def a_job(number: int = 1, *, session: str = SESSION, request: str = "", answer: str = "") -> Job:
    """Make a turn that is too long to be kept word for word."""
    started = START + timedelta(minutes=number)
    return Job(
        id="",
        session_id=session,
        turn=number,
        created_at=started.isoformat(timespec="seconds").replace("+00:00", "Z"),
        outcome="done",
        model="scripted/test",
        window=128_000,
        request=request or f"Fix the retry of dispatch number {number}",
        steps=("read internal/dispatch/retry.go", "edit internal/dispatch/retry.go: 1 lines to 1: 3 -> 5"),
        answer=answer or f"Dispatch number {number} is tried five times.",
        files={"internal/dispatch/retry.go": "9f2c01d4a7be"},
        changed=("internal/dispatch/retry.go",),
        symbols={"internal/dispatch/retry.go": ("Backoff", "Send")},
    )


def spool(memory: Memory, *jobs: Job) -> list[Job]:
    return [add_job(memory.root.store, job, memory.seal) for job in jobs]


def scribe(
    memory: Memory, model: Model, *, trusted: bool = False, log: list[str] | None = None, now: datetime | None = None
) -> Drain:
    """Put a scribe together; without `now` it comes when all that waits for another try is due."""
    moment = now or when_all_is_due(memory)

    async def composed(job: Job) -> str:
        return await compose(job, model, spent, mark="5f3c9a11")

    return Drain(memory, composed, trusted=trusted, log=(log if log is not None else []).append, now=lambda: moment)


def when_all_is_due(memory: Memory) -> datetime:
    kept = [job for _, job, _ in jobs(memory.root.store) if isinstance(job, Job)]
    dues = [datetime.fromisoformat(job.due_at) for job in kept if job.due_at not in ("", NEVER)]
    return max(dues, default=START) + timedelta(seconds=1)


def spent(usage: Usage) -> None:
    """Nobody counts here."""


def note_files(memory: Memory) -> list[Path]:
    return sorted(memory.root.memory.rglob("*.md"))


def waiting(memory: Memory) -> list[str]:
    return sorted(path.stem for path in memory.root.spool.glob("*.json"))


def write_note(memory: Memory, name: str, text: str | bytes, *, own: bool = False) -> Path:
    path = memory.root.memory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(content)
    if own:
        memory.manifest.add("--".join(path.stem.split("--")[:2]), content)
    return path


def notes(memory: Memory, sessions: Mapping[str, int] | None = None, *, trusted: bool = True) -> Notes:
    return Notes(open_index(memory), memory.root.store, Scope(sessions), trusted=trusted)


def by_hand(number: int, body: str = "") -> tuple[str, str]:
    name = f"2026-09-12T0914{number:02}Z--3f8c21aa--n{number}.md"
    return name, f"# Note {number}\n\nTopics: t{number}\n\n## Outcome\n{body or f'word{number}'}\n"


async def a_full_memory(folder: Path) -> Memory:
    """Make a memory of two notes of the scribe's, one by hand, and one turn that waits."""
    memory = a_memory(folder)
    spool(memory, a_job(1), a_job(2))
    await scribe(memory, ScriptedModel(GOOD, GOOD.replace("Dispatch", "Zebra"))).run()
    write_note(memory, *by_hand(3, "重试 retry getRetryBackoff"))
    spool(memory, a_job(4, request="Look at getRetryBackoff again"))
    return memory


def answers(memory: Memory, *, trusted: bool = True) -> list[list[Entry]]:
    """Give what a reader would see: all entries, and what each of a few queries finds."""
    return answers_of(notes(memory, trusted=trusted))


def answers_of(found: Notes) -> list[list[Entry]]:
    queries = ("retry backoff", "dispatch", "zebra", "internal/dispatch/retry.go", "getRetryBackoff", "重试")
    return [found.entries(), *(found.find(query) for query in queries)]


def from_files(memory: Memory) -> list[list[Entry]]:
    """Answer by an index that was never on disk: a copy of the files where no database can be written."""
    copy = memory.root.path.parent / f"copy-{len(list(memory.root.path.parent.iterdir()))}"
    shutil.copytree(memory.root.path, copy, symlinks=True, ignore=shutil.ignore_patterns("index.db*"))
    (copy / ".ogcode" / "index.db").mkdir()
    return answers(Memory(find_root(copy, None), memory.manifest, memory.seal, memory.home))


def facts(entry: Entry) -> Entry:
    """Give an entry without what a copy of the files changes."""
    return replace(entry, origin="")
