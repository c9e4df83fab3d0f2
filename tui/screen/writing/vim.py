"""The keys of vi: a normal and an insert mode, motions with counts, and what d, c and y do to them."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from textual.document._document import Location
from textual.widgets import TextArea

_WORDS = re.compile(r"\w+|[^\w\s]+")
_MOST = 9_999
_MOTIONS = frozenset("h j k l w b e 0 ^ $ gg G".split())
_WHOLE_LINES = frozenset(("j", "k", "gg", "G"))
_INSERTS = frozenset("iaIAoO")
_SHORT = {"D": ("d", "$"), "C": ("c", "$"), "x": ("d", "l")}
"""Keys that are an operator with its motion."""


@dataclass(frozen=True, slots=True)
class Register:
    text: str = ""
    lines: bool = False
    """It is whole lines, and is put back as such."""


class Vim:
    def __init__(self, area: TextArea) -> None:
        self._area = area
        self.mode: Literal["insert", "normal"] = "insert"
        self._count = ""
        self._operator = ""
        self._factor = 1
        """What was counted before the operator."""
        self._begun = ""
        """A `g` that waits for its second."""
        self._register = Register()

    def press(self, key: str, character: str | None) -> bool:
        """Do what a key means; False leaves it to others."""
        if self.mode == "insert":
            if key != "escape":
                return False
            self._go(max(0, self._at - 1) if self._area.cursor_location[1] else self._at)
            self.mode = "normal"
            return True
        if key == "escape":
            waiting = bool(self._count or self._operator or self._begun)
            self._forget()
            return waiting
        if character is None or not character.isprintable():
            return False
        self._type(character)
        if self.mode == "normal":
            self._stay_on_text()
        return True

    def insert(self) -> None:
        """Begin anew, as a message does."""
        self.mode = "insert"
        self._forget()

    def _forget(self) -> None:
        self._count = self._operator = self._begun = ""
        self._factor = 1

    def _type(self, letter: str) -> None:
        if letter.isascii() and letter.isdigit() and (letter != "0" or self._count):
            self._count = f"{self._count}{letter}"[:4]
            return
        if letter == "g" and not self._begun:
            self._begun = "g"
            return
        word, self._begun = self._begun + letter, ""
        counted, operator = bool(self._count) or self._factor > 1, self._operator
        times = min(int(self._count or 1) * self._factor, _MOST)
        self._count, self._factor = "", 1
        if word in ("d", "c", "y") and operator != word:
            self._operator, self._factor = (word, times) if not operator else ("", 1)
            return
        self._operator = ""
        if operator:
            self._operate(operator, word, times, counted=counted)
        elif word in _SHORT:
            self._operate(*_SHORT[word], times, counted=counted)
        elif word in _MOTIONS:
            self._go(self._target(word, times, counted=counted))
        elif word in _INSERTS:
            self._begin(word)
        elif word in ("p", "P"):
            self._put(word, times)
        elif word == "u":
            for _ in range(times):
                self._area.undo()

    @property
    def _text(self) -> str:
        return self._area.text

    @property
    def _at(self) -> int:
        row, column = self._area.cursor_location
        return self._starts[row] + column

    @property
    def _starts(self) -> list[int]:
        """Where each line begins."""
        starts = [0]
        for line in self._area.document.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts[:-1]

    def _place(self, offset: int) -> Location:
        row = max(row for row, start in enumerate(self._starts) if start <= offset)
        return row, offset - self._starts[row]

    def _go(self, offset: int) -> None:
        self._area.move_cursor(self._place(offset))

    def _stay_on_text(self) -> None:
        row, column = self._area.cursor_location
        if column and column >= (length := len(self._area.document[row])):
            self._area.move_cursor((row, max(0, length - 1)))

    def _line(self, row: int) -> tuple[int, int]:
        """Tell where a line begins and ends."""
        start = self._starts[row]
        return start, start + len(self._area.document[row])

    def _target(self, motion: str, times: int, *, counted: bool) -> int:
        at, text = self._at, self._text
        row, column = self._area.cursor_location
        last = self._area.document.line_count - 1
        start, end = self._line(row)
        match motion:
            case "h":
                return max(start, at - times)
            case "l":
                return min(end, at + times)
            case "j" | "k":
                start, end = self._line(min(max(0, row + (times if motion == "j" else -times)), last))
                return min(end, start + column)
            case "w":
                begins = (found.start() for found in _WORDS.finditer(text, at) if found.start() > at)
                return next(islice(begins, times - 1, None), len(text))
            case "b":
                begins_before = [found.start() for found in _WORDS.finditer(text, 0, at)]
                return begins_before[-times] if times <= len(begins_before) else 0
            case "e":
                ends = (found.end() - 1 for found in _WORDS.finditer(text, at) if found.end() - 1 > at)
                return next(islice(ends, times - 1, None), max(0, len(text) - 1))
            case "^":
                line = text[start:end]
                return start + len(line) - len(line.lstrip())
            case "$":
                return self._line(min(last, row + times - 1))[1]
            case "gg" | "G":
                return self._line(min(last, times - 1) if counted or motion == "gg" else last)[0]
        return start

    def _operate(self, operator: str, motion: str, times: int, *, counted: bool) -> None:
        row = self._area.cursor_location[0]
        if motion == operator:
            self._on_lines(operator, row, row + times - 1)
        elif motion in _WHOLE_LINES:
            rows = sorted((row, self._place(self._target(motion, times, counted=counted))[0]))
            self._on_lines(operator, rows[0], rows[1])
        elif motion in _MOTIONS:
            at = self._at
            on_word = self._text[at : at + 1].strip() != ""
            motion = "e" if (operator, motion) == ("c", "w") and on_word else motion
            target = self._target(motion, times, counted=counted)
            if motion == "w":  # the last word of a line does not take the line's end with it
                while "\n" in self._text[at:target] and not self._text[at:target].rpartition("\n")[2].strip():
                    target = at + self._text[at:target].rfind("\n")
            start, end = sorted((at, target + (motion == "e")))
            self._on_text(operator, start, end)

    def _on_text(self, operator: str, start: int, end: int) -> None:
        self._register = Register(self._text[start:end])
        if operator != "y":
            self._area.delete(self._place(start), self._place(end), maintain_selection_offset=False)
        self._go(start)
        if operator == "c":
            self.mode = "insert"

    def _on_lines(self, operator: str, first: int, last: int) -> None:
        count = self._area.document.line_count
        last = min(last, count - 1)
        start, end = self._line(first)[0], self._line(last)[1]
        self._register = Register(self._text[start:end], lines=True)
        if operator == "c":
            self._area.delete(self._place(start), self._place(end), maintain_selection_offset=False)
            self._go(start)
            self.mode = "insert"
        elif operator == "d":
            to, since = (end + 1, start) if last + 1 < count else (end, max(0, start - 1))
            self._area.delete(self._place(since), self._place(to), maintain_selection_offset=False)
            self._go(self._line(min(first, self._area.document.line_count - 1))[0])
        elif first < self._area.cursor_location[0]:
            self._go(start)

    def _begin(self, letter: str) -> None:
        row = self._area.cursor_location[0]
        start, end = self._line(row)
        match letter:
            case "a":
                self._go(min(end, self._at + 1))
            case "I":
                self._go(self._target("^", 1, counted=False))
            case "A":
                self._go(end)
            case "o":
                self._area.insert("\n", self._place(end), maintain_selection_offset=False)
                self._area.move_cursor((row + 1, 0))
            case "O":
                self._area.insert("\n", self._place(start), maintain_selection_offset=False)
                self._area.move_cursor((row, 0))
        self.mode = "insert"

    def _put(self, letter: str, times: int) -> None:
        register, row = self._register, self._area.cursor_location[0]
        if not register.text and not register.lines:
            return
        start, end = self._line(row)
        if register.lines:
            below = letter == "p"
            text = f"\n{register.text}" * times if below else f"{register.text}\n" * times
            self._area.insert(text, self._place(end if below else start), maintain_selection_offset=False)
            self._area.move_cursor((row + below, 0))
            return
        at = min(end, self._at + 1) if letter == "p" else self._at
        text = register.text * times
        self._area.insert(text, self._place(at), maintain_selection_offset=False)
        self._go(at + len(text) - 1)
