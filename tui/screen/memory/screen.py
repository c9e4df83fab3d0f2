"""The memory view: what there is, searched and read, and what is done with it."""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Sequence
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from ogcode.agent.clean import clean
from ogcode.agent.facts.fact import Fact
from ogcode.tui.desk import Status
from ogcode.tui.memory.desk import Item, Lead, MemoryDesk, NotDone, Noted, Overview, Spoiled, key_of, words_of
from ogcode.tui.screen.memory.keys import AFTER_G, HINTS, SHORT, KeySheet
from ogcode.tui.screen.memory.lines import Place, item_row, place_row, places_of, strip
from ogcode.tui.screen.memory.page import Page
from ogcode.tui.screen.memory.panes import Panes
from ogcode.tui.screen.memory.rows import Rows
from ogcode.tui.screen.status import StatusLine
from ogcode.tui.screen.terminal import copy

QUIET = 0.08
"""Seconds that an item is read before it is looked up where it leads."""

LOOK = 2.0
"""Seconds between looks at whether files have come or gone."""

EMPTY = "There are no notes yet; each turn leaves one."


class MemoryScreen(Screen[None]):
    CSS_PATH = "memory.tcss"
    AUTO_FOCUS = "#items"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", show=False),
        Binding("slash", "search", show=False),
        Binding("down", "to_list", show=False),
        Binding("g", "go", show=False),
        *(Binding(str(number), f"lead({number})", show=False) for number in range(1, 10)),
        Binding("e", "edit", show=False),
        Binding("p", "pin", show=False),
        Binding("m", "mark", show=False),
        Binding("M", "mark_all", show=False),
        Binding("x", "forget", show=False),
        Binding("u", "undo", show=False),
        Binding("r", "rescribe", show=False),
        Binding("y", "copy", show=False),
        Binding("R", "ask", show=False),
        Binding("question_mark", "sheet", show=False),
    ]

    def __init__(
        self, desk: MemoryDesk, *, status: Callable[[], Status] | None = None, note: str = "", query: str = ""
    ) -> None:
        super().__init__()
        self._desk = desk
        self._status = status
        self._opens = note
        """The note at which the view was opened: Esc leaves from there."""
        self._query = query
        self._overview = Overview()
        self._places = [Place("All notes", ())]
        self._items: list[Item] = []
        self._marked = dict[str, Item]()
        self._trail = list[Item]()
        """What was read before links were followed."""
        self._prefix = ""
        self._saving = ""
        self._told_of = ""
        """The query of which it was said last what it found."""

    def compose(self) -> ComposeResult:
        yield Static(Content(self._desk.state()), markup=False, id="state", classes="line")
        yield Static(markup=False, id="strip", classes="line")
        yield Input(self._query, placeholder="Search notes and facts", select_on_focus=False)
        yield Panes(self._place_row, self._item_row)
        yield Static(markup=False, id="said", classes="line")
        yield Static(markup=False, id="hints", classes="line")
        if self._status:
            yield StatusLine(self._status)

    def on_mount(self) -> None:
        self._field.display = bool(self._query)
        self._hint()
        self._load()
        self.set_interval(LOOK, self._look)

    @property
    def _field(self) -> Input:
        return self.query_one(Input)

    @property
    def _panes(self) -> Panes:
        return self.query_one(Panes)

    @property
    def _item(self) -> Item | None:
        """What is chosen in the list."""
        return self._items[self._panes.items.at] if self._items else None

    @property
    def _aim(self) -> list[Item]:
        """What a key acts on: what is marked, else what is read."""
        page = self._panes.page
        item = page.item if page.has_focus else self._item
        return [*self._marked.values()] or ([item] if item else [])

    def _place_row(self, place: int, width: int) -> Sequence[Content]:
        return (place_row(self._places[place], width),)

    def _item_row(self, place: int, width: int) -> Sequence[Content]:
        item = self._items[place]
        return item_row(item, width, mark=key_of(item) in self._marked, hits=words_of(self._query))

    def on_resize(self) -> None:
        self._tell()
        self._hint()

    def _tell(self) -> None:
        told = strip(self._overview, self._saving, max(self.size.width - 2, 1))
        self.query_one("#strip", Static).update(told, layout=False)

    def say(self, text: str, tone: str = "") -> None:
        """Say in the line below the panes what has happened."""
        self.query_one("#said", Static).update(Content.styled(clean(text).replace("\n", " "), tone), layout=False)

    def _hint(self) -> None:
        count = f"{len(self._marked):,} marked · " if self._marked else ""
        hints = AFTER_G if self._prefix == "g" else HINTS if self.size.width > len(HINTS) else SHORT
        self.query_one("#hints", Static).update(Content(f"{count}{hints}"), layout=False)

    @work(exclusive=True, group="load")
    async def _load(self) -> None:
        try:
            if not self._overview.today:
                self._overview = await self._desk.newest()
                self._arrange()
                await self._open()
            first, self._overview = not self._overview.today, await self._desk.overview()
            self._arrange()
            self._read_again()
            if first and not self.app.is_headless:
                gc.freeze()  # thousands of notes stay: no collection need look at each again
            self._saving = await self._desk.saving()
        except NotDone as error:
            self.say(str(error), "$warning")
        self._tell()

    async def _open(self) -> None:
        """Show the note at which the view is opened."""
        found = await self._desk.note(self._opens) if self._opens else None
        if found:
            self._read(found)
            self._panes.go(self._panes.page)
        elif self._opens:
            self.say(f"{self._opens} is gone, or was never there", "$warning")
            self._opens = ""

    def _arrange(self) -> None:
        """Show the overview, with the place and the item that were chosen chosen again."""
        parts, before = self._panes.places, self._places[self._panes.places.at]
        self._places = places_of(self._overview)
        same = (at for at, part in enumerate(self._places) if (part.tag or part.name) == (before.tag or before.name))
        parts.show(len(self._places), next(same, 0))
        if self._query:
            self._find(self._query)
        else:
            self._fill(self._places[parts.at].items)

    def _fill(self, items: Sequence[Item], *, first: bool = False) -> None:
        """List items; the one that was chosen stays it, if it is there."""
        before, rows = self._item, self._panes.items
        same = (at for at, item in enumerate(items) if before and key_of(item) == key_of(before))
        self._items = [*items]
        rows.show(len(items), 0 if first else next(same, rows.at))
        if self._item is None:
            self._panes.page.show(None, f"nothing has “{self._query}”" if self._query else EMPTY, None)
        elif not (self._trail or self._opens) and (first or self._item != before or self._panes.page.item is None):
            self._read(self._item)

    @on(Rows.Moved)
    def _moved(self, moved: Rows.Moved) -> None:
        self._opens = ""
        self._trail.clear()
        if moved.rows is self._panes.places:
            self._leave_search()
            self._fill(self._places[moved.rows.at].items, first=True)
        elif self._item:
            self._read(self._item)

    def _read_again(self) -> None:
        """Read what is shown once more: it may be another text by now, or gone."""
        page, overview = self._panes.page, self._overview
        listed: tuple[Item, ...] = (*overview.notes, *overview.facts, *overview.rules)
        there = {key_of(item): item for item in listed}
        if page.item and (found := there.get(key_of(page.item))):
            self._read(found)
        elif page.item and not isinstance(page.item, Spoiled) and not overview.left:
            self._trail.clear()
            self._opens = ""
            if page.has_focus:
                self._panes.go(self._panes.items)
            if self._item:
                self._read(self._item)

    @work(exclusive=True, group="read")
    async def _read(self, item: Item) -> None:
        page, hits = self._panes.page, words_of(self._query)
        try:
            page.show(item, await self._desk.text(item), hits)
            await asyncio.sleep(QUIET)
            page.lead_to(await self._desk.leads(item))
        except NotDone as error:
            page.show(item, str(error), None)

    @on(Input.Changed)
    def _typed(self, changed: Input.Changed) -> None:
        self._query = changed.value.strip()
        if self._query:
            self._find(self._query, first=True)
        else:
            self._fill(self._places[self._panes.places.at].items, first=True)

    @on(Input.Submitted)
    def action_to_list(self) -> None:
        self._panes.go(self._panes.items)

    @work(exclusive=True, group="find")
    async def _find(self, query: str, *, first: bool = False) -> None:
        """Search beside the screen; a later search takes the place of one that has not begun."""
        try:
            found = await self._desk.find(query)
        except NotDone as error:
            self.say(str(error), "$warning")
            return
        self._fill(found.items, first=first)
        if found.items and query != self._told_of:
            self._told_of = query
            how = "none has all of it, these have some" if found.nearest else "m marks, M all of them, x forgets"
            self.say(f"{len(found.items):,} for “{query}” · {how}")

    def _leave_search(self) -> None:
        self._query = ""
        with self.prevent(Input.Changed):
            self._field.value = ""
        self._field.display = False

    def _look(self) -> None:
        if self._desk.changed():
            self._load()

    def on_key(self, event: events.Key) -> None:
        """Take the second key of two; every other one ends what the first began."""
        prefix, self._prefix = self._prefix, ""
        page = self._panes.page
        match prefix, event.character or event.key:
            case "g", "g":
                self._panes.action_top()
            case "g", "f":
                files = (lead for lead in page.leads if lead.kind == "file" and lead.mark != "gone")
                self._visit(next(files, page.item))
            case "x", "x":
                self.say("forgetting…")
                self._change(self._desk.forget(self._aim))
            case "x", "\x1b":
                self.say("nothing was forgotten")
            case _:
                if prefix:
                    self._hint()
                return
        event.stop()
        event.prevent_default()
        self._hint()

    def action_go(self) -> None:
        self._prefix = "g"
        self._hint()

    def action_back(self) -> None:
        """Take back one step of the way here, and leave in the end."""
        if self._marked:
            self._mark({})
        elif self._trail:
            self._read(self._trail.pop())
        elif self._field.display:
            self._leave_search()
            self._panes.go(self._panes.items)
            self._fill(self._places[self._panes.places.at].items)
            self.say("")
        elif self._panes.page.has_focus and not self._opens:
            self._panes.action_out()
        else:
            self.dismiss()

    def action_search(self) -> None:
        self._field.display = True
        self.set_focus(self._field)

    def action_lead(self, number: int) -> None:
        if number <= len(leads := self._panes.page.leads):
            self._follow(leads[number - 1])

    @on(Page.Followed)
    def _followed(self, followed: Page.Followed) -> None:
        self._follow(followed.lead)

    @work(exclusive=True, group="follow")
    async def _follow(self, lead: Lead) -> None:
        if lead.kind == "file":
            self._visit(lead)
            return
        facts = {key_of(fact): fact for fact in self._overview.facts}
        found = facts.get(lead.fact) or (await self._desk.note(lead.note) if lead.note else None)
        if found is None:
            self.say(f"{lead.name} is gone", "$warning")
            return
        if before := self._panes.page.item:
            self._trail.append(before)
        self._read(found)
        self._panes.go(self._panes.page)

    def action_edit(self) -> None:
        if aim := self._aim:
            self._at_terminal(lambda: self._desk.edit(aim[-1]))

    def _visit(self, what: Lead | Item | None) -> None:
        if what:
            self._at_terminal(lambda: self._desk.visit(what))

    @work(exclusive=True, group="terminal")
    async def _at_terminal(self, do: Callable[[], str]) -> None:
        """Give the terminal away for as long as something takes; what else runs in the app goes on."""
        before = signal.signal(signal.SIGINT, lambda *_: None)  # the editor's own Ctrl+C is not ours
        said, tone = "", ""
        try:
            with self.app.batch_update(), self.app.suspend():
                try:
                    said = await asyncio.to_thread(do)
                except NotDone as error:  # within: what leaves it would leave the terminal as it is
                    said, tone = str(error), "$warning"
        except SuspendNotSupported:
            said, tone = "this terminal can't be given to an editor", "$warning"
        finally:
            signal.signal(signal.SIGINT, before)
        self._load()
        self.say(said, tone)

    def action_pin(self) -> None:
        pinned = all(item.entry.pinned for item in self._aim if isinstance(item, Noted))
        self._change(self._desk.pin(self._aim, pinned=not pinned))

    def action_mark(self) -> None:
        if self._item:
            self._turn([self._item])
            self._panes.action_move(1)

    def action_mark_all(self) -> None:
        self._turn(self._items)

    def _turn(self, items: Sequence[Item]) -> None:
        """Mark items, or unmark them where all are marked."""
        some = {key_of(item): item for item in items if isinstance(item, Noted | Fact)}
        if some.keys() <= self._marked.keys():
            self._mark({name: item for name, item in self._marked.items() if name not in some})
        else:
            self._mark(self._marked | some)

    def _mark(self, items: dict[str, Item]) -> None:
        self._marked = items
        self._panes.items.draw_again()
        self._hint()

    def action_forget(self) -> None:
        """Say what a second press forgets."""
        if aim := self._aim:
            self._prefix = "x"
            what, them = ("this", "it") if len(aim) == 1 else (f"these {len(aim):,}", "them")
            self.say(f"x again forgets {what}; u would bring {them} back", "$warning")

    def action_undo(self) -> None:
        self._change(self._desk.undo())

    def action_rescribe(self) -> None:
        self._change(self._desk.rescribe(self._aim))

    @work(group="change")
    async def _change(self, doing: Coroutine[None, None, str]) -> None:
        try:
            said, tone = await doing, ""
        except NotDone as error:
            said, tone = str(error), "$warning"
        self._mark({})
        self._load()
        self.say(said, tone)

    def action_copy(self) -> None:
        if aim := self._aim:
            path = "\n".join(str(self._desk.path(item)) for item in aim)
            self.say(f"{copy(self.app, path)}: {path}")

    def action_ask(self) -> None:
        from ogcode.tui.screen.memory.ask import AskScreen

        def answered(note: str | None) -> None:
            if note:
                self._follow(Lead("cites", note, note=note))

        self.app.push_screen(AskScreen(self._desk), answered)

    def action_sheet(self) -> None:
        self.app.push_screen(KeySheet())
