"""What the index holds of a file: the facts of its note, and its words."""

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from json.encoder import encode_basestring as quoted
from pathlib import Path

from ogcode.agent.index.dates import date_words
from ogcode.agent.index.listing import Stamp, stamp_of
from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.manifest import Claims, Origin
from ogcode.agent.memory.notes import LARGEST, Note, named_time, parse_note
from ogcode.agent.memory.spool import is_ours, open_job
from ogcode.agent.memory.words import parts, searchable
from ogcode.agent.rights.seal import Seal

SCHEMA = 4
"""Number of what is below; an index of another one is made anew."""

WRITTEN, WAITING, HIDDEN = 0, 1, 2
"""Values of `pending`: a note; a turn that waits for its note; a spool file that stands for neither."""

FACTS: dict[str, type] = {
    **dict.fromkeys(("path", "name", "stamp", "sha256", "origin"), str),
    "pending": int,
    **dict.fromkeys(("id", "session_id", "created_at"), str),
    "turn": int,
    **dict.fromkeys(("title", "topics", "outcome", "scribe", "files", "malformed"), str),
    "pinned": int,
}
WORDS = ("title", "topics", "files", "body", "parts", "dates", "session")
WEIGHTS = (0.5, 0.5, 0.5, 1.0, 0.5, 1.0, 0.0)
"""Of WORDS in BM25: the first three say again what the body says, the session nothing."""

FOREIGN = -(1 << 50)
"""Keys of other people's notes begin here, so that in the order of keys they come after every note of one's own."""


_LAST = 253_402_300_799
"""The last second that has a date."""


@dataclass(frozen=True, slots=True)
class Row:
    """A note in the index."""

    key: int
    """Its place in time; notes of the same second take the next that is free."""
    id: str
    path: str
    facts: tuple[object, ...]
    """Values of FACTS."""
    words: tuple[str, ...]
    """Values of WORDS."""


def name_of(path: str) -> str:
    """Give the name of a file of memory without its ending."""
    return path.rpartition("/")[2].rpartition(".")[0]


def row_of(store: str, path: str, stamp: Stamp, claims: Claims, seal: Seal) -> Row | None:
    """Read a file of memory; None where it has gone meanwhile."""
    try:
        content = _read(f"{store}/{path}", int(stamp.partition(" ")[0]))
    except OSError:  # a turn may have gone to its note
        return _note_of(store, Path(path).stem, claims, seal) if path.startswith("spool/") else None
    digest = sha256(content).hexdigest()
    if not path.startswith("spool/"):
        note = parse_note(path, content)
        return _row(note, path, stamp, digest, claims.origin(note.id, digest), WRITTEN)
    job, mark = open_job(Path(path).stem, content)
    if isinstance(job, Job) and job.upgrade and _changed(f"{store}/{path}", stamp):
        # It waited when it was listed; its note may have come since, and is in no list then.
        return _note_of(store, job.id, claims, seal)
    if not isinstance(job, Job) or job.upgrade:
        nothing = Note(Path(path).stem, "", "", malformed=str(job) if not isinstance(job, Job) else "")
        return _row(nothing, path, stamp, digest, "foreign", HIDDEN)
    return _row(pending_note(job), path, stamp, digest, "own" if is_ours(job, mark, seal) else "foreign", WAITING)


def pending_note(job: Job) -> Note:
    """Render the note of a turn that waits for its own."""
    return parse_note(f"{job.id}.md", extract_note(job).encode())


def _read(path: str, size: int) -> bytes:
    """Read a file that was listed: no link and no pipe that has taken its place, and not for longer than a note."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        content = os.read(descriptor, size + 1)
        while size < len(content) < LARGEST and (more := os.read(descriptor, LARGEST - len(content))):
            content += more  # it has grown meanwhile
        return content
    finally:
        os.close(descriptor)


def _changed(path: str, stamp: Stamp) -> bool:
    try:
        return stamp_of(os.lstat(path)) != stamp
    except OSError:
        return True


def _note_of(store: str, turn: str, claims: Claims, seal: Seal) -> Row | None:
    for path in Path(store, "memory").glob(f"{turn}--*.md"):
        with suppress(OSError):
            return row_of(store, f"memory/{path.name}", stamp_of(path.lstat()), claims, seal)
    return None


def _row(note: Note, path: str, stamp: Stamp, digest: str, origin: Origin, pending: int) -> Row:
    created_at, seconds = _moment(note, origin, int(stamp.partition(" ")[2]) // 1_000_000_000)
    files = "\n".join(note.files)
    return Row(
        (seconds << 4) + (FOREIGN if origin == "foreign" else 0),
        note.id,
        path,
        (
            path,
            name_of(path),
            stamp,
            digest,
            origin,
            pending,
            note.id,
            note.session_id,
            created_at,
            note.turn,
            note.title,
            f"[{', '.join(map(quoted, note.topics))}]",
            note.outcome,
            note.scribe,
            f"{{{', '.join(f'{quoted(path)}: {quoted(digest)}' for path, digest in note.files.items())}}}",
            note.malformed,
            note.pinned,
        ),
        (
            searchable(note.title),
            searchable("\n".join(note.topics)),
            searchable(files),
            searchable(note.body),
            parts(f"{note.title}\n{files}\n{note.body}"),
            date_words(created_at),
            note.session_id,
        ),
    )


def _moment(note: Note, origin: Origin, changed: int) -> tuple[str, int]:
    """Date a note: its text and seconds since the epoch.

    Only a note of one's own is taken at its word. An edited one can't be newer than its turn was, a foreign one not
    newer than its file.
    """
    claimed = _seconds(note.created_at) if note.created_at else None
    if origin == "own" and claimed is not None:
        return note.created_at, claimed
    latest = (_seconds(named_time(note.id)) if origin == "edited" else None) or changed
    seconds = max(0, min(latest, _LAST, latest if claimed is None else claimed))
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), seconds


def _seconds(moment: str) -> int | None:
    try:
        read = datetime.fromisoformat(moment)
        return max(0, int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()))
    except (ValueError, OverflowError):
        return None
