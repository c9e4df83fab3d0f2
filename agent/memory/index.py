"""The index: a cache of the notes and of the turns that wait for theirs, made true to the files before every use."""

import contextlib
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.durable import Lock, make_folder
from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.memory.markdown import head_lines
from ogcode.agent.memory.notes import LARGEST, Note, parse_note
from ogcode.agent.memory.spool import is_ours, open_job, prepare_store
from ogcode.agent.memory.words import searchable
from ogcode.agent.root import Root
from ogcode.agent.seal import Seal

SCHEMA = 1
WRITTEN, WAITING, HIDDEN = 0, 1, 2
"""Values of `pending`: a note; a turn that waits for its note; a spool file that stands for neither."""

WAIT = 2.0
"""Seconds to wait for another process that is refreshing; then the index is built in memory."""

_COLUMNS = {
    **dict.fromkeys(("key", "size", "mtime", "pending", "turn"), int),
    **dict.fromkeys(("path", "sha256", "origin", "id", "session_id", "created_at", "title", "topics"), str),
    **dict.fromkeys(("outcome", "scribe", "files", "malformed"), str),
    **dict.fromkeys(("title_words", "topic_words", "file_words", "body_words"), str),
}
SEARCHED = ("title_words", "topic_words", "file_words", "body_words")

Stamp = tuple[int, int]
"""Size in bytes and mtime in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What belongs together: a root, the user's manifest of it, and the user's seal."""

    root: Root
    manifest: Manifest
    seal: Seal
    home: Path

    @classmethod
    def of(cls, root: Root, home: Path) -> "Memory":
        return cls(root, Manifest(home, root.path), Seal(home), home)


def open_index(memory: Memory) -> sqlite3.Connection:
    """Make the index true to the files and hand out a connection that can't write.

    Where the folder can't be written, or the database is not ours or not sound, the same index is built in memory.
    """
    files = dict(_listed(memory.root))
    for afresh in (False, True) if files else ():  # where nothing is remembered nothing is left behind
        try:
            return _on_disk(memory, files, afresh=afresh)
        except TimeoutError:
            break  # another process is at it: leave it its database
        except (OSError, sqlite3.Error):
            continue
    connection = sqlite3.connect(":memory:")
    _create(connection)
    _refresh(connection, memory, files)
    connection.execute("pragma query_only = on")
    return connection


def _on_disk(memory: Memory, files: Mapping[str, Stamp], *, afresh: bool) -> sqlite3.Connection:
    """Open the database, refreshed; `afresh` makes it anew.

    Raises:
        OSError, sqlite3.Error: it can't be used.
    """
    path = memory.root.database
    if not afresh and _is_ours(memory):
        reader = _reader(path)
        if _stale(reader, memory, files) is None:
            return reader
        reader.close()
    prepare_store(memory.root.store)
    lock = _wait_for(memory.root.locks / "index")
    try:
        if afresh or not _is_ours(memory):
            _discard(memory)
        with contextlib.closing(sqlite3.connect(path, timeout=5)) as writer:
            if writer.execute("pragma user_version").fetchone()[0] != SCHEMA:
                _create(writer)
            _refresh(writer, memory, files)
        _claim(memory)
        return _reader(path)
    finally:
        lock.release()


def _reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma query_only = on")
    return connection


def _wait_for(path: Path) -> Lock:
    deadline = time.monotonic() + WAIT
    while not (lock := Lock.take(path)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path}: another process holds the index")
        time.sleep(0.005)
    return lock


def _stamp_of(path: Path) -> str:
    facts = path.lstat()
    return f"{SCHEMA}:{facts.st_dev}:{facts.st_ino}:{facts.st_size}:{facts.st_mtime_ns}"


def _mark(memory: Memory) -> Path:
    return memory.manifest.path.with_suffix(".index")


def _is_ours(memory: Memory) -> bool:
    """Tell whether the database is as this user's ogcode left it: a repository can ship one, a disk can spoil one."""
    if any(side.is_symlink() or side.exists() for side in _sides(memory)):
        return False  # a writer is at work or died, or a journal was planted that SQLite would play back
    try:
        return _mark(memory).read_text("utf-8") == _stamp_of(memory.root.database)
    except (OSError, UnicodeDecodeError):
        return False


def _claim(memory: Memory) -> None:
    make_folder(_mark(memory).parent)
    _mark(memory).write_text(_stamp_of(memory.root.database), "utf-8")


def _discard(memory: Memory) -> None:
    for path in (memory.root.database, *_sides(memory)):
        path.unlink(missing_ok=True)


def _sides(memory: Memory) -> list[Path]:
    return [Path(f"{memory.root.database}{suffix}") for suffix in ("-journal", "-wal", "-shm")]


def _listed(root: Root) -> Iterator[tuple[str, Stamp]]:
    """List waiting turns and notes with their stamps, by path from `.ogcode`; links are not followed.

    The spool comes first: a turn leaves it only once its note is there, so that it is seen in one or in both.
    """
    for entry in _scan(root.spool):
        if entry.name.endswith(".json") and not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
            with contextlib.suppress(OSError, UnicodeEncodeError):
                entry.name.encode()
                facts = entry.stat(follow_symlinks=False)
                if facts.st_size <= LARGEST:
                    yield f"spool/{entry.name}", (facts.st_size, facts.st_mtime_ns)
    folders = [root.memory]
    while folders:
        for entry in _scan(folders.pop()):
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            elif entry.name.endswith(".md") and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError, UnicodeEncodeError):
                    path = os.path.relpath(entry.path, root.store)
                    path.encode()  # a name that is not UTF-8 can't be shown or asked for
                    facts = entry.stat(follow_symlinks=False)
                    if facts.st_size <= LARGEST:
                        yield path, (facts.st_size, facts.st_mtime_ns)


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return [] if folder.is_symlink() or folder.parent.is_symlink() else list(os.scandir(folder))
    except OSError:
        return []


def _stale(
    connection: sqlite3.Connection, memory: Memory, files: Mapping[str, Stamp]
) -> tuple[set[str], set[str]] | None:
    """Compare the index with the files: paths to read and paths to forget, or None where all is true."""
    known = {
        path: (size, mtime)
        for path, size, mtime in connection.execute("select path, size, mtime from notes").fetchall()
    }
    changed = {path for path, stamp in files.items() if known.get(path) != stamp}
    gone = known.keys() - files.keys()
    same_manifest = connection.execute("select value from facts where name = 'manifest'").fetchone() == (
        memory.manifest.stamp(),
    )
    return None if not changed and not gone and same_manifest else (changed, set(gone))


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables, all or none: half a schema is never taken for a whole one."""
    from sqlite_utils import Database

    database = Database(connection)
    with database.atomic():
        notes = database.create_table("notes", _COLUMNS, pk="key")
        notes.create_index(["path"], unique=True)
        notes.create_index(["id"])
        notes.create_index(["session_id", "turn"])
        notes.enable_fts(SEARCHED, tokenize="porter unicode61", create_triggers=True)
        database.create_table("facts", {"name": str, "value": str}, pk="name")
        connection.execute(f"pragma user_version = {SCHEMA}")


def _refresh(connection: sqlite3.Connection, memory: Memory, files: Mapping[str, Stamp]) -> None:
    """Bring the index to the state of the files, in one transaction."""
    stamp = memory.manifest.stamp()  # before its use: what is claimed from here on is looked at next time
    stale = _stale(connection, memory, files)
    if stale is None:
        return
    from sqlite_utils import Database  # costs 70 ms: only where something has changed

    changed, gone = stale
    database = Database(connection)
    read = (_row(memory, path, files[path]) for path in sorted(changed))
    rows = {str(row["path"]): row for row in read if row}
    with database.atomic():
        connection.executemany("delete from notes where path = ?", [(path,) for path in {*gone, *changed, *rows}])
        database.table("notes").insert_all(rows.values())
        _reown(connection, memory)
        database.table("facts").upsert({"name": "manifest", "value": stamp}, pk="name")


def _reown(connection: sqlite3.Connection, memory: Memory) -> None:
    """Look again whose the notes are: the manifest may have changed after a note was read."""
    rows = connection.execute("select key, id, sha256, origin from notes where pending = 0").fetchall()
    moved = [
        (now, key) for key, note, sha256, before in rows if (now := memory.manifest.origin(note, sha256)) != before
    ]
    connection.executemany("update notes set origin = ? where key = ?", moved)


def _note_of(memory: Memory, turn: str) -> dict[str, object] | None:
    for path in memory.root.memory.glob(f"{turn}--*.md"):
        with contextlib.suppress(OSError):
            facts = path.lstat()
            return _row(memory, os.path.relpath(path, memory.root.store), (facts.st_size, facts.st_mtime_ns))
    return None


def _row(memory: Memory, path: str, stamp: Stamp) -> dict[str, object] | None:
    try:
        content = (memory.root.store / path).read_bytes()
    except OSError:  # gone meanwhile; a turn has gone to its note
        return _note_of(memory, Path(path).stem) if path.startswith("spool/") else None
    sha256 = hashlib.sha256(content).hexdigest()
    if not path.startswith("spool/"):
        note = parse_note(path, content)
        return _told(note, path, stamp, sha256, memory.manifest.origin(note.id, sha256), pending=WRITTEN)
    job, mark = open_job(Path(path).stem, content)
    if not isinstance(job, Job) or job.upgrade:
        nothing = Note(Path(path).stem, "", "", malformed=str(job) if not isinstance(job, Job) else "")
        return _told(nothing, path, stamp, sha256, "foreign", pending=HIDDEN)
    origin = "own" if is_ours(job, mark, memory.seal) else "foreign"
    return _told(pending_note(job), path, stamp, sha256, origin, pending=WAITING)


def pending_note(job: Job) -> Note:
    """Render the note of a turn that waits for its own."""
    return parse_note(f"{job.id}.md", extract_note(job).encode())


def _told(note: Note, path: str, stamp: Stamp, sha256: str, origin: str, *, pending: int) -> dict[str, object]:
    lines = note.text.split("\n")
    return {
        "path": path,
        "size": stamp[0],
        "mtime": stamp[1],
        "sha256": sha256,
        "origin": origin,
        "pending": pending,
        "id": note.id,
        "session_id": note.session_id,
        "created_at": note.created_at,
        "turn": note.turn,
        "title": note.title,
        "topics": json.dumps(note.topics, ensure_ascii=False),
        "outcome": note.outcome,
        "scribe": note.scribe,
        "files": json.dumps(dict(note.files), ensure_ascii=False),
        "malformed": note.malformed,
        "title_words": searchable(note.title),
        "topic_words": searchable("\n".join(note.topics)),
        "file_words": searchable("\n".join(note.files)),
        "body_words": searchable("\n".join(lines[head_lines(lines) :])),
    }
