"""The conversation on the screen: blocks that follow from a turn's events, the oldest dropped where there are many."""

from dataclasses import dataclass
from typing import assert_never

from textual import on
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from ogcode.agent.events import (
    Answered,
    Event,
    Nested,
    ReasoningDelta,
    Retrying,
    Steered,
    SummedUp,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    Waiting,
    Warned,
)
from ogcode.tui.screen.blocks import Ending, Fold, Line, ReasoningBlock, ToolBlock, UserBlock
from ogcode.tui.screen.markdown import Answer, LiveAnswer

MOUNTED = 200
_BATCH = 20


@dataclass
class Happened(Message):
    """Something in the running turn; the transcript shows it, then the app hears of it."""

    event: Event


@dataclass
class TurnOver(Message):
    """The last thing of a turn, whatever became of it."""

    failure: str
    """One sentence, or empty."""


class Transcript(VerticalScroll, can_focus=False):
    def __init__(self) -> None:
        super().__init__()
        self.unfolded = False
        self._dropped = 0
        self._live: LiveAnswer | None = None
        self._reasoning: ReasoningBlock | None = None
        self._tools: dict[str, ToolBlock] = {}
        self._told: str | None = ""
        self._retry: Line | None = None

    def on_mount(self) -> None:
        self.anchor()

    async def say(self, text: str, kind: str = "quiet") -> None:
        """Show a line of the app's own."""
        await self.add(Line(text, kind))

    async def ask(self, text: str) -> None:
        """Show the user's message, with which a turn begins."""
        self._told = None
        self.anchor()
        await self.add(UserBlock(text))

    async def recount(self, request: str, answer: str) -> None:
        """Show an earlier turn."""
        await self.add(UserBlock(request))
        if answer.strip():
            await self.add(Answer(answer))

    async def clear(self) -> None:
        self._dropped = 0
        self._tools.clear()
        await self.remove_children()

    def toggle(self) -> None:
        """Unfold everything, or fold everything."""
        self.unfolded = not self.unfolded
        for fold in self.query(Fold):
            fold.folded = not self.unfolded

    async def add(self, block: Widget) -> None:
        """Show a block below all others."""
        if isinstance(block, Fold) and self.unfolded:
            block.folded = False
        await self.mount(block)
        if len(self.children) > MOUNTED:
            await self._drop(_BATCH)

    async def _drop(self, count: int) -> None:
        oldest = list(self.children[: count + bool(self._dropped)])
        self._dropped += count
        height = sum(each.outer_size.height for each in oldest)
        with self.app.batch_update():
            await self.remove_children(oldest)
            told = f"{self._dropped:,} earlier blocks are not shown; they are in the session and in memory"
            await self.mount(Line(told), before=0)
        if self._anchor_released:  # a reader has scrolled up: what is read stays where it is
            self.scroll_to(y=self.scroll_y - height + 1, animate=False)
        else:
            self.anchor()

    @on(Happened)
    async def show(self, happened: Happened) -> None:
        event = happened.event
        if not self.is_running:
            return
        match event:
            case TextDelta(text):
                await self._write(text)
            case ReasoningDelta(text):
                await self._think(text)
            case Retrying(reason, seconds):
                await self._void()
                await self._replace_retry(f"trying again in {seconds:.0f} s: {reason}")
            case Answered(text):
                await self._freeze(text)
            case Steered(text):
                await self.add(UserBlock(text))
            case ToolStarted(call):
                self._tools[call.id] = ToolBlock(call)
                await self.add(self._tools[call.id])
            case ToolFinished(call):
                if call.id in self._tools:
                    self._tools[call.id].finish(event)
            case Nested(name, inner):
                self._nested(name, inner)
            case Warned(text):
                await self.say(text, "warning")
            case SummedUp(text):
                if text:
                    await self.say("summed up the turn so far, to make room")
            case Waiting():
                pass  # the line of activity says it
            case TurnFinished():
                await self._close()
                self._told = event.turn.reason
                await self.add(Ending(event))
            case _:
                assert_never(event)

    @on(TurnOver)
    async def close(self, over: TurnOver) -> None:
        """Leave nothing half open, and show a failure that the turn itself did not tell."""
        if not self.is_running:
            return
        await self._close()
        if self._told is None or over.failure not in ("", self._told):
            await self.say(over.failure or "interrupted", "warning")
        self._told = ""
        self._tools.clear()

    async def _write(self, text: str) -> None:
        await self._replace_retry("")
        self._reasoning = None
        if self._live is None:
            self._live = LiveAnswer()
            await self.add(self._live)
        await self._live.write(text)

    async def _think(self, text: str) -> None:
        await self._replace_retry("")
        if self._reasoning is None:
            self._reasoning = ReasoningBlock()
            await self.add(self._reasoning)
        self._reasoning.write(text)

    async def _freeze(self, text: str) -> None:
        """Put the finished answer where the live one was."""
        self._reasoning = None
        await self._replace_retry("")
        live, self._live = self._live, None
        if live is None:
            if text.strip():
                await self.add(Answer(text))
            return
        await live.finish()
        with self.app.batch_update():
            if text.strip():
                await self.mount(Answer(text), before=live)
            await live.remove()

    async def _void(self) -> None:
        for block in (self._live, self._reasoning):
            if block is not None:
                await block.remove()
        self._live = self._reasoning = None

    async def _close(self) -> None:
        await self._freeze(self._live.text if self._live else "")
        for tool in self._tools.values():
            tool.stop()

    async def _replace_retry(self, text: str) -> None:
        if self._retry is not None:
            await self._retry.remove()
        self._retry = Line(text, "warning") if text else None
        if self._retry is not None:
            await self.add(self._retry)

    def _nested(self, name: str, event: Event) -> None:
        running = [tool for tool in self._tools.values() if tool.running]
        for tool in [tool for tool in running if tool.call.name == name] or running:
            tool.note(event)
            return
