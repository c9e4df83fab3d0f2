"""The conversation on the screen: blocks that follow from a turn's events, the oldest dropped where there are many."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, assert_never

from textual import on
from textual.message import Message
from textual.widget import Widget

from ogcode.agent.clean import clean
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
from ogcode.agent.turn import ToolCall
from ogcode.tui.desks.work import WorkDesk
from ogcode.tui.screen.blocks.call import ToolBlock
from ogcode.tui.screen.blocks.fold import Fold
from ogcode.tui.screen.blocks.kinds import tool_block
from ogcode.tui.screen.blocks.lines import Ending, Line, UserBlock
from ogcode.tui.screen.blocks.thought import ReasoningBlock
from ogcode.tui.screen.markdown import Answer
from ogcode.tui.screen.window import Again, Window

if TYPE_CHECKING:
    from ogcode.tui.screen.live import LiveAnswer

_INNER = 200
"""Events of a call's helpers that are kept to show them again."""


@dataclass
class Happened(Message):
    """Something in the running turn; the transcript shows it, then the app hears of it."""

    event: Event


@dataclass
class TurnOver(Message):
    """The last thing of a turn, whatever became of it."""

    failure: str
    """One sentence, or empty."""


class Transcript(Window, can_focus=False):
    def __init__(self) -> None:
        super().__init__()
        self.unfolded = False
        self.work: WorkDesk | None = None
        self._inner = dict[str, deque[Event]]()
        """What helpers inside calls did, by call."""
        self._live: LiveAnswer | None = None
        self._said = ""
        """By it, so far."""
        self._parts = list[tuple[Answer, str]]()
        """What of the answer that is being written will not change any more."""
        self._reasoning: ReasoningBlock | None = None
        self._tools: dict[str, ToolBlock] = {}
        self._told: str | None = ""
        self._retry: Line | None = None

    async def say(self, text: str, kind: str = "quiet") -> None:
        """Show a line of the app's own."""
        await self._show(partial(Line, text, kind))

    async def ask(self, text: str) -> None:
        """Show the user's message, with which a turn begins."""
        self._told = None
        self.anchor()
        await self._show(partial(UserBlock, text))

    async def resume(self, earlier: Sequence[tuple[str, str]]) -> None:
        """Show earlier turns instead of what is there, each its request and its answer."""
        await self.empty()
        blocks = list[Again]()
        for request, answer in earlier:
            blocks.append(partial(UserBlock, request))
            if answer.strip():
                blocks.append(partial(Answer, answer))
        await self.fill(blocks)

    async def _show(self, again: Again) -> None:
        """Show a block that never changes."""
        await self.add(again(), again)

    async def clear(self) -> None:
        self._tools.clear()
        self._inner.clear()
        await self.screen.query("StepsPanel").remove()
        await self.empty()

    def toggle(self) -> None:
        """Unfold everything, or fold everything."""
        self.unfolded = not self.unfolded
        for fold in self.query(Fold):
            fold.folded = not self.unfolded

    async def add(self, block: Widget, again: Again | None = None) -> None:
        """Show a block below all others."""
        if isinstance(block, Fold) and self.unfolded:
            block.folded = False
        await super().add(block, again)

    def again(self, block: Widget) -> Again | None:
        match block:
            case ToolBlock(running=False, result=ToolFinished() as result):
                return partial(_retold, block.call, tuple(self._inner.pop(block.call.id, ())), result, block.difference)
            case ReasoningBlock() if block is not self._reasoning:
                return partial(_rethought, block.text)
            case Fold() if not isinstance(block, ToolBlock | ReasoningBlock):
                return partial(Line, block.head())  # what it holds is told elsewhere
        return super().again(block)

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
            case Retrying():
                await self._void()
                await self._replace_retry(event.words)
            case Answered(text):
                await self._freeze(text)
            case Steered(text):
                await self._show(partial(UserBlock, text))
            case ToolStarted(call):
                self._tools[call.id] = tool_block(call, self.work)
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
                await self._show(partial(Ending, event))
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
            from ogcode.tui.screen.live import LiveAnswer  # slow to load: not at the start

            self._live = LiveAnswer()
            await self.add(self._live)
        self._said += text
        self._live.write(text)
        if taken := self._live.take():  # what grows stays short, however long the answer gets
            part, answer = taken
            self._parts.append((answer, part))
            await self.mount(answer, before=self._live)

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
        parts, self._parts = self._parts, []
        said, self._said = self._said, ""
        if live is None:
            if text.strip():
                await self._show(partial(Answer, text))
            return
        shown = "".join([*(part for _, part in parts), live.rest()])
        kept = text == said and shown == clean(text, prose=True)  # else it was broken where it should not be
        rest = live.rest() if kept else text
        with self.app.batch_update():
            if rest.strip():
                again = partial(Answer, rest)
                await self.put(again(), again, before=live)
            await self.remove_children([*(block for block, _ in parts if not kept), live])
        for block, part in parts if kept else ():
            self.settle(block, partial(Answer, part))

    async def _void(self) -> None:
        for block in (*(block for block, _ in self._parts), self._live, self._reasoning):
            if block is not None:
                await block.remove()
        self._live = self._reasoning = None
        self._parts.clear()
        self._said = ""

    async def _close(self) -> None:
        await self._freeze(self._said)
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
            self._inner.setdefault(tool.call.id, deque(maxlen=_INNER)).append(event)
            return


def _retold(call: ToolCall, inner: Sequence[Event], result: ToolFinished, difference: str) -> ToolBlock:
    block = tool_block(call, None, difference)
    for event in inner:
        block.note(event)
    block.finish(result)
    return block


def _rethought(text: str) -> ReasoningBlock:
    block = ReasoningBlock()
    block.write(text)
    return block
