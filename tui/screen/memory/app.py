"""The memory view by itself, as `ogcode memory` opens it on a terminal."""

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from ogcode.agent.config import Theme
from ogcode.tui.memory.desk import MemoryDesk
from ogcode.tui.screen.memory.screen import MemoryScreen
from ogcode.tui.screen.themes import Themed


class MemoryApp(App[int]):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+d", "leave", show=False, priority=True),
        Binding("ctrl+l", "redraw", show=False, priority=True),
    ]

    def __init__(self, desk: MemoryDesk, *, theme: Theme = "auto", note: str = "", query: str = "") -> None:
        super().__init__(ansi_color=True)
        Themed(self).wear(theme)
        self._view = MemoryScreen(desk, note=note, query=query)

    def on_mount(self) -> None:
        self.push_screen(self._view, lambda _: self.exit(0))

    def action_leave(self) -> None:
        self.exit(0)

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)


def run_memory_app(desk: MemoryDesk, *, theme: Theme) -> int:
    """Run the view until the user leaves it; return the exit code."""
    app = MemoryApp(desk, theme=theme)
    try:
        app.run()
    finally:
        desk.close()
    return app.return_code or 0
