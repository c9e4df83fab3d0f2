"""What is typed at the terminal, read as Textual does; a paste is one piece, also where the terminal doesn't mark it.

What the terminal says of its background is taken out: Textual would read it as keys.
"""

import re
import time
from collections.abc import Callable, Generator, Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.constants import ESCAPE_DELAY
from textual.events import CursorPosition, Key, Paste
from textual.keys import Keys
from textual.message import Message

from ogcode.tui.screen.sequences import plainer, with_alt

_TOLD = re.compile(r"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_BEGUN = re.compile(r"\x1b\]1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?\Z")
_COLOUR = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})", re.IGNORECASE)
_POSITION = re.compile(r"\x1b\[(\d+);(\d+)R")
_CUT = re.compile(r"\x1b(?:\[\d*(?:;\d*)?)?\Z")
"""The Escape key, or the beginning of a mark or a position of which the rest has not come."""
_ALT_LETTER = re.compile(r"\x1b[a-z0-9]")
"""No longer sequence begins so."""
_BURST = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]{32}")
"""What comes at once and is hardly typed."""
_LONG = 256
"""Characters of one line that are pasted and not typed."""
_QUIET = ESCAPE_DELAY / 2
"""Seconds after which what follows is another thing: what belongs together comes at once, but for slow lines."""
_MARKS = (BRACKETED_PASTE_START, BRACKETED_PASTE_END)


class Background(Message):
    """What the terminal's background is, as it was asked for."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


class QuickParser(XTermParser):
    """Takes out pastes before Textual's own parser looks at each letter."""

    def __init__(self, debug: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._pieces: list[str] | None = None
        """Of the paste that is under way, what has come."""
        self._behind = False
        """What comes is right behind a paste: what seemed its end may have been in its text."""
        self._held = ""
        """What came at once, or right behind a paste: whether it was typed or pasted, what follows will tell."""
        self._cut = ""
        self._heard = float("-inf")
        self._begun = ""
        """Of what the terminal says of its background, what has come."""

    @property
    def due(self) -> float | None:
        """Seconds until `tick` has something to say; None where it has not."""
        times = [self._heard + _QUIET] if self._held or self._cut else []
        times += [] if self._timeout_time is None else [self._timeout_time]
        return max(0.0, min(times) - self._clock()) if times else None

    def tick(self) -> Iterable[Message]:
        if self._clock() >= self._heard + _QUIET:
            yield from self._let_go()
        yield from super().tick()

    def feed(self, data: str) -> Iterable[Message]:
        if not data or self._clock() >= self._heard + _QUIET:
            yield from self._let_go()
        if not data:
            yield from super().feed(data)
        before, data, self._cut = self._cut, self._cut + data, ""
        for row, column in _POSITION.findall(data):
            yield CursorPosition(int(column) - 1, int(row) - 1)
        data = _POSITION.sub("", data)
        if data == before:  # nothing was typed
            self._cut = before
            return
        if data and "\x1b" not in data:
            self._heard = self._clock()
        if cut := _CUT.search(data):
            self._cut, data, self._heard = cut[0], data[: cut.start()], self._clock()
        while data:
            data = yield from self._read(data) if self._pieces is None else self._paste(data)

    def _paste(self, data: str) -> Generator[Message, None, str]:
        """Add to the paste that is under way; give what lies behind its end."""
        text, ends, rest = data.partition(BRACKETED_PASTE_END)
        self._pieces = [*(self._pieces or ()), text]
        if ends:
            yield _pasted("".join(self._pieces))
            self._pieces, self._behind, self._heard = None, True, self._clock()
        return rest

    def _read(self, data: str) -> Generator[Message, None, str]:
        """Read what is no marked paste, or hold it back; give what lies behind the next mark."""
        data, self._held = self._held + data, ""
        text, mark, rest = min((data.partition(each) for each in _MARKS), key=lambda parts: len(parts[0]))
        held = self._behind or _BURST.search(text)
        match mark:
            case "" if held:
                self._held = text
            case "":
                yield from self._typed(text)
            case _ if mark == BRACKETED_PASTE_START:
                yield from self._settled(text)
                self._pieces, self._behind = [], False
            case _:
                yield from [_pasted(text)] if held else self._typed(text)
                self._behind, self._heard = True, self._clock()
        return rest

    def _let_go(self) -> Iterable[Message]:
        """Nothing followed what was held back."""
        text, self._held, self._cut, self._behind = self._held + self._cut, "", "", False
        if self._pieces is not None:
            self._pieces.append(text)
        elif text:
            yield from self._settled(text)

    def _settled(self, text: str) -> Iterable[Message]:
        """Read what was held back: several lines at once were pasted, and so was a long one, up to its Enter."""
        body = text.removesuffix("\n").removesuffix("\r")
        ends = text[len(body) :][:1]
        if not _BURST.search(text):
            yield from self._typed(text)
        elif "\r" in body or "\n" in body:
            yield _pasted(text)
        elif len(body) >= _LONG:
            yield _pasted(body)
            yield from self._typed(ends)
        else:
            yield from self._typed(body + ends)

    def _typed(self, text: str) -> Iterable[Message]:
        if "\x1b" in text or self._begun:
            text = with_alt((yield from self._told(text)))
        if text:
            yield from super().feed(text)
        if text.endswith("\x1b"):  # it was waited for what might follow
            self._timeout_time = 0.0
            yield from super().tick()

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

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        ignored, read = [Key(Keys.Ignore, sequence)], super()._sequence_to_key_events
        try:
            plain = plainer(sequence)
            keys = [*read(plain, alt)] if plain else ignored
        except (ValueError, OverflowError):  # it is no key
            keys = ignored
        yield from keys or (read(sequence[1], alt=True) if _ALT_LETTER.fullmatch(sequence) else ())


def _pasted(text: str) -> Paste:
    return Paste(text.replace("\0", ""))


def _is_dark(*parts: str) -> bool:
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)
