"""The answer that is being written: one light widget, of which only the last part is laid out again as it grows."""

import re

from textual.content import Content
from textual.geometry import Region, Size

from ogcode.agent.clean import clean
from ogcode.tui.screen.document import laid_out
from ogcode.tui.screen.markdown import Answer, Lines

LONG = 1_000
"""Characters after which what will not change any more is better shown by itself."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_OF_A_LIST = re.compile(r"\s|[-*+>|]|\d+[.)]")
"""How a line begins that may belong to what came before a blank line."""
_DEFINED = re.compile(r"^ {0,3}\[[^\]]+\]:", re.MULTILINE)
_ESCAPE = re.compile("[\x1b\x80-\x9f]")


class LiveAnswer(Lines):
    """Takes pieces of text, in which a line with an escape sequence waits until all of it is there."""

    def __init__(self) -> None:
        super().__init__()
        self._held = ""
        self._text = ""
        """What is shown, made clean."""
        self._settled = 0
        """So much of it will not be laid out again, unless the width changes."""
        self._above = list[Content]()
        """The lines of that."""

    def write(self, piece: str) -> None:
        """Show another piece."""
        self._held += piece
        cut = self._held.rfind("\n") + 1
        if not _ESCAPE.search(self._held, cut):
            cut = len(self._held)
        ready, self._held = self._held[:cut], self._held[cut:]
        self._text += clean(ready, prose=True)
        if self._width:
            height = len(self._lines)
            same = self._lay_out(self._width)
            if (changed := max(height, len(self._lines)) - same) > 0:
                self.refresh(Region(0, same, self._width, changed), layout=len(self._lines) != height)

    def take(self) -> tuple[str, Answer] | None:
        """Give away what will not change any more, once it is long; it is not shown here any longer."""
        if self._settled < LONG and len(self._text) < 4 * LONG:
            return None
        taken, lines, self._text = self._text[: self._settled], self._above, self._text[self._settled :]
        self._settled, self._above = 0, []
        if not taken.strip():
            taken, self._text = _broken(self._text)
            lines = []
        elif _DEFINED.search(taken):
            lines = []  # laid out at once, its links lead somewhere
        self._lay_out(self._width)
        self.refresh(layout=True)
        return taken, Answer(taken, lines, self._width)

    def rest(self) -> str:
        """Give all that is shown here, and what was held back."""
        return self._text + clean(self._held, prose=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's
        if width != self._width:
            self._settled, self._above = 0, []
            self._lay_out(width)
        return len(self._lines)

    def _lay_out(self, width: int) -> int:
        """Lay out what is not settled; tell how many lines stay as they were."""
        if (end := settled(self._text, self._settled)) > self._settled:
            self._above = _joined(self._above, self._laid_out(self._text[self._settled : end], width))
            self._settled = end
        self._width = width
        return self.lay(_joined(self._above, self._laid_out(self._text[self._settled :], width)))

    def _laid_out(self, text: str, width: int) -> list[Content]:
        console, theme = self.app.console, self.app.current_theme
        return laid_out(text.strip("\n"), width, console, dark=theme.dark) if text.strip() else []


def settled(text: str, start: int) -> int:
    """Find the end of the last paragraph, list or block of code that is complete, from such an end on."""
    place, fence, blank, found = start, "", 0, start
    for line in text[start:].splitlines(keepends=True):
        if blank and not fence and line.strip() and not _OF_A_LIST.match(line):
            found = blank
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        place += len(line)
        blank = 0 if fence else place if not line.strip() else 0
    return found


def _broken(text: str) -> tuple[str, str]:
    """Break a block that goes on and on at the end of a line; code goes on as code."""
    end = text.rfind("\n") + 1
    opened = _FENCE.match(text)
    if not opened:
        return text[:end], text[end:]
    return f"{text[:end]}{opened[1]}\n", f"{opened[0].rstrip()}\n{text[end:]}"


def _joined(above: list[Content], below: list[Content]) -> list[Content]:
    return [*above, *([Content("")] if above and below else []), *below]
