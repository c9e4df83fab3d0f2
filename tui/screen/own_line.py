"""The status line that a command of the user's writes: when it is asked, and what of its colours is shown."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.content import Content

from ogcode.agent.clean import clean
from ogcode.tui.desks.desk import NotDone

if TYPE_CHECKING:
    from ogcode.tui.desks.desk import Status
    from ogcode.tui.screen.app import Ogcode

PAUSE = 0.3
"""Seconds from one question to the next, at least."""

_STYLED = re.compile(r"\x1b\[([\d;:]*)m")
_COLOURS = "black red green yellow blue magenta cyan white".split()
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


class OwnLine:
    """Asks the command whenever something has changed."""

    def __init__(self, app: "Ogcode") -> None:
        self._app = app
        self._asked: Status | None = None
        self._busy = False
        self._again = False
        self._told = ""

    def look(self) -> None:
        """Ask, where there is a command and anything it could tell is new."""
        if not self._app.desk.settings.has_own_line:
            return
        status = replace(self._app.desk.status(), own="")
        if status == self._asked:
            return
        self._asked = status
        if self._busy:
            self._again = True
        else:
            self._busy = True
            self._app.run_worker(self._ask(), group="own line", exit_on_error=False)

    async def _ask(self) -> None:
        app, self._again = self._app, True
        try:
            while self._again:
                self._again = False
                try:
                    await app.desk.settings.own_line()
                except NotDone as error:
                    if str(error) != self._told:
                        self._told = str(error)
                        app.notify(f"{error}; ogcode's own line is shown", severity="warning", markup=False)
                app.show_status()
                await asyncio.sleep(PAUSE)
        finally:
            self._busy = False


def coloured(line: str) -> Content:
    """Give a line in its ANSI colours; of other sequences nothing acts or is shown."""
    return Content.assemble(*_pieces(line))


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    styles, colour, ground, at = dict[str, None](), "", "", 0
    for found in [*_STYLED.finditer(line), None]:
        text = " ".join(clean(line[at : found.start() if found else len(line)], prose=True).split("\n"))
        if text:
            yield text, " ".join([*styles, *([colour] if colour else []), *([f"on {ground}"] if ground else [])])
        if not found:
            return
        at, codes = found.end(), [int(code) for code in re.split("[;:]", found[1]) if code] or [0]
        while codes:
            match codes:
                case [0, *codes]:
                    styles, colour, ground = {}, "", ""
                case [(38 | 48) as which, 5, number, *codes]:
                    colour, ground = (_indexed(number), ground) if which == 38 else (colour, _indexed(number))
                case [(38 | 48) as which, 2, red, green, blue, *codes]:
                    tone = f"#{red & 255:02x}{green & 255:02x}{blue & 255:02x}"
                    colour, ground = (tone, ground) if which == 38 else (colour, tone)
                case [code, *codes]:
                    if code in _STYLES:
                        styles[_STYLES[code]] = None
                    for name in _OFF.get(code, ()):
                        styles.pop(name, None)
                    if 30 <= code <= 37 or 90 <= code <= 97:
                        colour = _indexed(code - 30 if code < 90 else code - 82)
                    elif 40 <= code <= 47 or 100 <= code <= 107:
                        ground = _indexed(code - 40 if code < 100 else code - 92)
                    elif code == 39:
                        colour = ""
                    elif code == 49:
                        ground = ""


def _indexed(number: int) -> str:
    """Name one of the 256 colours."""
    number &= 255
    if number < 16:
        return f"ansi_{'bright_' if number > 7 else ''}{_COLOURS[number % 8]}"
    if number > 231:
        level = 8 + (number - 232) * 10
        return f"#{level:02x}{level:02x}{level:02x}"
    number -= 16
    return "#" + "".join(f"{55 + each * 40 if each else 0:02x}" for each in (number // 36, number // 6 % 6, number % 6))
