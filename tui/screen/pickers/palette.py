"""Ctrl+P: all commands, found by a few of their letters."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.fuzzy import FuzzySearch

from ogcode.tui.desks.desk import Status
from ogcode.tui.screen.actions.catalogue import COMMANDS, named
from ogcode.tui.screen.pickers.picker import Picker, Row

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


class Palette(Picker):
    HEADING = "Commands"

    def __init__(self, status: Callable[[], Status]) -> None:
        super().__init__(status)
        self._search = FuzzySearch()

    def on_mount(self) -> None:
        super().on_mount()
        self.fill(
            Row(
                each.name,
                Content.assemble((f"{f'{each.name} {each.argument}':<25}", "bold"), (each.does, "dim")),
                " ".join((each.name, *each.aliases, each.does)),
            )
            for each in COMMANDS
        )

    def fitting(self, typed: str) -> Sequence[Row]:
        if not typed:
            return self._rows
        scored = [(self._score(typed, row), row) for row in self._rows]
        return [row for score, row in sorted(scored, key=lambda each: -each[0]) if score > 0]

    def _score(self, typed: str, row: Row) -> float:
        """A name counts for more than what is said of it, and that only with its words."""
        names = (word for word in row.words.split() if word.startswith("/"))  # no command begins with another word
        named = max(self._search.match(typed, name)[0] for name in names)
        said = all(word in row.words.casefold() for word in typed.casefold().split())
        return named * 10 + said


def show_palette(app: "Ogcode") -> None:
    """Let a command be chosen; one that needs words is put into the prompt, to be gone on with."""
    if len(app.screen_stack) > 1:
        return

    def chosen(name: str | None) -> None:
        app.approvals.focus_first()
        if not name or not (command := named(name)):
            return
        if command.argument and not command.argument.startswith("["):
            app.prompt.put(f"{name} ")
        else:
            app.call_later(app.command, name, name, "")

    app.push_screen(Palette(app.desk.status), chosen)
