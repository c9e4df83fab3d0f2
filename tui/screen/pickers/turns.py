"""`/rewind`: the turns of the session, and what goes back to before one."""

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.widgets import Input, Static

from ogcode.tui.desks.desk import Status
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.pickers.picker import Picker, Row

_PARTS = {
    "both": "files and conversation",
    "conversation": "the conversation alone; files stay as they are",
    "files": "files alone; nothing that was said is taken back",
}


class TurnPicker(Picker):
    """Gives a turn and a part, as `/rewind` takes them."""

    HEADING = "Go back to before a turn"
    HINT = "type to search · ↑↓ choose · Enter take it · Esc back"

    def __init__(self, turns: Sequence[tuple[int, str]], status: Callable[[], Status]) -> None:
        super().__init__(status)
        self._turns = {str(number): asked for number, asked in turns}
        self._turn = ""

    def on_mount(self) -> None:
        super().on_mount()
        self.fill(_row(number, asked) for number, asked in self._turns.items())

    def taken(self) -> str:
        """Give both once both are chosen; a turn alone leads to the choice of a part."""
        chosen = super().taken()
        if not chosen or self._turn:
            return f"{self._turn} {chosen}" if chosen else ""
        self._turn = chosen
        self.query_one(".title", Static).update(Content(f"What goes back to before turn {chosen}?"))
        self.query_one(Input).value = ""
        self.fill(Row(part, Content(says), says) for part, says in _PARTS.items())
        return ""


def _row(number: str, asked: str) -> Row:
    said = flat(asked)[:400]
    return Row(number, Content.assemble((f"{number:>4}  ", "dim"), said), f"{number} {said}")
