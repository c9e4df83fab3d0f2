"""The three tools of the librarian. There is no fourth, and none of them can write."""

import re
from collections.abc import Sequence
from typing import Annotated

from ogcode.agent.memory.markdown import cut, head_lines, sections
from ogcode.agent.memory.search import Entry
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.librarian.library import VERBATIM, Library

MAP = 1_400
"""Tokens of a `memory_map`, by a quick bound."""

SECTION = 3_600
"""Bytes of one `read`; a longer note without a section gives its outline."""

_PIECE = re.compile(r"\d{1,3}|[A-Za-z]{1,6}|[^\sA-Za-z\d]")
"""About a token each: ids and dates have far more of them than prose of the same length."""


def librarian_tools(library: Library) -> tuple[Tool, Tool, Tool]:
    """Build the tools over what is in scope; the model can't name another scope."""

    @tool(effect="read")
    async def memory_map(
        folder: Annotated[str, "a conversation's tag"] = "", query: Annotated[str, "words to search for"] = ""
    ) -> str:
        """List conversations, or the notes of one; query keeps the best matches."""
        entries = library.notes.find(query, limit=-1) if query else library.notes.entries()
        if not entries:
            return f"nothing matches '{cut(query, 80)}'" if query else "memory is empty"
        tags = _tags({entry.session_id for entry in library.notes.entries()})
        wanted = folder.strip().strip("/")
        if not wanted and not query:
            return _bounded(_conversations(entries, tags), "conversations", "name one as folder, or give a query")
        if wanted:
            session = _chosen(wanted, tags)
            entries = [entry for entry in entries if entry.session_id == session]
            if not entries:
                return f"nothing in {tags[session]}/ matches '{cut(query, 80)}'"
        return _bounded([_line(entry) for entry in entries], "notes", "give a query")

    @tool(effect="read")
    async def file_map(path: Annotated[str, "a note's file name"]) -> str:
        """Outline a note: its headings with line ranges."""
        entry = _note(library, path)
        return _outline(entry, _text(library, entry))

    @tool(effect="read")
    async def read(
        path: Annotated[str, "a note's file name"],
        section: Annotated[str, "a heading, or Verbatim"] = "",
        start_line: int = 0,
        end_line: int = 0,
    ) -> str:
        """Read a note, one section of it, or a range of lines."""
        entry = _note(library, path)
        if section.strip().casefold() == VERBATIM.casefold():
            words = library.words_of(entry)
            if not words:
                raise ToolError(f"the transcript of {entry.id} is gone; read its sections instead")
            return _shown(library, entry, VERBATIM, _range(words, start_line, end_line, f"{VERBATIM} of {entry.id}"))
        text = _text(library, entry)
        if section:
            wanted = section.strip().lstrip("#").strip().casefold()
            part = next((part for part in sections(text) if part.title.casefold() == wanted), None)
            if part is None:
                raise ToolError(f"{entry.name} has no section '{cut(section, 80)}':\n{_outline(entry, text)}")
            return _shown(library, entry, part.title, _range(text, part.start, part.end, entry.name))
        if start_line or end_line:
            return _shown(library, entry, "", _range(text, start_line, end_line, entry.name))
        if len(text.encode()) > SECTION:
            return f"{entry.name} is long; read one section or a range of lines:\n{_outline(entry, text)}"
        lines = text.split("\n")
        return _shown(library, entry, "", "\n".join(lines[head_lines(lines) :]).strip())

    return memory_map, file_map, read


def _note(library: Library, name: str) -> Entry:
    near = library.notes.named(name)
    if not near:
        raise ToolError(f"no note named '{cut(name, 80)}' is in scope; memory_map lists what is")
    if len({entry.id for entry in near}) > 1:
        raise ToolError(f"'{cut(name, 80)}' could be {', '.join(entry.name for entry in near[:6])}; name one")
    return near[0]


def _text(library: Library, entry: Entry) -> str:
    try:
        return library.notes.text(entry)
    except OSError as error:
        raise ToolError(f"{entry.name} can't be read any more; see memory_map") from error


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
    """Say where a passage is from."""
    origin = "" if entry.origin == "own" else f", {entry.origin}"
    state = ", not yet summarised" if entry.pending else ""
    name = f"{entry.id}#{section or _flat(entry.title)}"
    return f"{name} ({entry.created_at[:10]}, {entry.outcome or 'unknown'}{origin}{state})"


def _outline(entry: Entry, text: str) -> str:
    lines = [
        f"{part.start}-{part.end}  {'  ' * (part.level - 1)}{cut(part.title, 100, '…')}" for part in sections(text)
    ]
    return _bounded([f"{entry.name}, {len(text.splitlines())} lines", *lines], "headings", "read a range of lines")


def _line(entry: Entry) -> str:
    waiting = ", not yet summarised" if entry.pending else ""
    origin = "" if entry.origin == "own" else f" ({entry.origin})"
    return f"{entry.name}: {_flat(entry.title)} [{'; '.join(entry.topics[:5])[:120]}]{origin}{waiting}"


def _flat(title: str) -> str:
    return cut(" ".join(title.split()), 90, "…")


def _conversations(entries: Sequence[Entry], tags: dict[str, str]) -> list[str]:
    grouped = dict[str, list[Entry]]()
    for entry in entries:
        grouped.setdefault(entry.session_id, []).append(entry)
    lines = list[str]()
    for session, notes in grouped.items():
        days = sorted(note.created_at[:10] for note in notes)
        span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
        topics = list(dict.fromkeys(topic for note in notes for topic in note.topics[:2]))[:8]
        turns = "1 turn" if len(notes) == 1 else f"{len(notes)} turns"
        lines.append(f"{tags[session]}/ ({turns}, {span}): {'; '.join(topics)[:200]}")
    return lines


def _tags(ids: set[str]) -> dict[str, str]:
    """Shorten each session id to its shortest unique prefix of at least eight characters."""
    ordered = sorted(ids)
    tags = dict[str, str]()
    for place, identity in enumerate(ordered):
        near = [ordered[other] for other in (place - 1, place + 1) if 0 <= other < len(ordered)]
        size = 8
        while size < len(identity) and any(each.startswith(identity[:size]) for each in near):
            size += 1
        tags[identity] = identity[:size] or "unnamed"
    return tags


def _chosen(wanted: str, tags: dict[str, str]) -> str:
    near = [session for session, tag in tags.items() if session.startswith(wanted) or tag == wanted]
    near = [session for session in near if wanted in (session, tags[session])] or near
    if not near:
        raise ToolError(f"no conversation '{cut(wanted, 80)}' is in scope; memory_map without a folder lists them")
    if len(near) > 1:
        raise ToolError(f"'{cut(wanted, 80)}' could be {', '.join(tags[session] for session in near[:8])}; name one")
    return near[0]


def _bounded(lines: Sequence[str], what: str, narrow: str) -> str:
    kept, room = list[str](), MAP
    for line in lines:
        room -= max(len(_PIECE.findall(line)), len(line.encode()) // 3) + 1
        if room < 0:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return "\n".join([*kept, *([f"… {left} more {what}; {narrow}"] if left else [])])
