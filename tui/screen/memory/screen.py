"""The memory view: what there is, searched and read, and what is done with it."""

from collections.abc import Callable, Coroutine
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static
from textual.worker import Worker

from ogcode.agent.clean import clean
from ogcode.tui.desks.desk import Status
from ogcode.tui.memory.desk import Lead, MemoryDesk
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.memory.deeds import Deeds
from ogcode.tui.screen.memory.keys import KeySheet, hints
from ogcode.tui.screen.memory.lines import strip
from ogcode.tui.screen.memory.listing import Listing
from ogcode.tui.screen.memory.page import Page
from ogcode.tui.screen.memory.panes import Panes
from ogcode.tui.screen.memory.reading import Reading
from ogcode.tui.screen.memory.rows import Rows
from ogcode.tui.screen.status import StatusLine

LOOK = 2.0
"""Seconds between looks at whether files have come or gone."""

LOW = 10
"""Lines below which there is room for the panes only."""


class MemoryScreen(Screen[None]):
    CSS_PATH = "memory.tcss"
    AUTO_FOCUS = "#items"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("q", "do('back')", show=False),
        Binding("slash", "search", show=False, priority=True),  # what is typed right behind it belongs to the search
        Binding("down", "to_list", show=False),
        *(Binding(key, f"begin('{key}')", show=False) for key in "gxf"),
        *(Binding(str(number), f"lead({number})", show=False) for number in range(1, 10)),
        Binding("e", "do('edit')", show=False),
        Binding("p", "do('pin')", show=False),
        Binding("m", "do('mark')", show=False),
        Binding("M", "do('mark_all')", show=False),
        Binding("u", "do('undo')", show=False),
        Binding("r", "do('rescribe')", show=False),
        Binding("y", "do('copy_path')", show=False),
        Binding("R", "ask", show=False),
        Binding("question_mark", "sheet", show=False),
    ]

    def __init__(
        self, desk: MemoryDesk, *, status: Callable[[], Status] | None = None, note: str = "", query: str = ""
    ) -> None:
        super().__init__()
        self._desk = desk
        self._status = status
        self.listing = Listing(self, desk, query)
        self.reading = Reading(self, desk, note)
        self.deeds = Deeds(self, desk)
        self._prefix = ""
        """The first of two keys."""

    def compose(self) -> ComposeResult:
        yield Static(Content(self._desk.state()), markup=False, id="state", classes="line")
        yield Static(markup=False, id="notices")
        yield Static(markup=False, id="strip", classes="line")
        with Horizontal(id="search"):
            yield Static("/", markup=False)
            yield Input(self.listing.query, placeholder="Search notes and facts", select_on_focus=False)
        yield Panes(self.listing.place_row, self.listing.item_row, self._moved)
        yield Static(markup=False, id="said", classes="line")
        yield Static(markup=False, id="hints", classes="line")
        if self._status:
            yield StatusLine(self._status)

    def on_mount(self) -> None:
        self.search_line.display = bool(self.listing.query)
        self.hint()
        self.listing.load()
        self.set_interval(LOOK, self.listing.look)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a search is typed, letters are letters, also those that were typed before the field was there."""
        typing = self.is_mounted and self.focused is self.field and action not in ("back", "to_list")
        return not typing and super().check_action(action, parameters)

    def begin(
        self, work: Callable[[], Coroutine[None, None, None]], group: str, *, exclusive: bool = True
    ) -> Worker[None]:
        """Do something beside the screen, in place of what was begun of its kind before."""
        return self.run_worker(work, group=group, exclusive=exclusive)

    @property
    def search_line(self) -> Horizontal:
        return self.query_one("#search", Horizontal)

    @property
    def field(self) -> Input:
        return self.query_one(Input)

    @property
    def panes(self) -> Panes:
        return self.query_one(Panes)

    def on_resize(self) -> None:
        self.set_class(self.size.height < LOW, "low")
        self.tell()
        self.hint()

    def on_descendant_focus(self) -> None:
        self.hint()

    def tell(self) -> None:
        """Say above the panes how much there is, and what can't be read."""
        overview, room = self.listing.overview, max(self.size.width - 2, 1)
        self.query_one("#strip", Static).update(strip(overview, self.listing.saving, room), layout=False)
        notices = self.query_one("#notices", Static)
        notices.display = bool(overview.notices)
        notices.update(Content("\n").join(Content(flat(notice)) for notice in overview.notices))

    def say(self, text: str, tone: str = "") -> None:
        """Say in the line below the panes what has happened."""
        self.query_one("#said", Static).update(Content.styled(clean(text).replace("\n", " "), tone), layout=False)

    def hint(self) -> None:
        """Say in the last line which keys do something here."""
        count = f"{len(self.deeds.marked):,} marked · " if self.deeds.marked else ""
        panes = {self.field: "search", self.panes.places: "places", self.panes.page: "page"}
        pane = "prefix" if self._prefix == "g" else panes.get(self.focused or self, "items")
        if pane == "items" and not self.listing.items:
            pane = "nothing"
        told = count + hints(pane, self.size.width - 2 - len(count))
        self.query_one("#hints", Static).update(Content(told), layout=False)

    def _moved(self, rows: Rows) -> None:
        self.reading.choose(self.listing.item if rows is self.panes.items else None)
        if rows is self.panes.places:
            self.listing.choose_place()

    @on(Input.Changed)
    def _typed(self, changed: Input.Changed) -> None:
        self.listing.search(changed.value)

    @on(Input.Submitted)
    def action_to_list(self) -> None:
        self.panes.go(self.panes.items)

    def on_key(self, event: events.Key) -> None:
        """Take the second key of two; every other one ends what the first began."""
        prefix, self._prefix = self._prefix, ""
        match prefix, event.character or event.key:
            case "g", "g" | "f" as second:
                self._go(second)
            case "x", "x":
                self.deeds.forget()
            case "x", other:
                self.say("nothing was forgotten")
                if other != "\x1b":
                    return
            case _:
                if prefix:
                    self.hint()
                return
        event.stop()
        event.prevent_default()
        self.hint()

    def action_begin(self, key: str) -> None:
        """Wait for the second key of two, or take it where both came at once; what would forget is asked for again."""
        if self._prefix == "g" and key in "gf":
            self._go(key)
            self._prefix = ""
        elif key == "g" or (key == "x" and self.deeds.doom()):
            self._prefix = key
        self.hint()

    def _go(self, second: str) -> None:
        if second == "g":
            self.panes.action_top()
        else:
            self.deeds.visit_source()

    def action_do(self, what: str) -> None:
        deeds = self.deeds
        does: dict[str, Callable[[], None]] = {
            "edit": deeds.edit,
            "pin": deeds.pin,
            "mark": deeds.mark,
            "mark_all": deeds.mark_all,
            "undo": deeds.undo,
            "rescribe": deeds.rescribe,
            "copy_path": deeds.copy_path,
            "back": self.action_back,
        }
        does[what]()

    def action_back(self) -> None:
        """Take back one step of the way here, and leave in the end."""
        if self.deeds.unmark() or self.reading.back():
            return
        if self.search_line.display:
            self.listing.leave_search()
            self.panes.go(self.panes.items)
            self.say("")
        elif self.panes.has_keys(self.panes.page) and not self.reading.opens:
            self.panes.action_out()
        else:
            self.dismiss()

    def action_search(self) -> None:
        self.search_line.display = True
        self.set_focus(self.field)

    def action_lead(self, number: int) -> None:
        page = self.panes.page
        if number <= len(page.leads) and page.item == self.reading.item:
            self.reading.follow(page.leads[number - 1])

    @on(Page.Followed)
    def _followed(self, followed: Page.Followed) -> None:
        self.reading.follow(followed.lead)

    def action_ask(self) -> None:
        from ogcode.tui.screen.memory.ask import AskScreen  # only where somebody asks

        def answered(note: str | None) -> None:
            if note:
                self.reading.follow(Lead("cites", note, note=note))

        self.app.push_screen(AskScreen(self._desk), answered)

    def action_sheet(self) -> None:
        self.app.push_screen(KeySheet())
