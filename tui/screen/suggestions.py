"""The list that appears as something is typed that can be completed, one of it chosen."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from ogcode.tui.screen.writing.offers import Offer

_ROWS = 8
_WIDE = 28


class Suggestions(Static):
    def __init__(self) -> None:
        super().__init__(markup=False)
        self._offered: Sequence[Offer] = ()
        self._note = ""
        self._place = 0
        self.moved = False
        """The user has chosen another than the first."""
        self.display = False

    def on_resize(self) -> None:
        self._draw()

    @property
    def chosen(self) -> Offer | None:
        return self._offered[self._place] if self._offered else None

    def offer(self, offered: Sequence[Offer], note: str = "") -> None:
        """Show these with a note below, or nothing; what the user has chosen stays chosen."""
        if (offered, note) == (self._offered, self._note):
            return
        kept = self.chosen if self.moved else None
        self._offered, self._note = offered, note
        self._place = offered.index(kept) if kept and kept in offered else 0
        self.moved = self._place > 0
        self.display = bool(offered or note)
        self._draw()

    def move(self, step: int) -> None:
        """Choose the next one, round and round."""
        self._place = (self._place + step) % len(self._offered)
        self.moved = True
        self._draw()

    def _draw(self) -> None:
        most = max(1, min(_ROWS, self.app.size.height // 3))
        first = min(max(0, self._place - most // 2), max(0, len(self._offered) - most))
        shown = self._offered[first : first + most]
        wide = min(_WIDE, max((len(each.shown) + 2 for each in shown if each.says), default=0))
        rows = [
            Content.assemble(
                (f"{'›' if each is self.chosen else ' '} ", "$accent"),
                (f"{each.shown:<{wide}}", "bold" if each is self.chosen else ""),
                (each.says, "" if each is self.chosen else "dim"),
            )
            for each in shown
        ]
        if left := len(self._offered) - len(shown):
            rows.append(Content.styled(f"  {left} more: Up and Down go to them, or type on", "dim"))
        if self._note:
            rows.append(Content.styled(f"  {self._note}", "dim"))
        self.update(Content("\n").join(rows))
