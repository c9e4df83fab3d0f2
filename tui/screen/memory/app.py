"""The memory view by itself, as `ogcode memory` opens it on a terminal."""

from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver

from ogcode.agent.settings.config import Theme
from ogcode.tui.memory.desk import MemoryDesk
from ogcode.tui.screen.driver import driver_of
from ogcode.tui.screen.memory.screen import MemoryScreen
from ogcode.tui.screen.parser import Background
from ogcode.tui.screen.terminal import copy, hear_signals
from ogcode.tui.screen.themes import Themed


class MemoryApp(App[int]):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "copy_or_leave", show=False, priority=True),
        Binding("ctrl+d", "leave(0)", show=False, priority=True),
        Binding("ctrl+l", "redraw", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(
        self,
        desk: MemoryDesk,
        *,
        theme: Theme = "auto",
        note: str = "",
        query: str = "",
        driver: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver, ansi_color=True)
        self._themed = Themed(self)
        self._themed.wear(theme)
        self._view = MemoryScreen(desk, note=note, query=query)

    def on_mount(self) -> None:
        self.push_screen(self._view, lambda _: self.exit(0))
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
        self._themed.ask()
        if not self.is_headless:
            hear_signals(self.action_leave)

    @on(Background)
    def _learn_background(self, told: Background) -> None:
        self._themed.learn(dark=told.dark)

    def action_leave(self, code: int) -> None:
        self.exit(code, return_code=code)

    def action_copy_or_leave(self) -> None:
        """Copy what is selected; without a selection, leave."""
        if selected := self.screen.get_selected_text():
            self._view.say(copy(self, selected))
            self.screen.clear_selection()
        else:
            self.exit(0)

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)


def run_memory_app(desk: MemoryDesk, *, theme: Theme, log: Path) -> int:
    """Run the view until the user leaves it and give the exit code; stray prints go to `log`.

    Raises:
        Exception: what ended it before its time; the terminal is as it was.
    """
    app = MemoryApp(desk, theme=theme, driver=driver_of(None, log))
    try:
        app.run()
    finally:
        desk.close()
    if failure := app._exception:
        raise failure
    return app.return_code or 0
