"""The three panes, as many of them side by side as fit, and the way from one to the next."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget

from ogcode.tui.screen.memory.page import Page
from ogcode.tui.screen.memory.rows import Lay, Moved, Rows

THREE, TWO = 120, 80
"""Columns from which on three panes stand side by side, and two."""


class Panes(Horizontal):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("space", "scroll(1)", show=False),
        Binding("b", "scroll(-1)", show=False),
        Binding("home", "top", show=False),
        Binding("end,G", "bottom", show=False),
        Binding("enter,l,right", "into", show=False),
        Binding("h,left", "out", show=False),
        Binding("tab", "on", show=False),
        Binding("n", "hit(1)", show=False),
        Binding("N", "hit(-1)", show=False),
        Binding("v", "source", show=False),
    ]

    def __init__(self, place: Lay, item: Lay, moved: Moved) -> None:
        super().__init__()
        self.places = Rows(place, moved, lines=1, name="places")
        self.items = Rows(item, moved, lines=2, name="items")
        self.page = Page()

    def compose(self) -> ComposeResult:
        yield from (self.places, self.items, self.page)

    def on_resize(self) -> None:
        self._fold()

    def on_descendant_focus(self) -> None:
        self._fold()

    def _fold(self) -> None:
        """Show as many panes as fit, those beside the one that has the focus."""
        width, panes = self.size.width, (self.places, self.items, self.page)
        at = next((place for place, pane in enumerate(panes) if self.has_keys(pane)), 1)
        shown = {0, 1, 2} if width >= THREE else {at} if width < TWO else {0, 1} if at == 0 else {1, 2}
        for place, pane in enumerate(panes):
            pane.display = place in shown
        self.set_class(len(shown) == 1, "one")
        self.set_class(shown == {0, 1}, "two")

    def go(self, pane: "Rows | Page") -> None:
        """Give a pane the focus, and its place on the screen."""
        pane.display = True
        self.screen.set_focus(pane)

    def has_keys(self, pane: Widget) -> bool:
        """Tell whether keys go to a pane: at once, and not when it has heard that it has the focus."""
        return self.screen.focused is pane

    @property
    def _rows(self) -> Rows | None:
        return next((rows for rows in (self.places, self.items) if self.has_keys(rows)), None)

    def action_move(self, step: int) -> None:
        if rows := self._rows:
            rows.choose(rows.at + step)
        else:
            self.page.scroll(self.page.top + step)

    def action_page(self, step: int) -> None:
        if rows := self._rows:
            rows.choose(rows.at + step * rows.page)
        else:
            self.action_scroll(step)

    def action_scroll(self, step: int) -> None:
        self.page.scroll(self.page.top + step * max(self.page.size.height - 2, 1))

    def action_top(self) -> None:
        if rows := self._rows:
            rows.choose(0)
        else:
            self.page.scroll(0)

    def action_bottom(self) -> None:
        if rows := self._rows:
            rows.choose(rows.count)
        else:
            self.page.scroll(self.page.tall)

    def action_into(self) -> None:
        if self.has_keys(self.places):
            self.go(self.items)
        elif self.has_keys(self.items) and self.items.count:
            self.go(self.page)
        else:
            self.page.follow()

    def action_out(self) -> None:
        self.go(self.places if self.has_keys(self.items) else self.items)

    def action_on(self) -> None:
        if self.has_keys(self.page):
            self.page.next_link()
        else:
            self.action_into()

    def action_hit(self, step: int) -> None:
        self.page.next_hit(step)

    def action_source(self) -> None:
        self.page.turn_over()

    @on(Rows.Opened)
    def _opened(self) -> None:
        self.action_into()
