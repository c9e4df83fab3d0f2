"""A question to the librarian, and its answer with links to the notes that it rests on."""

from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from ogcode.agent.clean import clean
from ogcode.tui.memory.desk import MemoryDesk, NotDone
from ogcode.tui.screen.memory.paint import Painted, chosen, painted

_ASK = "Enter asks · Esc back"
_LINKED = "Tab to a citation · Enter asks again · Esc back"
_OPEN = "Enter opens the note · Tab the next · Esc back"


class AskScreen(ModalScreen[str | None]):
    """Gives the id of the note that the user goes to, or None."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("tab", "next_link", show=False, priority=True),
    ]

    def __init__(self, desk: MemoryDesk) -> None:
        super().__init__()
        self._desk = desk
        self._answer = Painted(Content(""))
        self._link = -1

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Input(placeholder="Ask the librarian about earlier turns")
            yield Static(markup=False, id="answer")
            yield Static(_ASK, markup=False, id="keys")

    def action_leave(self) -> None:
        """Stop asking, if it is, and go."""
        self.workers.cancel_node(self)
        self.dismiss(None)

    def action_next_link(self) -> None:
        if self._answer.links:
            self._link = (self._link + 1) % len(self._answer.links)
            self._draw()

    @on(Input.Submitted)
    def _entered(self, submitted: Input.Submitted) -> None:
        if self._link >= 0:
            self.dismiss(self._answer.links[self._link].note)
        elif question := submitted.value.strip():
            self._ask(question)

    @on(Input.Changed)
    def _other(self) -> None:
        self._link = -1
        self._draw()

    @work(exclusive=True)
    async def _ask(self, question: str) -> None:
        self._answer = Painted(Content.styled("asking…", "dim"))
        self._draw()
        try:
            self._answer = painted(await self._desk.ask(question))
        except NotDone as error:
            self._answer = Painted(Content.styled(clean(str(error)), "$warning"))
        self._draw()

    def _draw(self) -> None:
        link = self._answer.links[self._link] if self._link >= 0 else None
        self.query_one("#answer", Static).update(chosen(self._answer.content, link))
        self.query_one("#keys", Static).update(_OPEN if link else _LINKED if self._answer.links else _ASK)

    def on_click(self, event: events.Click) -> None:
        if note := event.style.meta.get("note"):
            self.dismiss(str(note))
