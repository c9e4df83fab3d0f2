"""`!command`: what the user runs, its output shown as it comes."""

import codecs
from typing import TYPE_CHECKING

from textual.content import Content
from textual.worker import Worker

from ogcode.agent.clean import clean, fold_returns
from ogcode.tui.desks.prompt import PromptDesk, Ran
from ogcode.tui.screen.blocks.fold import Fold
from ogcode.tui.screen.blocks.lines import flat

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

_LIVE = 10
"""Lines that are shown while it runs, and once it has ended until it is unfolded."""
_KEPT = 16_000
"""Characters of them."""
_LONGEST = 400
_TICK = 0.1
"""Seconds between two pictures of the output, however fast it comes."""


def is_own(text: str) -> bool:
    """Tell a command of the user's own from a message."""
    return text.startswith("!") and bool(text.lstrip("!").strip())


class OwnBlock(Fold):
    """A command of the user's own, and the end of what it prints."""

    def __init__(self, command: str, *, told: bool) -> None:
        super().__init__()
        self._command = command
        self._told = told
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._tail = ""
        self._fresh = False
        self._ran: Ran | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.folded = False
        self._ticking = self.set_interval(_TICK, self._tick)

    def feed(self, piece: bytes) -> None:
        self._tail = (self._tail + self._decode(piece))[-_KEPT:]
        self._fresh = True

    def finish(self, ran: Ran) -> None:
        """Show what came of it."""
        self._ran = ran
        self._ticking.stop()
        self.folded = len(ran.output.splitlines()) > _LIVE
        self.draw()

    def _tick(self) -> None:
        if self._fresh:
            self._fresh = False
            self.draw()

    def head(self) -> Content:
        name = Content.styled("!" if self._told else "!!", "bold")
        if self._ran is None:
            state = Content.styled("… Esc stops it", "dim")
        else:
            lines = len(self._ran.output.splitlines())
            sign = ("✗ ", "$error") if self._ran.failed else ("✓ ", "$success")
            state = Content.assemble(sign, (f"{lines:,} line{'' if lines == 1 else 's'}", "dim"))
        beside = Content.styled("goes with the message that follows" if self._told and self._ran else "", "dim")
        shown = Content(flat(self._command)[:_LONGEST])
        return Content("  ").join(part for part in (name, shown, state, beside) if part.plain)

    def body(self) -> Content:
        text = self._ran.output if self._ran else clean(fold_returns(self._tail), prose=True).rstrip("\n")
        lines = text.split("\n") if self._ran else text.split("\n")[-_LIVE:]
        return Content("\n".join(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines))


class OwnCommands:
    """Runs them, one at a time."""

    def __init__(self, app: "Ogcode", desk: PromptDesk) -> None:
        self._app = app
        self._desk = desk
        self._running: Worker[None] | None = None

    async def run(self, text: str) -> None:
        """Run `!command`, which the next message tells the model, or `!!command`, which it does not."""
        told = not text.startswith("!!")
        command = text.removeprefix("!").removeprefix("!").strip()
        if self._running:
            await self._app.transcript.say("a command of yours is running; Esc stops it", "warning")
            self._app.prompt.put(text)
            return
        block = OwnBlock(command, told=told)
        await self._app.transcript.add(block)
        self._running = self._app.run_worker(self._run(block, command, told=told), group="own", exit_on_error=False)

    def stop(self) -> bool:
        """Stop the one that runs; False where none does."""
        if self._running is None:
            return False
        self._running.cancel()
        return True

    async def _run(self, block: OwnBlock, command: str, *, told: bool) -> None:
        ran = Ran("[stopped by the user]", failed=True)
        try:
            ran = await self._desk.run(command, block.feed, tell=told)
        except (OSError, ValueError) as error:
            ran = Ran(f"it can't be started: {clean(str(error))}", failed=True)
        finally:
            self._running = None
            if block.is_attached:
                block.finish(ran)
