"""Bringing the tables of an index to the state of the files."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ogcode.agent.index.conversations import SUMMARY, sum_up, sum_up_again
from ogcode.agent.index.listing import Stamp
from ogcode.agent.index.rows import FACTS, FOREIGN, SCHEMA, WORDS, Row, name_of, row_of
from ogcode.agent.memory.manifest import Claims, Manifest, State
from ogcode.agent.memory.words import TOKENIZER
from ogcode.agent.rights.seal import Seal

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


def create(connection: sqlite3.Connection, *, lasting: bool = True) -> None:
    """Make the tables, all or none: half a schema is never taken for a whole one.

    What is not `lasting` is filled once and not refreshed: FTS5 then needs no copy of the words, to take them out by.
    """
    from sqlite_utils.db import Database, DescIndex  # costs 70 ms

    database = Database(connection)
    with database.atomic():
        notes = database.create_table("notes", {"key": int, **FACTS}, pk="key")
        for columns in (["id"], ["name"], ["session_id", "origin", "pending", "id"]):
            notes.create_index(columns)
        conversations = database.create_table("conversations", SUMMARY, pk=("session_id", "trusted"))
        conversations.create_index(["trusted", "away", DescIndex("last"), "session_id"])
        database.create_table("facts", {"name": str, "value": str}, pk="name")
        words = [*WORDS, f"tokenize = {database.quote(TOKENIZER)}", *([] if lasting else ["content = ''"])]
        connection.execute(f"create virtual table words using fts5({', '.join(words)})")
        connection.executemany("insert into words (words, rank) values (?, ?)", SETTINGS.items())
        connection.execute(f"pragma user_version = {SCHEMA}")


def refresh(
    connection: sqlite3.Connection, store: Path, files: Mapping[str, Stamp], manifest: Manifest, seal: Seal
) -> None:
    """Bring the index to the state of the files, in one transaction."""
    described = _described(files, manifest)  # before anything is read: what changes from here on is seen next time
    if _fact(connection, "files") == described:
        return
    state, claims = manifest.state(), manifest.claims()
    known: dict[str, Stamp] = dict(connection.execute("select path, stamp from notes"))
    changed = {path for path, stamp in files.items() if known.get(path) != stamp}
    if known:
        changed |= _reowned(connection, claims, _fact(connection, "manifest"), state) & files.keys()
    with connection:
        ids, sessions = _remove(connection, [path for path in known if path in changed or path not in files])
        inserted = set[str]()
        for some in _batches(sorted(changed)):
            read = zip(some, (row_of(str(store), path, files[path], claims, seal) for path in some), strict=True)
            rows = {
                row.path: row
                for path, row in read
                if row and (row.path == path or (row.path not in files and row.path not in inserted))
            }
            _insert(connection, rows.values())
            inserted |= rows.keys()
            ids |= {row.id for row in rows.values()}
        if known:
            sum_up_again(connection, ids, sessions)
        else:
            sum_up(connection)
        facts = (("files", described), ("manifest", json.dumps(state)))
        connection.executemany("insert or replace into facts (name, value) values (?, ?)", facts)


def _remove(connection: sqlite3.Connection, paths: Iterable[str]) -> tuple[set[str], set[str]]:
    """Remove the rows of files; give the ids and the conversations that they were of.

    Raises:
        LookupError: the index contradicts itself.
    """
    ids, sessions = set[str](), set[str]()
    wanted = "select key, id, session_id from notes where name = ? and path = ?"  # there is an index of the names
    for path in paths:
        row = connection.execute(wanted, (name_of(path), path)).fetchone()
        if row is None:
            raise LookupError(f"{path}: the index has it under another name")
        connection.execute("delete from words where rowid = ?", row[:1])
        connection.execute("delete from notes where key = ?", row[:1])
        ids.add(row[1])
        sessions.add(row[2])
    return ids, sessions


def _reowned(connection: sqlite3.Connection, claims: Claims, before: str, now: State) -> set[str]:
    """Find the notes that are somebody else's by now: the manifest may have changed after a note was read."""
    was: State = tuple(json.loads(before)) if before else (0, 0, 0)
    if was == now:
        return set()
    written = "select path, id, sha256, origin from notes where pending = 0"
    rows: Iterable[Any] = connection.execute(written)
    if was[2] == now[2] and was[0] <= now[0]:  # it has grown: only what is claimed since can be another's
        named = f"{written} and id = ?"
        rows = chain.from_iterable(connection.execute(named, (note,)) for note in claims.since(was[0]))
    return {path for path, note, sha256, origin in rows if claims.origin(note, sha256) != origin}


def _insert(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Insert rows in the order of their keys: FTS5 writes out what it holds whenever a smaller one comes."""
    ordered = sorted(rows, key=lambda row: (row.key, row.path))
    if not ordered:
        return
    taken = {key for (key,) in connection.execute("select key from notes where key >= ?", (ordered[0].key,))}
    keys, key = list[int](), FOREIGN - 1
    for row in ordered:
        key = max(key + 1, row.key)
        while key in taken:
            key += 1
        keys.append(key)
    for table, columns in (("notes", ("key", *FACTS)), ("words", ("rowid", *WORDS))):
        statement = f"insert into {table} ({', '.join(columns)}) values ({', '.join('?' * len(columns))})"  # noqa: S608
        values = (row.facts if table == "notes" else row.words for row in ordered)
        connection.executemany(statement, ((key, *each) for key, each in zip(keys, values, strict=True)))


def _batches(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Take so many at a time that a hundred thousand notes are never in memory at once."""
    for start in range(0, len(paths), BATCH):
        yield paths[start : start + BATCH]
