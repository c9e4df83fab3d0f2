"""The list of slash commands that appears as one is typed, one of them chosen."""

from textual.content import Content
from textual.widgets import Static

from ogcode.tui.screen.actions.command import Command


class Suggestions(Static):
    """The commands that fit what is typed, one of them chosen."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._offered: list[Command] = []
        self._place = 0
        self.display = False

    @property
    def chosen(self) -> Command | None:
        return self._offered[self._place] if self._offered else None

    def offer(self, commands: list[Command]) -> None:
        """Show these, or nothing."""
        if commands == self._offered:
            return
        self._offered, self._place = commands, 0
        self.display = bool(commands)
        self._draw()

    def move(self, step: int) -> None:
        """Choose the next one, round and round."""
        self._place = (self._place + step) % len(self._offered)
        self._draw()

    def _draw(self) -> None:
        rows = [
            Content.assemble(
                (f"{'›' if command is self.chosen else ' '} ", "$accent"),
                (f"{f'{command.name} {command.argument}':<18}", "bold" if command is self.chosen else ""),
                (command.does, "" if command is self.chosen else "dim"),
            )
            for command in self._offered
        ]
        self.update(Content("\n").join(rows))
