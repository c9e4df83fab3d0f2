"""Headings and sections of a markdown text."""

import re
from dataclasses import dataclass

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    level: int
    start: int
    """First line, from 1: the heading itself."""
    end: int
    """Last line: before the next heading of the same or a higher level."""


def sections(text: str) -> tuple[Section, ...]:
    """List the sections of a text, in order; frontmatter and fenced code hold no headings."""
    lines = text.split("\n")
    found = list[tuple[str, int, int]]()
    fence = ""
    for number, line in enumerate(lines[head_lines(lines) :], head_lines(lines) + 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            found.append(((heading[2] or "").strip(), len(heading[1]), number))
    last = len(lines) - (1 if lines[-1] == "" else 0)
    return tuple(
        Section(title, level, start, next((other - 1 for _, rank, other in found[place + 1 :] if rank <= level), last))
        for place, (title, level, start) in enumerate(found)
    )


def head_lines(lines: list[str]) -> int:
    """Count the lines of a frontmatter block at the top, both fences included."""
    if not lines or lines[0].lstrip("\ufeff").rstrip() != "---":
        return 0
    return next((number + 1 for number, line in enumerate(lines[1:200], 1) if line.rstrip() in ("---", "...")), 0)


def cut(text: str, limit: int, mark: str = " …") -> str:
    """Cut a text to a number of characters, at a word where there is one near."""
    if len(text) <= limit:
        return text
    head = text[: max(0, limit - len(mark))]
    space = head.rfind(" ", int(limit * 0.8))
    return (head[:space] if space > 0 else head).rstrip() + mark


def head_and_tail(text: str, limit: int) -> str:
    """Cut the middle out of a text, and say how much that was."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head].rstrip()}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:].lstrip()}"
