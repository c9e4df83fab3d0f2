"""Bringing the tables of an index to the state of the files."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ogcode.agent.index.listing import Stamp
from ogcode.agent.index.rows import FACTS, SCHEMA, WORDS, Row, row_of
from ogcode.agent.memory.manifest import Claims, Manifest, State
from ogcode.agent.memory.words import TOKENIZER
from ogcode.agent.seal import Seal

BATCH = 2_000
"""Notes that are read before they are written to the index."""

SETTINGS = {"hashsize": 1 << 25, "automerge": 8}
"""Of FTS5: how many bytes it gathers before it writes them out, and how many of such parts it makes one of."""


def _described(files: Mapping[str, Stamp], manifest: Manifest) -> str:
    """Describe the state of the files and of the manifest: one line that tells whether anything has changed."""
    listing = "\n".join([*files, *files.values()])
    return f"{hashlib.blake2b(listing.encode()).hexdigest()} {manifest.state()}"


def is_true(connection: sqlite3.Connection, files: Mapping[str, Stamp], manifest: Manifest) -> bool:
    """Tell whether nothing has changed since the last refresh."""
    return _fact(connection, "files") == _described(files, manifest)


def _fact(connection: sqlite3.Connection, name: str) -> str:
    row = connection.execute("select value from facts where name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def create(connection: sqlite3.Connection) -> None:
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
        connection.executemany("insert into words (words, rank) values (?, ?)", SETTINGS.items())
        connection.execute(f"pragma user_version = {SCHEMA}")


def refresh(
    connection: sqlite3.Connection, store: Path, files: Mapping[str, Stamp], manifest: Manifest, seal: Seal
) -> None:
    """Bring the index to the state of the files, in one transaction."""
    described = _described(files, manifest)  # before anything is read: what changes from here on is seen next time
    if _fact(connection, "files") == described:
        return
    from sqlite_utils import Database  # costs 70 ms: only where something has changed

    state, claims = manifest.state(), manifest.claims()
    known = {path: (stamp, key) for path, stamp, key in connection.execute("select path, stamp, key from notes")}
    changed = {path for path, stamp in files.items() if path not in known or known[path][0] != stamp}
    if known:
        changed |= _reowned(connection, claims, _fact(connection, "manifest"), state) & files.keys()
    gone = [(known[path][1],) for path in known if path in changed or path not in files]
    taken = {key for _, key in known.values()} - {key for (key,) in gone}
    with Database(connection).atomic():
        connection.executemany("delete from words where rowid = ?", gone)
        connection.executemany("delete from notes where key = ?", gone)
        there = files.keys() - changed
        for some in _batches(sorted(changed)):
            read = [row_of(str(store), path, files[path], claims, seal) for path in some]
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
