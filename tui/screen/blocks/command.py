"""A command: what it prints is seen while it runs."""

from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer

from ogcode.agent.clean import clean
from ogcode.agent.events import ToolFinished
from ogcode.agent.turn import ToolCall
from ogcode.tui.calls import given
from ogcode.tui.screen.blocks.call import ToolBlock

_LOOKS = 0.2
"""Seconds between two looks at a running command: however much it prints, this is what it costs."""

_TAIL = 5
_LONG_TAIL = 20
"""Lines of it that are shown while it runs; the second where it is unfolded."""


class CommandBlock(ToolBlock):
    """A command, its last lines while it runs, and all it printed once it has ended."""

    def __init__(self, call: ToolCall, printing: Callable[[], str]) -> None:
        super().__init__(call)
        self._printing = printing
        self._seen = ""
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        if self.running:
            self._timer = self.set_interval(_LOOKS, self.look)

    def look(self) -> None:
        """Show what has been printed by now, where that is new."""
        seen = self._printing() if self.running else ""
        if seen == self._seen:
            return
        self._seen = seen
        self.set_class(bool(seen), "live")
        self._body.update(self.body())

    def finish(self, result: ToolFinished) -> None:
        if self._timer is not None:
            self._timer.stop()
        self.remove_class("live")
        self._seen = ""
        super().finish(result)

    def about(self) -> str:
        job = given(self.call).get("job")
        named = f"[{clean(job)[:40]}] " if isinstance(job, str) and job.strip() else ""
        return f"{named}{super().about()}"

    def gist(self, output: str) -> str:
        return "no output" if output == "(no output)" else super().gist(output)

    def output(self) -> Content:
        if not self.running or not self._seen:
            return super().output()
        lines = clean(self._seen, prose=True).split("\n")[-(_TAIL if self.folded else _LONG_TAIL) :]
        return Content.styled("\n".join(line[:1_000] for line in lines), "dim")
