"""The keys of readline that take text away and bring it back."""

import re
from collections.abc import Callable, Mapping

from textual.document._document import Location
from textual.widgets import TextArea

_LEFT_WORD = re.compile(r"\w+\W*\Z|\W+\Z")
_LEFT_SHELL_WORD = re.compile(r"\S+\s*\Z|\s+\Z")
_RIGHT_WORD = re.compile(r"\W*\w+|\W+")


class Kills:
    """What was taken away last; pieces that were taken one after the other are one."""

    def __init__(self, area: TextArea) -> None:
        self._area = area
        self._text = ""
        self._last: tuple[Location, str] | None = None
        """Where the cursor stood and what the text was when something was taken."""

    def press(self, key: str) -> bool:
        """Do what a key means; False leaves it to others."""
        if key == "ctrl+y":
            self._area.replace(self._text, *self._area.selection, maintain_selection_offset=False)
            return True
        if place := _WORD_MOVES.get(key):
            self._area.move_cursor(place(self._area))
            return True
        if key not in _KILLS:
            return False
        self._take(_KILLS[key](self._area))
        return True

    def _take(self, other: Location) -> None:
        """Take what lies between the cursor and another place; a selection goes before."""
        area = self._area
        here = area.cursor_location
        start, end = sorted(area.selection if area.selected_text else (here, other))
        goes_on = self._last == (here, area.text)
        taken = area.delete(start, end, maintain_selection_offset=False)
        if not taken.replaced_text:
            return
        if not goes_on:
            self._text = taken.replaced_text
        else:
            self._text = taken.replaced_text + self._text if start < here else self._text + taken.replaced_text
        area.move_cursor(taken.end_location)
        self._last = taken.end_location, area.text


def word_left(area: TextArea, word: re.Pattern[str] = _LEFT_WORD) -> Location:
    row, column = area.cursor_location
    if not column:
        return _left(area)
    found = word.search(area.document[row][:column])
    return row, found.start() if found else 0


def word_right(area: TextArea) -> Location:
    row, column = area.cursor_location
    line = area.document[row]
    if column == len(line):
        return _right(area)
    found = _RIGHT_WORD.match(line, column)
    return row, found.end() if found else len(line)


def _left(area: TextArea) -> Location:
    row, column = area.cursor_location
    if column:
        return row, column - 1
    return (row - 1, len(area.document[row - 1])) if row else (0, 0)


def _right(area: TextArea) -> Location:
    row, column = area.cursor_location
    if column < len(area.document[row]):
        return row, column + 1
    return (row + 1, 0) if row + 1 < area.document.line_count else (row, column)


def _line_start(area: TextArea) -> Location:
    row, column = area.cursor_location
    return (row, 0) if column else _left(area)


def _line_end(area: TextArea) -> Location:
    row, column = area.cursor_location
    end = len(area.document[row])
    return (row, end) if column < end else _right(area)


_WORD_MOVES: Mapping[str, Callable[[TextArea], Location]] = {
    "alt+b": word_left,
    "alt+f": word_right,
    "alt+left": word_left,
    "alt+right": word_right,
    "ctrl+left": word_left,
    "ctrl+right": word_right,
}
_KILLS: Mapping[str, Callable[[TextArea], Location]] = {
    "ctrl+k": _line_end,
    "ctrl+u": _line_start,
    "ctrl+w": lambda area: word_left(area, _LEFT_SHELL_WORD),
    "alt+backspace": word_left,
    "ctrl+backspace": word_left,
    "alt+d": word_right,
    "alt+delete": word_right,
}
