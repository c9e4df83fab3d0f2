"""Headings and sections of a markdown text."""

import re
from dataclasses import dataclass

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CODE = 3
"""Lines of a block of code that `folded` keeps."""

_TAKEN_FOR_OURS = re.compile(r"[ \t]{0,3}(?:#{1,6}(?:\s|$)|---\s*$|===+\s*$|Topics:)")


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
        before, fence = fence, _fence_after(line, fence)
        if not before and not fence and (heading := _HEADING.match(line)):
            found.append((_title(line[heading.end() :]), len(heading[1]), number))
    last = len(lines) - (1 if lines[-1] == "" else 0)
    parts = list[Section]()
    starts = dict[int, int]()  # where the next heading of each level begins, seen from the end
    for title, level, start in reversed(found):
        end = min((starts[rank] for rank in starts if rank <= level), default=last + 1) - 1
        parts.append(Section(title, level, start, end))
        starts[level] = start
    return tuple(reversed(parts))


def quoted(text: str) -> str:
    """Keep somebody's text from making headings, frontmatter or topics of the note's own, or leaving code open."""
    lines, fence = list[str](), ""
    for line in text.split("\n"):
        lines.append(f"\\{line}" if not fence and _TAKEN_FOR_OURS.match(line) else line)
        fence = _fence_after(line, fence)
    return "\n".join([*lines, *([fence] if fence else [])])


def closed(text: str) -> str:
    """Close a code fence that a text leaves open: it would hide the sections that follow."""
    fence = ""
    for line in text.split("\n"):
        fence = _fence_after(line, fence)
    return f"{text}\n{fence}" if fence else text


def _fence_after(line: str, fence: str) -> str:
    """Tell which fence is open after a line, given the one before it."""
    mark = _FENCE.match(line)
    if not fence:
        return mark[1] if mark else ""
    return "" if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]) else fence


def _title(rest: str) -> str:
    """Take off the closing `#` of a heading, where a space stands before them."""
    title = rest.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def head_lines(lines: list[str]) -> int:
    """Count the lines of a frontmatter block at the top, both fences included."""
    if not lines or lines[0].lstrip("\ufeff").rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:200], 2):
        if line[:3] in ("---", "...") and line.rstrip() in ("---", "..."):
            return number
    return 0


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
    return left_out(text[: limit * 2 // 3], text[-limit // 3 :], len(text))


def left_out(head: str, tail: str, size: int) -> str:
    """Put what was kept of a text together, and say how much of it was not."""
    return f"{head.rstrip()}\n[… {size - len(head) - len(tail):,} characters left out …]\n{tail.lstrip()}"


def folded(text: str) -> str:
    """Keep the first lines of each long block of code: a note tells of a change, the files hold it."""
    lines, fence, code = list[str](), "", list[str]()
    for line in text.split("\n"):
        before, fence = fence, _fence_after(line, fence)
        if before and fence:
            code.append(line)
            continue
        lines += code if len(code) <= _CODE + 1 else [*code[:_CODE], f"[… {len(code) - _CODE} more lines of code …]"]
        code.clear()
        lines.append(line)
    return "\n".join([*lines, *code[:_CODE]])
