"""Looks for the files that a half-typed `@path` may mean, never on the way of the keys."""

import asyncio
from collections.abc import Callable

from textual.widget import Widget

from ogcode.tui.desks.prompt import Found, PromptDesk

_AGAIN = 0.2
"""Seconds until a list that is still being made is asked again."""


class Seeking:
    def __init__(self, widget: Widget, desk: PromptDesk, show: Callable[[str, Found], None]) -> None:
        self._widget = widget
        self._desk = desk
        self._show = show
        self._wanted: str | None = None
        self._busy = False

    def want(self, word: str | None) -> None:
        """Look for this from now on; None gives up."""
        if word == self._wanted:
            return
        self._wanted = word
        if word is not None and not self._busy:
            self._busy = True
            self._widget.run_worker(self._seek(), group="seek", exit_on_error=False)

    async def _seek(self) -> None:
        try:
            while (word := self._wanted) is not None:
                found = await asyncio.to_thread(self._desk.find, word, lambda: self._wanted != word)
                if self._wanted != word:
                    continue
                self._show(word, found)
                if found.whole:
                    break
                await asyncio.sleep(_AGAIN)
        finally:
            self._busy = False
