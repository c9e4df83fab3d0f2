"""A list of any length, one row of which is chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.visual import Visual

from ogcode.agent.clean import clean
from ogcode.tui.screen.memory.paint import in_one_tone
from ogcode.tui.screen.memory.scrolled import Scrolled

Lay = Callable[[int, int], Sequence[Content]]
"""Lays out the row at a place, in a width: as many lines as rows are tall."""

Moved = Callable[["Rows"], None]
"""Takes it that another row is chosen, at once: the next key may be for what that brings."""


class Rows(Scrolled):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--at", "rows--held"}

    @dataclass
    class Opened(Message):
        """A row was clicked that had been chosen before."""

        rows: "Rows"

    def __init__(self, lay: Lay, moved: Moved, *, lines: int, name: str) -> None:
        super().__init__(name)
        self._lay = lay
        self._moved = moved
        self._lines = lines
        self.count = 0
        self.at = 0
        self._empty = Content("")
        """What is said where there is no row."""
        self._drawn = dict[tuple[int, str], list[Strip]]()
        """Rows as they were drawn last, by place and tone."""

    @property
    def tall(self) -> int:
        return self.count * self._lines or (len(self._empty.wrap(self.room)) if self._empty else 0)

    @property
    def page(self) -> int:
        """How many rows are in sight."""
        return max(1, self.size.height // self._lines)

    def show(self, count: int, at: int = 0, *, empty: str = "") -> None:
        """Show other rows, and choose one of them; where there is none, say why."""
        self.count = count
        self._empty = Content(clean(empty))
        self.at = max(0, min(at, count - 1))
        self.scroll(self.top)
        self._into_sight()
        self.draw_again()

    def draw_again(self) -> None:
        """Lay out what is in sight once more: what the rows say has changed."""
        self._drawn.clear()
        self.refresh()

    def choose(self, place: int) -> None:
        """Choose a row; beyond the ends, the last one there."""
        place = max(0, min(place, self.count - 1))
        if place == self.at:
            return
        self.draw(self.at * self._lines, self._lines)
        self.at = place
        self.draw(place * self._lines, self._lines)
        self._into_sight()
        self._moved(self)

    def _into_sight(self) -> None:
        first = self.at * self._lines
        self.into_sight(first, first + self._lines - 1)

    def on_resize(self) -> None:
        self._drawn.clear()
        super().on_resize()
        self._into_sight()

    def on_click(self, event: events.Click) -> None:
        place = (event.get_content_offset_capture(self).y + self.top) // self._lines
        if place >= self.count:
            return
        again = place == self.at
        self.focus()
        self.choose(place)
        if again:
            self.post_message(self.Opened(self))

    def line(self, number: int, width: int) -> Strip:
        place, line = divmod(number, self._lines)
        tone = "" if place != self.at else "rows--at" if self.has_focus else "rows--held"
        if not self.count:
            return self._strip(self._empty.wrap(width)[number], width, "")
        if (place, tone) not in self._drawn:
            first, *others = self._lay(place, width)
            below = tone if tone != "rows--held" else ""  # one line that stands out is enough
            self._drawn[place, tone] = [
                self._strip(first, width, tone),
                *(self._strip(row, width, below) for row in others),
            ]
        return self._drawn[place, tone][line]

    def _strip(self, row: Content, width: int, tone: str) -> Strip:
        style = self.get_visual_style(*filter(None, [tone]))
        strips = Visual.to_strips(self, in_one_tone(row) if tone == "rows--at" else row, width, 1, style)
        return (strips[0] if strips else Strip.blank(0)).extend_cell_length(width, style.rich_style)
