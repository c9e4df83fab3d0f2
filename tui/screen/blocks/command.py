"""A command: what it prints is seen while it runs."""

import re
from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer

from ogcode.agent.clean import clean
from ogcode.agent.events import ToolFinished
from ogcode.agent.turn import ToolCall
from ogcode.tui.calls import given
from ogcode.tui.screen.blocks.call import ToolBlock
from ogcode.tui.screen.blocks.lines import flat

_LOOKS = 0.2
"""Seconds between two looks at a running command: however much it prints, this is what it costs."""

_TAIL = 5
_LONG_TAIL = 20
"""Lines of it that are shown while it runs; the second where it is unfolded."""

_LONGEST_LINE = 1_000
_ENDED = re.compile(r"exit [1-9]\d*(?: \([^()\n]*\))?")
"""A line near the end of what a command that failed has printed."""
_GOES_ON = re.compile(r"\[job '.*' is running: .*\]")


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
        first, *more = [
            line for line in clean(str(given(self.call).get("command", ""))).split("\n") if line.strip()
        ] or [""]
        return f"{named}{flat(first[:_LONGEST_LINE])} …" if more else f"{named}{super().about()}"

    def state(self) -> Content:
        if self.result is None or self.result.failed:
            return super().state()
        last = self.result.output.rstrip("\n").split("\n")[-_TAIL:]
        if ended := next((line for line in reversed(last) if _ENDED.fullmatch(line)), ""):
            return Content.assemble(("✗ ", "$error"), flat(ended), (f", {self.gist(self.result.output)}", "dim"))
        if _GOES_ON.fullmatch(last[-1]):
            return Content.assemble(("✓ ", "$success"), ("in the background, Ctrl+B shows it", "dim"))
        return super().state()

    def gist(self, output: str) -> str:
        return "no output" if output == "(no output)" else super().gist(output)

    def given(self) -> list[Content]:
        return [] if self.folded else super().given()

    def output(self) -> list[Content]:
        if not self.running or not self._seen:
            return super().output()
        lines = clean(self._seen, prose=True).split("\n")[-(_TAIL if self.folded else _LONG_TAIL) :]
        return [Content.styled("\n".join(line[:_LONGEST_LINE] for line in lines), "dim")]
