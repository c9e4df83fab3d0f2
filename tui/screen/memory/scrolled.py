"""What is longer than its place on the screen: what is in sight is drawn, and no other widget is laid out for it."""

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

WHEEL = 3
"""Lines that a turn of the wheel goes."""


class Scrolled(Widget, can_focus=True, inherit_bindings=False):
    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.top = 0
        """The first line in sight."""

    @property
    def tall(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def line(self, number: int, width: int) -> Strip:
        """Draw a line that is there."""
        raise NotImplementedError

    @property
    def room(self) -> int:
        """The width of a line; the last column tells what is in sight."""
        return max(self.size.width - 1, 1)

    def scroll(self, top: int) -> None:
        """Have a line at the top, as far as there are lines below it."""
        top = max(0, min(top, self.tall - self.size.height))
        if top != self.top:
            self.top = top
            self.refresh()

    def into_sight(self, first: int, last: int) -> None:
        """Scroll no further than is needed to see some lines."""
        if first < self.top:
            self.scroll(first)
        elif self.size.height and last >= self.top + self.size.height:
            self.scroll(last + 1 - self.size.height)

    def draw(self, first: int, lines: int = 1) -> None:
        """Draw some lines again."""
        self.refresh(Region(0, first - self.top, self.outer_size.width, lines))

    def on_resize(self) -> None:
        self.top = max(0, min(self.top, self.tall - self.size.height))
        self.refresh()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll(self.top + WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll(self.top - WHEEL)

    def render_line(self, y: int) -> Strip:
        number, width = y + self.top, self.room
        style = self.visual_style.rich_style
        strip = self.line(number, width) if number < self.tall else Strip.blank(width, style)
        strip = strip.extend_cell_length(width, style)
        height = self.size.height
        if self.tall <= height:
            return strip.extend_cell_length(width + 1, style)
        length = max(1, height * height // self.tall)
        first = (height - length) * self.top // max(self.tall - height, 1)
        return Strip([*strip, Segment("▐" if first <= y < first + length else " ", style)], width + 1)
