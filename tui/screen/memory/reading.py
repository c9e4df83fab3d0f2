"""What is read, and the way back from where its links have led."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ogcode.tui.memory.desk import Item, Lead, MemoryDesk, NotDone, Overview, Spoiled, key_of, words_of
from ogcode.tui.screen.memory.page import Page

if TYPE_CHECKING:
    from ogcode.tui.screen.memory.screen import MemoryScreen

QUIET = 0.08
"""Seconds that an item is read before it is looked up where it leads."""


class Reading:
    def __init__(self, screen: "MemoryScreen", desk: MemoryDesk, note: str) -> None:
        self._screen = screen
        self._desk = desk
        self.opens = note
        """The note at which the view was opened: Esc leaves from there."""
        self.item: Item | None = None
        """What is read, also while its text is still on the way."""
        self._trail = list[Item]()
        """What was read before links were followed."""

    @property
    def _page(self) -> Page:
        return self._screen.panes.page

    async def open(self) -> None:
        """Show the note at which the view is opened."""
        found = await self._desk.note(self.opens) if self.opens else None
        if found:
            self.read(found)
            self._screen.panes.go(self._page)
        elif self.opens:
            self._screen.say(f"{self.opens} is gone, or was never there", "$warning")
            self.opens = ""

    def read(self, item: Item) -> None:
        self.item = item
        self._screen.begin(partial(self._read, item), "read")

    async def _read(self, item: Item) -> None:
        page, hits = self._page, words_of(self._screen.listing.query)
        try:
            page.show(item, await self._desk.text(item), hits)
            await asyncio.sleep(QUIET)
            page.lead_to(await self._desk.leads(item))
        except NotDone as error:
            page.show(item, str(error), None)

    def choose(self, item: Item | None) -> None:
        """Read what was chosen in the list; the way here is forgotten."""
        self.opens = ""
        self._trail.clear()
        if item:
            self.read(item)

    def listed(self, item: Item) -> None:
        """Read what the list shows as chosen, unless something else is being read."""
        if not (self._trail or self.opens):
            self.read(item)

    def nothing(self) -> None:
        """Show that there is nothing to read."""
        if not (self._trail or self.opens):
            self._screen.workers.cancel_group(self._screen, "read")
            self.item = None
            self._page.show(None, "", None)

    def renew(self, overview: Overview) -> None:
        """Read what is shown once more: it may be another text by now, or gone."""
        listed: tuple[Item, ...] = (*overview.notes, *overview.facts, *overview.rules)
        there = {key_of(item): item for item in listed}
        if self.item and (found := there.get(key_of(self.item))):
            self.read(found)
        elif self.item and not isinstance(self.item, Spoiled) and not overview.left:
            if self._screen.panes.has_keys(self._page):
                self._screen.panes.go(self._screen.panes.items)
            self.choose(self._screen.listing.item)

    def back(self) -> bool:
        """Read again what a link was followed from; False where none was."""
        if not self._trail:
            return False
        self.read(self._trail.pop())
        return True

    def follow(self, lead: Lead) -> None:
        if lead.kind == "file":
            self._screen.deeds.visit(lead)
        else:
            self._screen.begin(partial(self._follow, lead), "follow")

    async def _follow(self, lead: Lead) -> None:
        facts = {key_of(fact): fact for fact in self._screen.listing.overview.facts}
        try:
            found = facts.get(lead.fact) or (await self._desk.note(lead.note) if lead.note else None)
        except NotDone as error:
            self._screen.say(str(error), "$warning")
            return
        if found is None:
            self._screen.say(f"{lead.name} is gone", "$warning")
            return
        if self.item:
            self._trail.append(self.item)
        self.read(found)
        self._screen.panes.go(self._page)
