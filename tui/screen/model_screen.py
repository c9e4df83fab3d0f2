"""The list of models to choose from."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ogcode.agent.clean import clean
from ogcode.agent.model import ModelError
from ogcode.tui.desk import Desk
from ogcode.tui.screen.blocks import flat
from ogcode.tui.screen.status import StatusLine


class ModelScreen(Screen[str | None]):
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._names: Sequence[str] = ()
        self._fitting: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("Choose a model", markup=False, classes="title")
        yield Input(placeholder="Filter, or type a name in full")
        yield OptionList(markup=False)
        yield Static("looking for models…", markup=False, id="state")
        yield Static("↑↓ choose · Enter use it · Esc back", markup=False, classes="keys")
        yield StatusLine(self._desk.status)

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self._load()

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    @work
    async def _load(self) -> None:
        try:
            self._names = await self._desk.models()
        except ModelError as error:
            self._tell(str(error))
            return
        self._tell("" if self._names else "no models found; type a name in full")
        self._list()

    def _tell(self, text: str) -> None:
        state = self.query_one("#state", Static)
        state.update(Content(clean(text)))
        state.display = bool(text)

    @on(Input.Changed)
    def _list(self) -> None:
        typed = self.query_one(Input).value.strip()
        self._fitting = [name for name in self._names if typed.lower() in name.lower()]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(Content(flat(name))) for name in self._fitting])
        options.highlighted = 0 if self._fitting else None

    @on(Input.Submitted)
    def _use(self) -> None:
        place = self.query_one(OptionList).highlighted
        typed = self.query_one(Input).value.strip()
        self.dismiss(self._fitting[place] if place is not None else typed or None)

    @on(OptionList.OptionSelected)
    def _click(self, selected: OptionList.OptionSelected) -> None:
        self.dismiss(self._fitting[selected.option_index])
