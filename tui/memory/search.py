"""Search a memory while the query is still being typed."""

import re

from ogcode.agent.facts.fact import Fact
from ogcode.agent.facts.find import speaking
from ogcode.agent.index.reading import Entry, Notes
from ogcode.agent.memory.markdown import head_lines
from ogcode.tui.memory.desk import Found, Noted, words_of
from ogcode.tui.memory.reader import Reader

FOUND, EXCERPTS = 300, 60
"""Notes that a search lists, and those of them that are read to show the line that was found."""

READ, BEFORE = 20_000, 12
"""Characters in which that line is looked for, and how many of it may stand before what is found."""


def search(reader: Reader, query: str) -> Found:
    """Find the facts and notes that have all words of a query; where none has, the nearest notes."""
    notes, wanted = reader.notes(), query.casefold().split()
    facts = [fact for fact in reader.facts if all(word in _said(fact) for word in wanted)]
    entries = notes.begun(query, limit=FOUND)
    nearest = not entries and len(wanted) > 1
    if nearest:
        entries = notes.find(query, limit=FOUND)
        facts = facts or [fact for _, fact in speaking(query, reader.facts)]
    if not entries and re.match(r"\d{4}-\d\d|[0-9a-f]{8}", query.strip()):
        entries = notes.named(query) or [
            each for one in notes.tagged(query) for each in notes.entries(session=one.session_id)
        ]
    hits = words_of(query)
    read = [Noted(entry, excerpt=_excerpt(notes, entry, hits)) for entry in entries[:EXCERPTS]]
    return Found([*facts, *read, *map(Noted, entries[EXCERPTS:])], nearest and bool(entries))


def _excerpt(notes: Notes, entry: Entry, hits: re.Pattern[str] | None) -> str:
    """Give the line of a note that has most of what is searched for."""
    if hits is None:
        return ""
    try:
        text = notes.text(entry)[:READ]
    except OSError:
        return ""
    lines = text.split("\n")
    body = [line for line in lines[head_lines(lines) :] if not line.startswith(("#", "Topics:"))]
    told = [(len(set(map(str.casefold, hits.findall(line)))), -place) for place, line in enumerate(body)]
    most, place = max(told, default=(0, 0))
    if not most:
        return ""
    line = body[-place].strip(" -*")
    at = next(hits.finditer(line)).start()
    return line if at < BEFORE else f"… {line[line.rfind(' ', 0, at) + 1 :]}"


def _said(fact: Fact) -> str:
    return f"{fact.id} {fact.title} {fact.summary} {fact.text}".casefold()
