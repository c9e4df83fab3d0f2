"""A difference as a person reads it: side by side where there is room, numbered, coloured by language."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from textual.content import Content
from textual.widgets import Static

from ogcode.agent.clean import clean
from ogcode.tui.screen.syntax import coloured

WIDE = 120
"""Columns from which on the two sides stand beside each other."""

_MOST_ROWS = 2_000
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TONES = {"-": "$error", "+": "$success"}

Kind = Literal[" ", "-", "+", "@", "told"]


@dataclass(frozen=True, slots=True)
class Row:
    kind: Kind
    text: str
    number: int | None = None
    """Of the line in its file: in the old one where it goes, else in the new one."""
    old: int | None = None
    """Of a line that stays, in the old file."""


def is_diff(text: str) -> bool:
    return text.startswith("--- ") or "\n--- " in text[:2_000]


def rows_of(text: str) -> list[Row]:
    """Read a unified diff; what is no part of a hunk is told as it stands."""
    rows = list[Row]()
    old = new = 0
    left_old = left_new = 0
    loose = False
    for line in clean(text).rstrip("\n").split("\n"):
        kind, rest = line[:1], line[1:]
        inside = loose or left_old > 0 or left_new > 0
        if inside and kind == "-" and (loose or left_old > 0):
            rows.append(Row("-", rest, None if loose else old))
            old, left_old = old + 1, left_old - 1
        elif inside and kind == "+" and (loose or left_new > 0):
            rows.append(Row("+", rest, None if loose else new))
            new, left_new = new + 1, left_new - 1
        elif inside and kind in (" ", "") and not loose:
            rows.append(Row(" ", rest, new, old))
            old, new, left_old, left_new = old + 1, new + 1, left_old - 1, left_new - 1
        elif found := _HUNK.match(line):
            old, new = int(found[1]), int(found[3])
            left_old, left_new = int(found[2] or 1), int(found[4] or 1)
            loose = False
            rows.append(Row("@", line))
        else:
            loose = line.startswith("@@ ")  # the beginnings of what is too long to be compared
            rows.append(Row("@" if loose else "told", line))
    return rows


def painted(text: str, limit: int = _MOST_ROWS) -> Content:
    """Show a difference as it is written, its lines coloured; any other text stays as it is."""
    if not is_diff(text) and not any(line.startswith("@@ ") for line in text.split("\n")):
        lines = clean(text).rstrip("\n").split("\n")
        shown = [Content(line) for line in lines[:limit]]
        return Content("\n").join([*shown, *_left(len(lines) - limit)])
    rows = rows_of(text)
    tones = {**_TONES, "@": "$secondary", "told": "bold"}
    sign = {"-": "-", "+": "+", " ": " "}
    shown = [Content.styled(f"{sign.get(row.kind, '')}{row.text}", tones.get(row.kind, "")) for row in rows[:limit]]
    return Content("\n").join([*shown, *_left(len(rows) - limit)])


def laid_out(rows: Sequence[Row], texts: Sequence[Content], width: int) -> Content:
    """Lay rows out for a width; `texts` are theirs, in colour. No character is cut off: long lines go on below."""
    numbers = [number for row in rows for number in (row.number, row.old) if number is not None]
    digits = len(str(max(numbers, default=0)))
    shown = list(_named_once(zip(rows[:_MOST_ROWS], texts, strict=False)))
    lines = _beside(shown, width, digits) if width >= WIDE else _below(shown, width, digits)
    return Content("\n").join([*lines, *_left(len(rows) - _MOST_ROWS)])


def _named_once(shown: Iterable[tuple[Row, Content]]) -> Iterator[tuple[Row, Content]]:
    """Let the two lines that name a file be one."""
    before = ""
    for row, text in shown:
        name = row.text[4:] if row.kind == "told" and row.text.startswith(("--- ", "+++ ")) else ""
        if row.text.startswith("--- ") and name:
            before = name
        elif name:
            told = {"/dev/null": f"{name} (new)", name: name}.get(before, f"{before} becomes {name}")
            yield Row("told", f"+++ {told}"), text
        else:
            yield row, text


def _below(shown: Sequence[tuple[Row, Content]], width: int, digits: int) -> Iterator[Content]:
    for row, text in shown:
        yield from _told(row) or _cell(row.kind, row.number, text, width, digits)


def _beside(shown: Sequence[tuple[Row, Content]], width: int, digits: int) -> Iterator[Content]:
    half = (width - 3) // 2
    gone, come = list[list[Content]](), list[list[Content]]()

    def flush() -> Iterator[Content]:
        for left, right in zip_longest(gone, come, fillvalue=list[Content]()):
            yield from _pairs(left, right, half)
        gone.clear()
        come.clear()

    for row, text in shown:
        if row.kind == "-":
            if come:
                yield from flush()
            gone.append(_cell("-", row.number, text, half, digits))
        elif row.kind == "+":
            come.append(_cell("+", row.number, text, half, digits))
        else:
            yield from flush()
            yield from _told(row) or _pairs(
                _cell(" ", row.old, text, half, digits), _cell(" ", row.number, text, half, digits), half
            )
    yield from flush()


def _pairs(left: Sequence[Content], right: Sequence[Content], half: int) -> Iterator[Content]:
    bar = Content.styled(" │ ", "dim")
    for one, other in zip_longest(left, right, fillvalue=Content("")):
        yield one + Content(" " * max(0, half - one.cell_length)) + bar + other


def _told(row: Row) -> list[Content]:
    match row.kind:
        case "@":
            return [Content.styled(row.text, "$secondary")]
        case "told":
            named = row.text.startswith("+++ ")
            return [Content.styled(row.text[4:] if named else row.text, "bold" if named else "dim")]
        case _:
            return []


def _cell(kind: Kind, number: int | None, text: Content, width: int, digits: int) -> list[Content]:
    tone = _TONES.get(kind, "dim")
    gutter = Content.assemble((f"{'' if number is None else number:>{digits}} ", tone if kind != " " else "dim"))
    gutter += Content.styled(f"{kind} ", f"bold {tone}" if kind != " " else "")
    shown = Content.styled(text.plain, "dim") if kind == " " else text  # what changes is to be seen at a glance
    first, *rest = shown.fold(max(width - digits - 3, 8)) or [Content("")]
    return [gutter + first, *(Content(" " * (digits + 3)) + each for each in rest)]


def _left(number: int) -> list[Content]:
    return [Content.styled(f"… {number:,} more lines", "dim")] if number > 0 else []


class Diff(Static):
    """Shows a difference, or any other text; the colours of its language come a moment later."""

    def __init__(self, text: str = "", *, classes: str | None = None) -> None:
        super().__init__(markup=False, classes=classes)
        self._text = ""
        self._rows: list[Row] = []
        self._texts: list[Content] = []
        self._first = text

    def on_mount(self) -> None:
        if self._first:
            self.update(self.of(self._first))

    def on_resize(self) -> None:
        if self._rows:
            self.update(self._drawn())

    def of(self, text: str) -> Content:
        """Lay a text out for the width that there is now."""
        if not is_diff(text):
            return painted(text)
        if text != self._text:
            self._text, self._rows = text, rows_of(text)
            self._texts = [_plain(row) for row in self._rows]
            self.run_worker(self._colour(text), group="colour", exclusive=True, exit_on_error=False)
        return self._drawn()

    async def _colour(self, text: str) -> None:
        rows = self._rows
        found = await asyncio.to_thread(_in_colour, rows)
        if found and text == self._text:
            self._texts = found
            self.update(self._drawn())

    def _drawn(self) -> Content:
        return laid_out(self._rows, self._texts, self.content_size.width or self.app.size.width - 4)


def _plain(row: Row) -> Content:
    return Content.styled(row.text, _TONES.get(row.kind, ""))


def _in_colour(rows: Sequence[Row]) -> list[Content]:
    """Give the texts of rows in the colours of their language; nothing where that is not known."""
    name = next((row.text[4:] for row in rows if row.kind == "told" and row.text.startswith("+++ ")), "")
    if name == "/dev/null" or len(rows) > _MOST_ROWS:
        return []
    before = coloured([row.text for row in rows if row.kind in " -"], name)
    after = coloured([row.text for row in rows if row.kind in " +"], name)
    if before is None or after is None:
        return []
    old, new = iter(before), iter(after)
    texts = list[Content]()
    for row in rows:
        match row.kind:
            case " ":
                next(old)
                texts.append(next(new))
            case "-":
                texts.append(next(old))
            case "+":
                texts.append(next(new))
            case _:
                texts.append(Content(row.text))
    return texts
