"""What happens in a turn, handed on a frame at a time: however fast it comes, the screen is drawn no more often."""

import asyncio
from collections.abc import Callable

from textual.widget import Widget

from ogcode.agent.events import Event, Nested, ReasoningDelta, TextDelta

FRAME = 1 / 15
"""Seconds: a frame of text that grows moves all that is above it, so it has its price."""


class Frames:
    def __init__(self, hand_on: Callable[[Event], None]) -> None:
        self._hand_on = hand_on
        self._waiting = list[Event]()
        self._due: asyncio.TimerHandle | None = None
        self._last = float("-inf")

    def add(self, event: Event) -> None:
        """Hand an event on with the next frame; pieces of text become one piece."""
        last = next(
            (place for place in reversed(range(len(self._waiting))) if not isinstance(self._waiting[place], Nested)), -1
        )
        match self._waiting[last:][:1], event:
            case [TextDelta(before)], TextDelta(text):
                self._waiting[last] = TextDelta(before + text)
            case [ReasoningDelta(before)], ReasoningDelta(text):
                self._waiting[last] = ReasoningDelta(before + text)
            case _:
                self._waiting.append(event)
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_at(max(self._last + FRAME, loop.time()), self.flush)

    def flush(self) -> None:
        """Hand on what waits."""
        if self._due:
            self._due.cancel()
            self._due = None
        self._last = asyncio.get_running_loop().time()
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            self._hand_on(event)


def draw_now(widget: Widget) -> bool:
    """Draw what changed in a widget before all else that waits for a frame; tell whether that could be done."""
    app, screen = widget.app, widget.screen
    compositor = screen._compositor
    if app.is_inline or app._batch_count or screen is not app.screen or compositor._dirty_regions:
        return False
    compositor.update_widgets({widget})
    app._display(screen, compositor.render_update(screen_stack=app._background_screens))
    return True
