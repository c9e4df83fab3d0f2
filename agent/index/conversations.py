"""The conversations that notes are of, and the short tags that they go by."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from ogcode.agent.index.rows import FOREIGN

SHORTEST = 8
"""Characters of a tag at least."""

LAST = chr(0x10FFFF)
"""Comes after every character that a name or an id goes on with."""

_MOMENT = f"key - (key < 0) * {FOREIGN}"
"""When a note is of, as its key has it: sixteenths of a second since the epoch."""


@dataclass(frozen=True, slots=True)
class Conversation:
    session_id: str
    tag: str
    """The shortest start of the session's id that no other has."""
    turns: int
    first: str
    last: str
    """When its first and its last turn began, ISO 8601."""
    foreign: bool
    """All that is known of it is by others."""


def conversations(
    connection: sqlite3.Connection, where: str, values: Mapping[str, object], *, condition: str = "1", limit: int = -1
) -> tuple[list[Conversation], int]:
    """List the conversations of visible notes, one's own first, then the last active; and count them all."""
    query = (
        f"select session_id, count(*), min({_MOMENT}), max({_MOMENT}) as last, max(key) < 0 as away, "  # noqa: S608
        "count(*) over () from notes "
        f"where {condition} and {where} group by session_id "
        "order by away, last desc, session_id limit :most"
    )
    rows = connection.execute(query, {**values, "most": limit}).fetchall()
    found = [
        Conversation(session, _tag(connection, session, where, values), turns, _date(first), _date(last), bool(away))
        for session, turns, first, last, away, _ in rows
    ]
    return found, rows[0][5] if rows else 0


def topics(connection: sqlite3.Connection, session: str, where: str, values: Mapping[str, object]) -> tuple[str, ...]:
    """Name what the newest notes of a conversation are about, two topics each."""
    query = f"select topics from notes where session_id = :session and {where} order by +key desc limit 8"  # noqa: S608
    rows = connection.execute(query, {**values, "session": session})
    return tuple(dict.fromkeys(topic for (text,) in rows for topic in json.loads(text)[:2]))


def _tag(connection: sqlite3.Connection, session: str, where: str, values: Mapping[str, object]) -> str:
    """Shorten an id to its shortest unique start."""
    size = SHORTEST
    for side, order in (("<", "desc"), (">", "asc")):
        query = (
            f"select session_id from notes where session_id {side} :session and {where} "  # noqa: S608  # constants
            f"order by session_id {order} limit 1"
        )
        row = connection.execute(query, {**values, "session": session}).fetchone()
        while row and size < len(session) and row[0].startswith(session[:size]):
            size += 1
    return session[:size] or "unnamed"


def _date(moment: int) -> str:
    return datetime.fromtimestamp(moment >> 4, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
