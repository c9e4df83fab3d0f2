"""The index: a cache of the notes and of the turns that wait for theirs, made true to the files before every use."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ogcode.agent.files.durable import Lock
from ogcode.agent.files.root import Root
from ogcode.agent.index.listing import Stamp, listed
from ogcode.agent.index.ours import claim, discard, is_ours
from ogcode.agent.index.refresh import create, is_true, refresh
from ogcode.agent.index.rows import SCHEMA
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.rights.seal import Seal

WAIT = 2.0
"""Seconds to wait for another process that is refreshing; then the index is built in memory."""

CACHE = 32_000
"""kB of a database that is being made that stay in memory: what is merged again and again."""

PLACES = ("/var/tmp", "/usr/tmp", "/tmp")  # noqa: S108  # SQLite's own, which makes a file there that has no name
"""Where SQLite puts what is in no file, once it is more than CACHE. If none could be written, it would take the working
directory."""


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


ROTTEN = (sqlite3.Error, OSError, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What comes of bytes that turned over after they were written: SQLite's errors, and values of any kind at all."""


class Index:
    """The index as one reader holds it; what was found rotten is made anew from the files."""

    def __init__(self, memory: Memory, connection: sqlite3.Connection) -> None:
        self._memory = memory
        self.connection = connection
        """Can't write."""

    def execute(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Give the rows of a query."""
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            self.renew(error)
        return self.connection.execute(query, values).fetchall()

    def renew(self, error: Exception) -> None:
        """Discard what reading failed at, and go on with an index in memory.

        Raises:
            Exception: the error that was given: it is no rot, but a mistake of the caller's.
        """
        if isinstance(error, sqlite3.ProgrammingError):
            raise error
        self.connection.close()
        with contextlib.suppress(OSError):
            discard(self._memory.root.database)
        self.connection = _in_memory(self._memory, listed(self._memory.root))

    def close(self) -> None:
        """Let go of the database."""
        self.connection.close()


def open_index(memory: Memory) -> Index:
    """Make the index true to the files and hand out one that can't write.

    Where the folder can't be written, or the database is not ours or not sound, the same index is built in memory.
    """
    files = listed(memory.root)
    for afresh in (False, True) if files else ():  # where nothing is remembered nothing is left behind
        try:
            return Index(memory, _on_disk(memory, files, afresh=afresh))
        except TimeoutError:
            break  # another process is at it: leave it its database
        except ROTTEN:
            continue
    return Index(memory, _in_memory(memory, files))


def _in_memory(memory: Memory, files: Mapping[str, Stamp]) -> sqlite3.Connection:
    if any(os.access(place, os.W_OK | os.X_OK) for place in PLACES):
        with contextlib.suppress(sqlite3.Error):  # no room there
            return _made("", memory, files)
    return _made(":memory:", memory, files)


def _made(name: str, memory: Memory, files: Mapping[str, Stamp]) -> sqlite3.Connection:
    connection = sqlite3.connect(name)
    connection.execute(f"pragma cache_size = -{CACHE}")
    create(connection, lasting=False)
    refresh(connection, memory.root.store, files, memory.manifest, memory.seal)
    connection.execute("pragma query_only = on")
    return connection


def _on_disk(memory: Memory, files: Mapping[str, Stamp], *, afresh: bool) -> sqlite3.Connection:
    """Open the database, refreshed; `afresh` makes it anew.

    Raises:
        TimeoutError: another process holds it.
        ROTTEN: it can't be used.
    """
    path, mark = memory.root.database, memory.manifest.path.with_suffix(".index")
    if not afresh and is_ours(path, mark):
        reader = _reader(path)
        if is_true(reader, files, memory.manifest):
            return reader
        reader.close()
    prepare_store(memory.root.store)
    lock = _wait_for(memory.root.locks / "index")
    try:
        if afresh or not is_ours(path, mark):
            discard(path)
        with contextlib.closing(sqlite3.connect(path, timeout=5)) as writer:
            writer.execute(f"pragma cache_size = -{CACHE}")
            if writer.execute("pragma user_version").fetchone()[0] != SCHEMA:
                create(writer)
            refresh(writer, memory.root.store, files, memory.manifest, memory.seal)
        claim(path, mark)
        return _reader(path)
    finally:
        lock.release()


def _reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma query_only = on")
    connection.execute("pragma cell_size_check = on")
    return connection


def _wait_for(path: Path) -> Lock:
    deadline = time.monotonic() + WAIT
    while not (lock := Lock.take(path)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path}: another process holds the index")
        time.sleep(0.005)
    return lock
