"""One line to write: what a session is to be called."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class NameScreen(ModalScreen[str | None]):
    """Gives the name; an empty one takes the old one away."""

    CSS_PATH = "pickers.tcss"
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self._name_now = name
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(Content(f"A name for: {self._title}"), markup=False, classes="title")
            yield Input(self._name_now, placeholder="No name", select_on_focus=False)
            yield Static(Content("Enter gives it the name · Esc back"), markup=False, classes="keys")

    @on(Input.Submitted)
    def _take(self, submitted: Input.Submitted) -> None:
        self.dismiss(submitted.value.strip())

    def action_leave(self) -> None:
        self.dismiss(None)
