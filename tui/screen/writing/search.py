"""Ctrl+R: earlier messages, found as one types."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.writing.past import Past

_SHOWN = 200
_NONE = "no message of this project holds that"
_NOTHING = "nothing was sent in this project yet"


class SearchScreen(ModalScreen[str | None]):
    """Gives the message that was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+g", "dismiss(None)", show=False, priority=True),
        Binding("up", "older(-1)", show=False, priority=True),
        Binding("down", "older(1)", show=False, priority=True),
        Binding("ctrl+r", "older(1)", show=False, priority=True),
        Binding("tab,enter", "choose", show=False, priority=True),
    ]

    def __init__(self, past: Past) -> None:
        super().__init__()
        self._past = past
        self._found: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical():
            yield OptionList(markup=False)
            yield Static(markup=False, id="whole")
            with Horizontal():
                yield Static("Search: ", markup=False, classes="sign")
                yield Input(placeholder="Words of an earlier message")
            yield Static("Enter takes it   Ctrl+R older   Esc back", markup=False, classes="keys")

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self.query_one(Input).focus()
        self._search("")

    @on(Input.Changed)
    def _changed(self, changed: Input.Changed) -> None:
        self._search(changed.value)

    def _search(self, words: str) -> None:
        self._found = self._past.found(words)[:_SHOWN]
        rows = self.query_one(OptionList)
        rows.clear_options()
        rows.add_options(Option(Content(flat(text)[:400])) for text in self._found)
        rows.highlighted = 0 if self._found else None
        self._show_whole()

    @on(OptionList.OptionHighlighted)
    def _show_whole(self) -> None:
        place = self.query_one(OptionList).highlighted
        text = self._found[place] if place is not None else _NONE if self._past.said else _NOTHING
        lines = text.split("\n")
        whole = Content("\n".join(lines[:6] if len(lines) > 1 else []))
        said = self.query_one("#whole", Static)
        said.update(whole if self._found else Content(text))
        said.display = bool(not self._found or len(lines) > 1)

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        place = self.query_one(OptionList).highlighted
        self.dismiss(self._found[place] if place is not None else None)

    def action_older(self, step: int) -> None:
        rows = self.query_one(OptionList)
        if step < 0:
            rows.action_cursor_up()
        else:
            rows.action_cursor_down()
