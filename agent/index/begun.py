"""Searching while somebody types: all words must be there, and the last one may go on."""

import sqlite3
import unicodedata
from collections.abc import Iterator

from ogcode.agent.index.dates import take_dates
from ogcode.agent.index.ranking import MANY, Seen
from ogcode.agent.index.rows import WEIGHTS
from ogcode.agent.memory.words import STOP_WORDS, query_terms

SHORT = 2
"""Letters of an unfinished word up to which only titles and topics count: nearly every text has one that begins so."""

STEM, ENDING = 4, 6
"""The index holds stems: a word is found under its first letters, at least STEM and all but ENDING of them."""

WORDS = 12
"""Words that are looked for at most."""


def begun(connection: sqlite3.Connection, query: str, seen: Seen, limit: int) -> list[int]:
    """Give the keys of notes that hold all words, best first; of very many only the newest are scored."""
    match = " AND ".join(_all_words(query))
    if not match:
        return []
    nth = "select rowid from words where words match ? order by rowid desc limit 1 offset ?"
    row = connection.execute(nth, (match, MANY)).fetchone()
    scored = (
        "select key from (select rowid as number, "  # noqa: S608  # constants
        f"-bm25(words, {', '.join(map(str, WEIGHTS))}) as score from words where words match :match "
        "and rowid >= :oldest order by score desc, number desc limit :most) "
        f"join notes on key = number where {seen.where}"
    )
    values = {**seen.values, "match": match, "oldest": max(row[0], seen.oldest) if row else seen.oldest, "most": limit}
    return [key for (key,) in connection.execute(scored, values)]


def citing(connection: sqlite3.Connection, note: str, seen: Seen, limit: int) -> list[int]:
    """Give the keys of notes whose text has the id of a note, newest first."""
    match = f'body : "{note.replace(chr(34), " ")}"'
    found = (
        "select key from words join notes on key = words.rowid "  # noqa: S608  # constants
        f"where words match :match and {seen.where} order by words.rowid desc limit :most"
    )
    return [key for (key,) in connection.execute(found, {**seen.values, "match": match, "most": limit})]


def _all_words(query: str) -> Iterator[str]:
    """Give what must be there, each an expression of FTS5."""
    dates, text = take_dates(unicodedata.normalize("NFC", query[:400]))
    if dates:
        yield f"({' OR '.join(map(_quoted, dates))})"
    *finished, last = text.split(" ")
    whole = query_terms(" ".join(finished))[0] if finished else ()
    yield from map(_quoted, [word for word in whole if word not in STOP_WORDS][:WORDS])
    for place, word in enumerate(reversed(query_terms(last)[0][:WORDS])):
        yield _unfinished(word) if place == 0 else _quoted(word)


def _unfinished(word: str) -> str:
    if len(word) <= SHORT and word.isascii():
        return f"{{title topics}} : {_quoted(word)} *"
    stems = (word[:size] for size in range(max(STEM, len(word) - ENDING), len(word)))
    return f"({' OR '.join([f'{_quoted(word)} *', *map(_quoted, stems)])})"


def _quoted(word: str) -> str:
    return f'"{word.replace(chr(34), " ")}"'
