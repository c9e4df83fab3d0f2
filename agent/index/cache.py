"""The index: a cache of the notes and of the turns that wait for theirs, made true to the files before every use."""

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.durable import Lock, make_folder
from ogcode.agent.index.listing import Stamp, listed
from ogcode.agent.index.rows import FACTS, WORDS, Row, row_of
from ogcode.agent.memory.manifest import Claims, Manifest, State
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.memory.words import TOKENIZER
from ogcode.agent.root import Root
from ogcode.agent.seal import Seal

SCHEMA = 2

BATCH = 2_000
"""Notes that are read before they are written to the index."""

WAIT = 2.0
"""Seconds to wait for another process that is refreshing; then the index is built in memory."""


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
    files = listed(memory.root)
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
        if _is_true(reader, memory, files):
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


def _described(memory: Memory, files: Mapping[str, Stamp]) -> str:
    """Describe the state of the files and of the manifest: one line that tells whether anything has changed."""
    listing = "\n".join([*files, *files.values()])
    return f"{hashlib.blake2b(listing.encode()).hexdigest()} {memory.manifest.state()}"


def _is_true(connection: sqlite3.Connection, memory: Memory, files: Mapping[str, Stamp]) -> bool:
    return _fact(connection, "files") == _described(memory, files)


def _fact(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("select value from facts where name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables, all or none: half a schema is never taken for a whole one."""
    from sqlite_utils import Database

    database = Database(connection)
    with database.atomic():
        notes = database.create_table("notes", {"key": int, **FACTS}, pk="key")
        for columns in (["id"], ["name"], ["session_id", "origin", "pending", "id"]):
            notes.create_index(columns)
        database.create_table("facts", {"name": str, "value": str}, pk="name")
        words = f"{', '.join(WORDS)}, tokenize = {database.quote(TOKENIZER)}"
        connection.execute(f"create virtual table words using fts5({words})")
        connection.execute(f"pragma user_version = {SCHEMA}")


def _refresh(connection: sqlite3.Connection, memory: Memory, files: Mapping[str, Stamp]) -> None:
    """Bring the index to the state of the files, in one transaction."""
    described = _described(memory, files)  # before anything is read: what changes from here on is seen next time
    if _fact(connection, "files") == described:
        return
    from sqlite_utils import Database  # costs 70 ms: only where something has changed

    state, claims = memory.manifest.state(), memory.manifest.claims()
    known = {path: (stamp, key) for path, stamp, key in connection.execute("select path, stamp, key from notes")}
    changed = {path for path, stamp in files.items() if path not in known or known[path][0] != stamp}
    if known:
        changed |= _reowned(connection, claims, _fact(connection, "manifest"), state) & files.keys()
    gone = [(known[path][1],) for path in known if path in changed or path not in files]
    taken = {key for _, key in known.values()} - {key for (key,) in gone}
    store = str(memory.root.store)
    with Database(connection).atomic():
        connection.executemany("delete from words where rowid = ?", gone)
        connection.executemany("delete from notes where key = ?", gone)
        there = files.keys() - changed
        for some in _batches(sorted(changed)):
            read = [row_of(store, path, files[path], claims, memory.seal) for path in some]
            rows = {row.path: row for row in read if row and row.path not in there}
            _insert(connection, rows.values(), taken)
            there |= rows.keys()
        facts = (("files", described), ("manifest", json.dumps(state)))
        connection.executemany("insert or replace into facts (name, value) values (?, ?)", facts)


def _reowned(connection: sqlite3.Connection, claims: Claims, before: str, now: State) -> set[str]:
    """Find the notes that are somebody else's by now: the manifest may have changed after a note was read."""
    was: State = tuple(json.loads(before)) if before else (0, 0, 0)
    if was == now:
        return set()
    grown = was[2] == now[2] and was[0] <= now[0]
    newly = claims.since(was[0]) if grown else frozenset()
    rows = connection.execute("select path, id, sha256, origin from notes where pending = 0")
    return {
        path
        for path, note, sha256, origin in rows
        if (not grown or note in newly) and claims.origin(note, sha256) != origin
    }


def _insert(connection: sqlite3.Connection, rows: Iterable[Row], taken: set[int]) -> None:
    """Insert rows in the order of their keys: FTS5 writes out what it holds whenever a smaller one comes."""
    keyed = list[tuple[int, Row]]()
    for row in sorted(rows, key=lambda row: (row.key, row.path)):
        key = row.key
        while key in taken:
            key += 1
        taken.add(key)
        keyed.append((key, row))
    keyed.sort(key=lambda each: each[0])
    for table, columns in (("notes", ("key", *FACTS)), ("words", ("rowid", *WORDS))):
        statement = f"insert into {table} ({', '.join(columns)}) values ({', '.join('?' * len(columns))})"  # noqa: S608
        values = ((key, *(row.facts if table == "notes" else row.words)) for key, row in keyed)
        connection.executemany(statement, values)


def _batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Take so many at a time that a hundred thousand notes are never in memory at once."""
    for start in range(0, len(paths), BATCH):
        yield paths[start : start + BATCH]
