"""What is listed: a part of memory, or what a search finds in all of it; kept true to the disk."""

import gc
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Input

from ogcode.tui.memory.desk import Item, MemoryDesk, NotDone, Overview, Saving, key_of, words_of
from ogcode.tui.screen.memory.lines import Place, item_row, place_row, places_of
from ogcode.tui.screen.memory.rows import Rows

if TYPE_CHECKING:
    from ogcode.tui.screen.memory.screen import MemoryScreen

EMPTY, NOTHING = "There are no notes yet; each turn leaves one.", "There is nothing to list."
"""What is said where nothing is listed, and where it is not known that nothing is there."""


class Listing:
    def __init__(self, screen: "MemoryScreen", desk: MemoryDesk, query: str) -> None:
        self._screen = screen
        self._desk = desk
        self.query = query
        self.overview = Overview()
        self.saving = Saving()
        self.items: Sequence[Item] = ()
        self._places = [Place("All notes", ())]
        self._told_of = ""
        """The query of which it was said last what it found."""

    @property
    def _rows(self) -> Rows:
        return self._screen.panes.items

    @property
    def item(self) -> Item | None:
        """What is chosen."""
        return self.items[self._rows.at] if self.items else None

    def place_row(self, place: int, width: int) -> Sequence[Content]:
        return (place_row(self._places[place], width),)

    def item_row(self, place: int, width: int) -> Sequence[Content]:
        item = self.items[place]
        return item_row(item, width, mark=key_of(item) in self._screen.deeds.marked, hits=words_of(self.query))

    def load(self) -> None:
        """Look at memory once more; the newest notes are shown before all are there."""
        self._screen.begin(self._load, "load")

    async def _load(self) -> None:
        screen, first = self._screen, not self.overview.today
        try:
            if first:
                self.overview = await self._desk.newest()
                self._arrange()
                await screen.reading.open()
            self.overview = await self._desk.overview()
            screen.deeds.renew(self.overview)
            self._arrange()
            screen.reading.renew(self.overview)
            if first and not screen.app.is_headless:
                gc.freeze()  # thousands of notes stay: no collection need look at each again
            self.saving = await self._desk.saving()
        except NotDone as error:
            screen.say(str(error), "$warning")
        screen.tell()

    def look(self) -> None:
        """Load again if files have come, gone or changed."""
        if self._desk.changed():
            self.load()

    def _arrange(self) -> None:
        """Show the overview, with the place and the item that were chosen chosen again."""
        parts, before = self._screen.panes.places, self._places[self._screen.panes.places.at]
        self._places = places_of(self.overview)
        same = (at for at, part in enumerate(self._places) if (part.tag or part.name) == (before.tag or before.name))
        parts.show(len(self._places), next(same, 0))
        if self.query:
            self._screen.begin(partial(self._find, self.query), "find")
        else:
            self._fill(self._places[parts.at].items)

    def _fill(self, items: Sequence[Item], *, first: bool = False) -> None:
        """List items; the one that was chosen stays it, if it is there."""
        before, rows, reading = self.item, self._rows, self._screen.reading
        same = (at for at, item in enumerate(items) if before and key_of(item) == key_of(before))
        empty = f"nothing has “{self.query}”" if self.query else NOTHING if self.overview.notices else EMPTY
        self.items = [*items]
        rows.show(len(items), 0 if first else next(same, rows.at), empty=empty if self.overview.today else "")
        if self.item is None:
            reading.nothing()
        elif first or self.item != before or reading.item is None:
            reading.listed(self.item)
        self._screen.hint()

    def choose_place(self) -> None:
        """List what is in the place that was chosen."""
        self._end_search()
        self._fill(self._places[self._screen.panes.places.at].items, first=True)

    def search(self, query: str) -> None:
        """List what a query finds; without one, the place that is chosen."""
        self.query = query.strip()
        if self.query:
            self._screen.begin(partial(self._find, self.query, first=True), "find")
        else:
            self._fill(self._places[self._screen.panes.places.at].items, first=True)

    async def _find(self, query: str, *, first: bool = False) -> None:
        """Search beside the screen; a later search takes the place of one that has not begun."""
        try:
            found = await self._desk.find(query)
        except NotDone as error:
            self._screen.say(str(error), "$warning")
            return
        self._fill(found.items, first=first)
        if found.items and query != self._told_of:
            self._told_of = query
            how = "none has all of it, these have some" if found.nearest else "m marks, M all of them, x forgets"
            self._screen.say(f"{len(found.items):,} for “{query}” · {how}")

    def leave_search(self) -> None:
        """List again what was listed before."""
        self._end_search()
        self._fill(self._places[self._screen.panes.places.at].items)

    def _end_search(self) -> None:
        self._screen.workers.cancel_group(self._screen, "find")
        self.query = self._told_of = ""
        with self._screen.prevent(Input.Changed):
            self._screen.field.value = ""
        self._screen.search_line.display = False
