"""Memory as a person reads it: the notes, newest first, and the text of one beside them."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ogcode.agent.clean import clean
from ogcode.agent.memory.switch import MEANS, SWITCHES
from ogcode.tui.desk import Desk, NoteLine
from ogcode.tui.screen.blocks import flat
from ogcode.tui.screen.status import StatusLine


class MemoryScreen(Screen[None]):
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("slash", "filter", show=False, priority=True),
        Binding("pagedown,space", "read(1)", show=False),
        Binding("pageup", "read(-1)", show=False),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._notes: list[NoteLine] = []

    def compose(self) -> ComposeResult:
        switch = self._desk.status().memory
        state = f"Memory is {switch}: {MEANS[switch]} · /memory {'|'.join(SWITCHES)}"
        yield Static(state, markup=False, classes="title")
        yield Input(placeholder="Filter the notes")
        with Horizontal():
            yield OptionList(markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(markup=False, id="note")
        yield Static(
            "↑↓ choose · PgUp PgDn read · / filter · Esc back",
            markup=False,
            classes="keys",
        )
        yield StatusLine(self._desk.status)

    def on_mount(self) -> None:
        self.query_one(Input).display = False
        self._list("")

    def action_back(self) -> None:
        field = self.query_one(Input)
        if not field.has_focus:
            self.dismiss()
            return
        field.display = False
        field.value = ""
        self.query_one(OptionList).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:  # noqa: ARG002  # Textual's
        return action != "filter" or self.focused is not self.query_one(Input)

    def action_filter(self) -> None:
        field = self.query_one(Input)
        field.display = True
        self.set_focus(field)

    def action_read(self, pages: int) -> None:
        text = self.query_one(VerticalScroll)
        text.scroll_relative(y=pages * max(text.size.height - 2, 1), animate=False)

    @on(Input.Changed)
    def _filter(self, changed: Input.Changed) -> None:
        self._list(changed.value.strip())

    @on(Input.Submitted)
    def _choose(self) -> None:
        self.query_one(OptionList).focus()

    @on(OptionList.OptionHighlighted)
    def _read(self, highlighted: OptionList.OptionHighlighted) -> None:
        note = self._notes[highlighted.option_index]
        self.query_one("#note", Static).update(Content(clean(self._desk.read_note(note.id), prose=True)))
        self.query_one(VerticalScroll).scroll_home(animate=False)

    def _list(self, query: str) -> None:
        self._notes = list(self._desk.notes(query))
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(_row(note)) for note in self._notes])
        if self._notes:
            options.highlighted = 0
            return
        self.query_one("#note", Static).update(
            Content(f"No note fits “{flat(query)}”." if query else "There are no notes yet; each turn leaves one.")
        )


def _row(note: NoteLine) -> Content:
    origin = "" if note.origin == "own" else f" · {flat(note.origin)}"
    return Content.assemble(
        (flat(note.title), "bold"),
        "\n",
        (flat(note.when), "dim"),
        (origin, "$warning"),
        (" · pending" if note.pending else "", "$accent"),
        "\n",
        (flat(note.topics), "dim"),
    )
