"""What is typed at the terminal, read as Textual does; a paste is taken in one piece instead of letter by letter.

What the terminal says of its background is taken out: Textual would read it as keys.
"""

import re
from collections.abc import Generator, Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.events import Paste
from textual.message import Message

_OVERLAP = len(BRACKETED_PASTE_END) - 1
_TOLD = re.compile(r"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_BEGUN = re.compile(r"\x1b\]1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?\Z")
_COLOUR = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})", re.IGNORECASE)


class Background(Message):
    """What the terminal's background is, as it was asked for."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


class QuickParser(XTermParser):
    """The parser itself sees where a paste begins and ends, so its state is always the right one."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pieces: list[str] | None = None
        """Of the paste that is under way, what has come; the last one is kept short, as its end may be in two parts."""
        self._begun = ""
        """Of what the terminal says of its background, what has come."""

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
        while data:
            if self._pieces is None:
                before, begins, data = data.partition(BRACKETED_PASTE_START)
                if begins:
                    self._pieces = [""]
                if "\x1b" in before or self._begun:
                    before = yield from self._told(before)
                if before + begins:
                    yield from super().feed(before + begins)
            else:
                data = self._pieces.pop() + data
                text, ends, rest = data.partition(BRACKETED_PASTE_END)
                if not ends:
                    self._pieces += [data[:-_OVERLAP], data[-_OVERLAP:]]
                    return
                pasted, self._pieces, data = "".join([*self._pieces, text]).replace("\0", ""), None, rest
                for message in super().feed(ends):
                    yield Paste(message.text + pasted) if isinstance(message, Paste) else message

    def _told(self, data: str) -> Generator[Message, None, str]:
        """Take out what is said of the background; give the rest. What is cut off is kept until it goes on."""
        data, self._begun = self._begun + data, ""
        for colour in _TOLD.findall(data):
            if found := _COLOUR.fullmatch(colour):
                yield Background(dark=_is_dark(*found.groups()))
        data = _TOLD.sub("", data)
        if begun := _BEGUN.search(data):
            self._begun, data = begun[0], data[: begun.start()]
        return data


def _is_dark(*parts: str) -> bool:
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def read_quickly() -> None:
    """Let Textual's driver use it."""
    linux_driver.XTermParser = QuickParser  # type: ignore[attr-defined]  # it makes its own
