"""What is done with notes and facts: several may be marked, and what can't be seen beforehand is asked for twice."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from ogcode.agent.facts.fact import Fact
from ogcode.tui.memory.desk import Item, Lead, MemoryDesk, NotDone, Noted, Overview, key_of
from ogcode.tui.screen.terminal import copy

if TYPE_CHECKING:
    from ogcode.tui.screen.memory.screen import MemoryScreen


class Deeds:
    def __init__(self, screen: "MemoryScreen", desk: MemoryDesk) -> None:
        self._screen = screen
        self._desk = desk
        self.marked = dict[str, Item]()
        self._doomed: Sequence[Item] = ()
        """What a second press forgets."""

    @property
    def _one(self) -> Item | None:
        """What is read, where that has the focus, else what is chosen in the list."""
        panes = self._screen.panes
        return self._screen.reading.item if panes.has_keys(panes.page) else self._screen.listing.item

    @property
    def _all(self) -> Sequence[Item]:
        """What is marked, else the one."""
        return [*self.marked.values()] or ([self._one] if self._one else [])

    def renew(self, overview: Overview) -> None:
        """Let the marks of what is gone go, and see what is there as it is now."""
        listed: tuple[Item, ...] = (*overview.notes, *overview.facts)
        there = {key_of(item): item for item in listed}
        self.marked = {key: there.get(key, item) for key, item in self.marked.items() if key in there or overview.left}

    def mark(self) -> None:
        """Mark what is chosen in the list, or unmark it, and go on to the next."""
        if item := self._screen.listing.item:
            self._turn([item])
            self._screen.panes.action_move(1)

    def mark_all(self) -> None:
        """Mark all that is listed; where all of it is marked, unmark it."""
        self._turn(self._screen.listing.items)

    def _turn(self, items: Sequence[Item]) -> None:
        some = {key_of(item): item for item in items if isinstance(item, Noted | Fact)}
        if some.keys() <= self.marked.keys():
            self._mark({name: item for name, item in self.marked.items() if name not in some})
        else:
            self._mark(self.marked | some)

    def unmark(self) -> bool:
        """Let all marks go; False where there were none."""
        marked = bool(self.marked)
        self._mark({})
        return marked

    def _mark(self, items: dict[str, Item]) -> None:
        self.marked = items
        self._screen.panes.items.draw_again()
        self._screen.hint()

    def pin(self) -> None:
        notes = [item for item in self._all if isinstance(item, Noted)]
        pinned = all(note.entry.pinned for note in notes)
        self._change(self._desk.pin(self._all, pinned=not pinned))

    def doom(self) -> bool:
        """Say what a second press forgets; False where there is nothing."""
        self._doomed = self._all
        if count := len(self._doomed):
            what, them = ("this", "it") if count == 1 else (f"these {count:,}", "them")
            self._screen.say(f"x again forgets {what}; u would bring {them} back", "$warning")
        return bool(self._doomed)

    def forget(self) -> None:
        """Forget what was told of."""
        self._screen.say("forgetting…")
        self._change(self._desk.forget(self._doomed))

    def undo(self) -> None:
        self._change(self._desk.undo())

    def rescribe(self) -> None:
        self._change(self._desk.rescribe(self._all))

    def _change(self, doing: Coroutine[None, None, str]) -> None:
        self._screen.begin(partial(self._done, doing), "change", exclusive=False)

    async def _done(self, doing: Coroutine[None, None, str]) -> None:
        try:
            said, tone = await doing, ""
            self._mark({})
        except NotDone as error:
            said, tone = str(error), "$warning"
        self._screen.listing.load()
        self._screen.say(said, tone)

    def copy_path(self) -> None:
        if items := self._all:
            paths = "\n".join(str(self._desk.path(item)) for item in items)
            self._screen.say(f"{copy(self._screen.app, paths)}: {paths}")

    def edit(self) -> None:
        if item := self._one:
            self._at_terminal(lambda: self._desk.edit(item))

    def visit(self, what: Lead | Item) -> None:
        """Open a file itself in the user's editor."""
        self._at_terminal(lambda: self._desk.visit(what))

    def visit_source(self) -> None:
        """Open the first file that a note worked on; where there is none, its own."""
        if item := self._one:
            self._screen.begin(partial(self._visit_source, item), "follow")

    async def _visit_source(self, item: Item) -> None:
        try:
            leads = await self._desk.leads(item)
        except NotDone as error:
            self._screen.say(str(error), "$warning")
            return
        files = (lead for lead in leads if lead.kind == "file" and lead.mark != "gone")
        self.visit(next(files, item))

    def _at_terminal(self, do: Callable[[], str]) -> None:
        self._screen.begin(partial(self._given_away, do), "terminal")

    async def _given_away(self, do: Callable[[], str]) -> None:
        """Give the terminal away for as long as something takes; what else runs in the app goes on."""
        app, said, tone = self._screen.app, "", ""
        before = signal.signal(signal.SIGINT, lambda *_: None)  # the editor's own Ctrl+C is not ours
        try:
            with app.batch_update(), app.suspend():
                try:
                    said = await asyncio.to_thread(do)
                except NotDone as error:  # within: what leaves it would leave the terminal as it is
                    said, tone = str(error), "$warning"
        except SuspendNotSupported:
            said, tone = "this terminal can't be given to an editor", "$warning"
        finally:
            signal.signal(signal.SIGINT, before)
        self._screen.listing.load()
        self._screen.say(said, tone)
