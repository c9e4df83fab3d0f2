"""The three tools of the librarian. There is no fourth, and none of them can write."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Annotated, get_args

from ogcode.agent.facts.fact import Fact
from ogcode.agent.facts.find import speaking
from ogcode.agent.index.conversations import Conversation
from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.markdown import head_lines, sections
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.turn import Outcome
from ogcode.librarian.fence import plain
from ogcode.librarian.known import CLOSE, FOLDER, called, entry_of, text_of
from ogcode.librarian.library import VERBATIM, Library

MAP = 1_150
"""Tokens of a `memory_map`, by a quick estimate: words that are none take a third more, and 1,500 is the most."""

SECTION = 3_600
"""Bytes of one `read`; a longer note without a section gives its outline."""

LISTED = 60
"""Conversations, or notes of one, that there could be room for."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_PIECE = re.compile(r"\d{1,3}|[A-Za-z]{1,4}|[^\sA-Za-z\d]")
"""About a token each: ids and dates have far more of them than prose of the same length."""


def librarian_tools(library: Library) -> tuple[Tool, Tool, Tool]:
    """Build the tools over what is in scope; the model can't name another scope."""

    @tool(effect="read")
    async def memory_map(
        folder: Annotated[str, "a conversation's tag"] = "", query: Annotated[str, "words to search for"] = ""
    ) -> str:
        """List conversations, or the notes of one; query keeps the best matches."""
        notes, wanted = library.notes, folder.strip().strip("/")
        if wanted == FOLDER and library.facts:
            return _facts(library, query)
        chosen = _chosen(library, wanted)
        if query:
            facts = [fact for share, fact in speaking(query, library.facts if not chosen else ()) if share >= CLOSE]
            found = notes.find(query, session=chosen.session_id if chosen else None, limit=-1)
            if not found and not facts:
                return f"nothing {f'in {_tag(chosen)} ' if chosen else ''}matches '{plain(query, 80)}'"
            every = chain((entry_of(fact, library.top) for fact in facts), found)
            number = len(found) + len(facts)
            return _bounded(map(_line, every), number, "notes", "ask in other words, or for one conversation")
        if chosen:
            entries = notes.entries(session=chosen.session_id, limit=LISTED)
            return _bounded(map(_line, entries), chosen.turns, "notes", "give a query")
        latest, number = notes.latest_conversations(LISTED)
        lines = (_conversation(each, notes.topics(each.session_id)) for each in latest)
        told = _bounded(lines, number, "conversations", "name one as folder, or give a query")
        return "\n".join(filter(None, [_shelf(library.facts), told])) or "memory is empty"

    @tool(effect="read")
    async def file_map(path: Annotated[str, "a note's file name"]) -> str:
        """Outline a note: its headings with line ranges."""
        entry, text = _opened(library, path)
        return _outline(entry, text)

    @tool(effect="read")
    async def read(
        path: Annotated[str, "a note's file name, or a fact's id"],
        section: Annotated[str, "a heading, or Verbatim"] = "",
        start_line: int = 0,
        end_line: int = 0,
    ) -> str:
        """Read a note, one section of it, or a range of lines."""
        entry, text = _opened(library, path)
        name = plain(entry.name)
        if section.strip().casefold() == VERBATIM.casefold():
            words = library.words_of(entry)
            if not words:
                raise ToolError(f"the transcript of {name} is gone or not your own; read its sections instead")
            return _shown(library, entry, VERBATIM, _range(words, start_line, end_line, f"{VERBATIM} of {name}"))
        if section:
            wanted = plain(section.strip().lstrip("#")).casefold()
            part = next((part for part in sections(text) if plain(part.title).casefold() == wanted), None)
            if part is None:
                raise ToolError(f"{name} has no section '{plain(section, 80)}':\n{_outline(entry, text)}")
            return _shown(library, entry, part.title, _range(text, part.start, part.end, name))
        if start_line or end_line:
            return _shown(library, entry, "", _range(text, start_line, end_line, name))
        if len(text.encode()) > SECTION:
            return f"{name} is long; read one section or a range of lines:\n{_outline(entry, text)}"
        lines = text.split("\n")
        return _shown(library, entry, "", "\n".join(lines[head_lines(lines) :]).strip())

    return memory_map, file_map, read


def _opened(library: Library, name: str) -> tuple[Entry, str]:
    """Find a fact or a note, and what it says."""
    near = called(name, library.facts)
    if len(near) > 1:
        raise ToolError(f"'{plain(name, 80)}' could be {', '.join(fact.id for fact in near[:6])}; name one")
    if near:
        return entry_of(near[0], library.top), text_of(near[0])
    entry = _note(library, name)
    return entry, _text(library, entry)


def _facts(library: Library, query: str) -> str:
    """List facts, the last changed first, or those that hold words of a query."""
    latest = sorted(reversed(library.facts), key=lambda fact: fact.updated, reverse=True)  # noqa: C414  # nearest first
    facts = [fact for _, fact in speaking(query, latest)] if query else latest
    lines = (_line(entry_of(fact, library.top)) for fact in facts)
    return _bounded(lines, len(facts), "facts", "give a query") or f"no fact matches '{plain(query, 80)}'"


def _shelf(facts: Sequence[Fact]) -> str:
    files = [plain(name, 40) for name in dict.fromkeys(fact.file for fact in facts)]
    more = f" and {len(files) - 4} more" if len(files) > 4 else ""
    return f"{FOLDER}/ ({len(facts)} facts): {', '.join(files[:4])}{more}" if facts else ""


def _note(library: Library, name: str) -> Entry:
    notes, shown = library.notes, name.strip()
    near = notes.named(name) or [each for each in notes.oddly_named() if plain(each.name) == shown]
    if not near:
        raise ToolError(f"no note named '{plain(name, 80)}' is in scope; memory_map lists what is")
    if len({entry.id for entry in near}) > 1:
        told = ", ".join(plain(entry.name) for entry in near[:6])
        raise ToolError(f"'{plain(name, 80)}' could be {told}; name one")
    return near[0]


def _text(library: Library, entry: Entry) -> str:
    try:
        return library.notes.text(entry)
    except OSError as error:
        raise ToolError(f"{plain(entry.name)} can't be read any more; see memory_map") from error


def _range(text: str, start: int, end: int, name: str) -> str:
    lines = text.split("\n")
    first, last = max(1, start), min(end or len(lines), len(lines))
    if first > last:
        raise ToolError(f"{name} has {len(lines)} lines; {start} to {end} is none of them")
    return "\n".join(lines[first - 1 : last])


def _shown(library: Library, entry: Entry, section: str, text: str) -> str:
    handle = library.open(entry, section)
    shown = text.encode()[:SECTION].decode("utf-8", "ignore")
    more = "\n[… cut; read a range of lines for the rest …]" if len(shown) < len(text) else ""
    return f"[{handle}] {label(entry, section)}\n{shown}{more}"


def label(entry: Entry, section: str) -> str:
    """Say where a passage is from, and whose it is."""
    state = ", not yet summarised" if entry.pending else ""
    outcome = entry.outcome if entry.outcome in get_args(Outcome) else "unknown"
    outcome = "fact" if entry.fact else "rewound" if entry.rewound else outcome
    name = f"{plain(entry.id)}#{plain(section or entry.title)}"
    return f"{name} ({_day(entry.created_at)}, {outcome}, {plain(entry.origin)}{state})"


def _day(created_at: str) -> str:
    return created_at[:10] if _DAY.match(created_at) else "no date"


def _outline(entry: Entry, text: str) -> str:
    lines = [f"{part.start}-{part.end}  {'  ' * (part.level - 1)}{plain(part.title)}" for part in sections(text)]
    lines.insert(0, f"{plain(entry.name)}, {len(text.splitlines())} lines")
    return _bounded(lines, len(lines), "headings", "read a range of lines")


def _line(entry: Entry) -> str:
    waiting = ", not yet summarised" if entry.pending else ""
    origin = "" if entry.origin == "own" else f" ({plain(entry.origin)})"
    if entry.fact:
        return f"{plain(entry.name)}: {plain(entry.title)}{origin}"
    topics = "; ".join(plain(topic) for topic in entry.topics[:5])
    return f"{plain(entry.name)}: {plain(entry.title, 90)} [{topics[:120]}]{origin}{waiting}"


def _conversation(conversation: Conversation, topics: Sequence[str]) -> str:
    days = dict.fromkeys((_day(conversation.first), _day(conversation.last)))
    turns = "1 turn" if conversation.turns == 1 else f"{conversation.turns} turns"
    told = "; ".join(plain(topic) for topic in topics[:8])
    return f"{_tag(conversation)} ({turns}, {' to '.join(days)}): {told[:200]}"


def _tag(conversation: Conversation) -> str:
    return f"{plain(conversation.tag, 40)}/"


def _chosen(library: Library, wanted: str) -> Conversation | None:
    if not wanted:
        return None
    near = library.notes.tagged(wanted)
    if not near:
        raise ToolError(f"no conversation '{plain(wanted, 80)}' is in scope; memory_map without a folder lists them")
    if len(near) > 1:
        told = ", ".join(plain(each.tag, 40) for each in near[:8])
        raise ToolError(f"'{plain(wanted, 80)}' could be {told}; name one")
    return near[0]


def _bounded(lines: Iterable[str], number: int, what: str, narrow: str) -> str:
    """Take lines for as long as there is room, and say how many are left out."""
    kept, room = list[str](), MAP
    for line in lines:
        room -= max(len(_PIECE.findall(line)), len(line.encode()) // 3) + 1
        if room < 0:
            break
        kept.append(line)
    left = number - len(kept)
    return "\n".join([*kept, *([f"… {left} more {what}; {narrow}"] if left else [])])
