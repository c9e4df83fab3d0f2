"""The memory of OpenWorker: the table `memories` of a `coworker.db`, opened to be read and no more."""

import json
import os
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from ogcode.agent.facts.fact import FactScope
from ogcode.agent.facts.intake import Given
from ogcode.agent.memory.beneath import read_beneath
from ogcode.tui.exchange.found import Found, NotReadable, written_at

SETTINGS = "memory-settings.json"
MOST = 20_000
"""Rows that are looked at."""
LARGEST = 1_000_000
"""Bytes of a row."""
_STEPS, _SECONDS = 100_000, 30.0
"""Steps of the database after which the time is looked at that it takes."""


def read_database(path: Path, workspaces: frozenset[str], found: Found) -> None:
    """Take what is about the user, and what is about one of these folders; say what others there are.

    Raises:
        NotReadable: it is no such database.
    """
    try:
        with closing(_opened(path.resolve())) as connection:
            table = "select 1 from sqlite_schema where name = 'memories' and type = 'table'"  # a view may never end
            known = connection.execute(table).fetchone()
            columns = {str(row[1]) for row in connection.execute("pragma table_info(memories)")}
            if not known or not {"id", "scope", "content"} <= columns:
                raise NotReadable(f"{path}: there is no table of memories in it")
            wanted = [name if name in columns else "null" for name in ("summary", "workspace", "created_at")]
            query = f"select id, scope, content, {', '.join(wanted)} from memories order by id"  # noqa: S608  # constants
            cursor = connection.execute(query)
            rows = cursor.fetchmany(MOST)
            if cursor.fetchone():
                found.left.append(f"what lies beyond the first {MOST:,} memories")
    except (sqlite3.Error, MemoryError) as error:
        raise NotReadable(f"{path}: can't be read as a database: {error}") from error
    others = Counter[str]()
    for number, scope, content, summary, workspace, created in rows:
        about: FactScope = "global" if scope == "global" else "project"
        if not isinstance(content, str | None):
            found.left.append(f"memory {number}: not text")
            continue
        if about == "project" and str(workspace or "") not in workspaces:
            others[str(workspace or "no folder")] += 1
            continue
        at = f"{str(created).replace(' ', 'T')}Z" if created else written_at(path)
        found.facts.append((about, Given(str(content or ""), at, f"OpenWorker {number}", str(summary or ""))))
    for workspace, count in others.most_common():
        found.left.append(f"{count} of another folder: {workspace}; --workspace takes them for this one's")
    if _rules(path.parent.resolve()):
        found.left.append(f"{SETTINGS}: rules that you wrote; put them into ~/.ogcode/AGENTS.md yourself")


def _opened(path: Path) -> sqlite3.Connection:
    """Open a database such that nothing is made beside it, and nothing that it holds costs more than it is worth."""
    alone = not os.path.lexists(f"{path}-wal")  # closed: else sqlite makes the files that a reader of a log needs
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro{'&immutable=1' if alone else ''}", uri=True)
    ends = time.monotonic() + _SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
    connection.execute("pragma trusted_schema = off")
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    return connection


def _rules(folder: Path) -> bool:
    try:
        told = json.loads(read_beneath(folder, SETTINGS, LARGEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(told, dict) and bool(str(told.get("user_rules") or "").strip())
