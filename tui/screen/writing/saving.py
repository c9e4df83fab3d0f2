"""The draft, kept off the way of the keys."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from textual.widget import Widget

from ogcode.tui.desks.prompt import PromptDesk

_EVERY = 1.0
"""Seconds between two times that it is written, at least."""


class Saving:
    def __init__(self, widget: Widget, desk: PromptDesk, text: Callable[[], str]) -> None:
        self._widget = widget
        self._desk = desk
        self._text = text
        self._due = False
        self._before = float("-inf")

    def changed(self) -> None:
        """Keep the draft: at once, or a second after the last time."""
        if self._due:
            return
        self._due = True
        wait = self._before + _EVERY - time.monotonic()
        if wait > 0:
            self._widget.set_timer(wait, self._start)
        else:
            self._start()

    def now(self) -> None:
        """Keep it before the app ends."""
        with suppress(OSError):
            self._desk.keep_draft(self._text())

    def _start(self) -> None:
        self._widget.run_worker(self._save(), group="draft", exit_on_error=False)

    async def _save(self) -> None:
        self._due, self._before = False, time.monotonic()
        with suppress(OSError):  # there is no draft to be had after a crash then, and nothing else is lost
            await asyncio.to_thread(self._desk.keep_draft, self._text())
