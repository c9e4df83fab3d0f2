"""One line that unfolds."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static


class Fold(Vertical, can_focus=True):
    """A head, and a body that is drawn only while it is seen."""

    folded = var(True, toggle_class="folded")

    class Leave(Message):
        """The user is done here; `typed` belongs in the prompt."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    def __init__(self) -> None:
        super().__init__()
        self._head = Static(markup=False, classes="head")
        self._body = Static(markup=False, classes="body")

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._body

    def on_mount(self) -> None:
        self.draw()

    def head(self) -> Content:
        raise NotImplementedError

    def body(self) -> Content:
        raise NotImplementedError

    def draw(self) -> None:
        """Show what holds now."""
        self._head.update(Content.assemble(("▸ " if self.folded else "▾ ", "dim"), self.head()), layout=False)
        if not self.folded:
            self._body.update(self.body())

    def watch_folded(self) -> None:
        if self.is_mounted:
            self.draw()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self._head:
            self._turn()

    def _turn(self) -> None:
        """Unfold or fold; who unfolds something long reads it from its beginning."""
        self.folded = not self.folded
        self.call_after_refresh(self._head.scroll_visible, animate=False)

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "enter" | "space":
                self._turn()
            case "up":
                self.screen.focus_previous(Fold)
            case "down":
                self.screen.focus_next(Fold)
            case "escape":
                self.post_message(self.Leave())
            case _ if event.character and event.is_printable:
                self.post_message(self.Leave(event.character))
            case _:
                return
        event.stop()
