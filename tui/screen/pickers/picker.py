"""A list to choose from, narrowed as one types."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ogcode.agent.clean import clean
from ogcode.tui.desks.desk import Status
from ogcode.tui.screen.status import StatusLine

_SHOWN = 300
"""Rows that are listed at a time: who looks for more types on."""


@dataclass(frozen=True, slots=True)
class Row:
    value: str
    shown: Content
    words: str
    """What is searched."""


class Picker(Screen[str | None]):
    """Gives the value of the row that was chosen."""

    CSS_PATH = "pickers.tcss"
    AUTO_FOCUS = "Input"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012  # declared so by Textual
        (0, "-narrow"),
        (100, "-wide"),
    ]
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-low"), (16, "-high")]  # noqa: RUF012  # by Textual, too
    HEADING = ""
    HINT = "type to search · ↑↓ choose · Enter take it · Esc back"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("up,ctrl+k", "move('cursor_up')", show=False, priority=True),
        Binding("down,ctrl+j", "move('cursor_down')", show=False, priority=True),
        Binding("pageup", "move('page_up')", show=False, priority=True),
        Binding("pagedown", "move('page_down')", show=False, priority=True),
    ]

    def __init__(self, status: Callable[[], Status], *, typed: str = "") -> None:
        super().__init__()
        self._status = status
        self._typed = typed
        self._rows: Sequence[Row] = ()
        self._fitting: Sequence[Row] = ()
        self._told = ""

    def compose(self) -> ComposeResult:
        yield Static(Content(self.HEADING), markup=False, classes="title")
        yield Input(self._typed, placeholder="Search", select_on_focus=False)
        with Container(id="sides"):
            yield OptionList(markup=False)
            yield from self.beside()
        yield Static(markup=False, id="state")
        yield Static(Content(self.HINT), markup=False, classes="keys")
        yield StatusLine(self._status)

    def beside(self) -> ComposeResult:
        """Give what stands beside the list."""
        yield from ()

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self.tell("")

    def fill(self, rows: Iterable[Row], told: str = "") -> None:
        """List these, and say something below."""
        self._rows = tuple(rows)
        self.tell(told)
        self._list()

    def tell(self, text: str) -> None:
        self._told = text
        self._say(len(self._fitting))

    def fitting(self, typed: str) -> Sequence[Row]:
        """Find the rows that have all the words."""
        words = typed.casefold().split()
        return [row for row in self._rows if all(word in row.words.casefold() for word in words)]

    @property
    def typed(self) -> str:
        return self.query_one(Input).value.strip()

    @property
    def chosen(self) -> Row | None:
        place = self.query_one(OptionList).highlighted
        return self._fitting[place] if place is not None and place < len(self._fitting) else None

    def start_at(self, value: str) -> None:
        """Let the choice begin at a row."""
        for place, row in enumerate(self._fitting[:_SHOWN]):
            if row.value == value:
                self.query_one(OptionList).highlighted = place

    def _say(self, found: int) -> None:
        more = f"{found - _SHOWN:,} more; type on to see them" if found > _SHOWN else ""
        none = "nothing has these words" if self._rows and not found else ""
        state = self.query_one("#state", Static)
        state.update(Content("\n".join(filter(None, (more or none, clean(self._told))))))
        state.display = bool(more or none or self._told)

    @on(Input.Changed)
    def _list(self) -> None:
        self._fitting = self.fitting(self.typed)
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(Content.assemble(row.shown)) for row in self._fitting[:_SHOWN]])
        options.highlighted = 0 if self._fitting else None
        self._say(len(self._fitting))
        if not self._fitting:
            self.looked_at(None)

    @on(OptionList.OptionHighlighted)
    def _look(self) -> None:
        self.looked_at(self.chosen)

    def looked_at(self, row: Row | None) -> None:
        """Show what belongs to the row at which the choice stands."""

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _take(self) -> None:
        if taken := self.taken():
            self.dismiss(taken)

    def taken(self) -> str:
        """Give what Enter takes; empty is nothing."""
        return row.value if (row := self.chosen) else ""

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_move(self, where: str) -> None:
        getattr(self.query_one(OptionList), f"action_{where}")()
