"""The conversations that notes are of, and the short tags that they go by."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ogcode.agent.index.rows import FOREIGN

SHORTEST = 8
"""Characters of a tag at least."""

LAST = chr(0x10FFFF)
"""Comes after every character that a name or an id goes on with."""

VISIBLE = """pending < 2 and (origin = 'own' or :trusted) and ((origin = 'own' and pending = 0) or not exists (
    select 1 from notes as other where other.id = notes.id and other.pending < 2
    and 2 * (other.origin = 'own') + (other.pending = 0) > 2 * (notes.origin = 'own') + (notes.pending = 0)))"""
"""Of several that bear one id the user's own is meant, and of a turn and its note the note."""

SUMMARY: dict[str, type] = {"trusted": int, "session_id": str, **dict.fromkeys(("turns", "first", "last", "away"), int)}
"""What is known of a conversation, to those who may see other people's notes and to those who may not."""

_SUMS = (
    f"session_id, count(*) as turns, min(key - (key < 0) * {FOREIGN}) as first, "
    f"max(key - (key < 0) * {FOREIGN}) as last, max(key) < 0 as away"
)
"""As SUMMARY has them; a key tells the moment of its note, in sixteenths of a second since the epoch."""


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
        f"select {_SUMS}, count(*) over () from notes "  # noqa: S608  # constants
        f"where {condition} and {where} group by session_id order by away, last desc, session_id limit :most"
    )
    rows = connection.execute(query, {**values, "most": limit}).fetchall()
    return _conversations(connection, rows, where, values), rows[0][5] if rows else 0


def latest_of_all(
    connection: sqlite3.Connection, where: str, values: Mapping[str, object], limit: int
) -> tuple[list[Conversation], int]:
    """Do the same for every visible note, from what was summed up when the index was refreshed."""
    query = (
        "select session_id, turns, first, last, away from conversations "
        "where trusted = :trusted order by away, last desc, session_id limit :most"
    )
    rows = connection.execute(query, {**values, "most": limit}).fetchall()
    counted = connection.execute("select count(*) from conversations where trusted = :trusted", values)
    return _conversations(connection, rows, where, values), counted.fetchone()[0]


def sum_up(connection: sqlite3.Connection) -> None:
    """Sum up all conversations, of an index that had none."""
    for trusted in (False, True):
        connection.execute(_summing("1"), {"trusted": trusted})


def sum_up_again(connection: sqlite3.Connection, ids: Iterable[str], sessions: Iterable[str]) -> None:
    """Sum up these conversations, and those whose notes bear one of these ids: one may hide another."""
    named = "select session_id from notes where id = ?"
    bearing = {session for note in ids for (session,) in connection.execute(named, (note,))}
    for session in bearing.union(sessions):
        connection.execute("delete from conversations where session_id = ?", (session,))
        for trusted in (False, True):
            connection.execute(_summing("session_id = :session"), {"trusted": trusted, "session": session})


def topics(connection: sqlite3.Connection, session: str, where: str, values: Mapping[str, object]) -> tuple[str, ...]:
    """Name what the newest notes of a conversation are about, two topics each."""
    query = f"select topics from notes where session_id = :session and {where} order by +key desc limit 8"  # noqa: S608
    rows = connection.execute(query, {**values, "session": session})
    return tuple(dict.fromkeys(topic for (text,) in rows for topic in json.loads(text)[:2]))


def _summing(condition: str) -> str:
    return (
        "insert into conversations (trusted, session_id, turns, first, last, away) "  # noqa: S608  # constants
        f"select :trusted, {_SUMS} from notes where {condition} and {VISIBLE} group by session_id"
    )


def _conversations(
    connection: sqlite3.Connection, rows: Iterable[Any], where: str, values: Mapping[str, object]
) -> list[Conversation]:
    return [
        Conversation(session, _tag(connection, session, where, values), turns, _date(first), _date(last), bool(away))
        for session, turns, first, last, away, *_ in rows
    ]


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
