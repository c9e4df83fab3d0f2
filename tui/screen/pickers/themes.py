"""`/theme`: how the app looks, shown as one goes through the list."""

from textual.content import Content

from ogcode.agent.settings.config import THEMES, Theme
from ogcode.tui.desks.desk import Desk
from ogcode.tui.screen.pickers.picker import Picker, Row
from ogcode.tui.screen.themes import Themed

SAYS: dict[Theme, str] = {
    "auto": "the terminal's own colours, for a dark or a light background as the terminal says it has",
    "dark": "colours of ogcode's own on a dark ground",
    "light": "colours of ogcode's own on a light ground",
    "ansi": "the sixteen colours of the terminal, as it is set",
    "high-contrast": "white and strong colours on black",
}


class ThemePicker(Picker):
    HEADING = "Choose a theme"

    def __init__(self, desk: Desk, themed: Themed, current: Theme) -> None:
        super().__init__(desk.status)
        self._themed = themed
        self._current = current

    def on_mount(self) -> None:
        super().on_mount()
        self.fill(
            Row(name, Content.assemble((f"{name:<15}", "bold"), SAYS[name]), f"{name} {SAYS[name]}") for name in THEMES
        )
        self.start_at(self._current)

    def looked_at(self, row: Row | None) -> None:
        if row:
            self.tell(SAYS[next(name for name in THEMES if name == row.value)])
            self._themed.wear(next(name for name in THEMES if name == row.value))

    def action_leave(self) -> None:
        self._themed.wear(self._current)
        super().action_leave()
