"""The card that asks whether a call may run: exactly what it would do, why it asks, and one key to answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from ogcode.agent.clean import clean
from ogcode.agent.turn import ToolCall, Verdict
from ogcode.tui.screen.blocks import flat
from ogcode.tui.screen.diff import painted

_BLIND = 0.3
"""Seconds without a key before a new card takes one: what is typed until then is meant for the prompt."""

_KEYS = (
    ("y", "yes, once"),
    ("a", "always this exact call"),
    ("n", "no"),
    ("r", "no, because…"),
    ("Esc", "stop"),
)


class ApprovalCard(Vertical, can_focus=True):
    """One call that asks; `verdict` is set by a key."""

    class Stopped(Message):
        """The turn is to end, and with it the wait for a verdict."""

    @dataclass
    class Mistyped(Message):
        """A key that came too early to be an answer."""

        character: str

    def __init__(self, call: ToolCall, why: str, preview: str, clock: Callable[[], float]) -> None:
        super().__init__()
        self.call = call
        self.always = False
        self.verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._why = why
        self._preview = preview
        self._clock = clock
        self._quiet = 0.0

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble("Allow ", (flat(self.call.name), "bold"), "?"), markup=False, classes="title")
        yield Static(Content(clean(self._why)), markup=False, classes="why")
        with VerticalScroll(can_focus=False):
            yield Static(painted(self._preview), markup=False)
        yield Input(placeholder="Why not, or what to do instead: the model reads it")
        keys = [Content.assemble((key, "bold $accent"), " ", words) for key, words in _KEYS]
        yield Static(Content("   ").join(keys), markup=False, classes="keys")

    def on_mount(self) -> None:
        self.query_one(Input).display = False
        self.take_keys()

    def take_keys(self) -> None:
        """Listen to keys, once there has been none for a moment."""
        self._quiet = self._clock()
        self.screen.set_focus(self)

    async def on_key(self, event: events.Key) -> None:
        if event.key == "tab" or event.key == "shift+tab":
            event.stop()
            event.prevent_default()
            return
        writing = self.query_one(Input).has_focus
        if writing and event.key != "escape":
            return
        event.stop()
        event.prevent_default()
        now = self._clock()
        if now - self._quiet < _BLIND:
            self._quiet = now
            if event.character and event.is_printable:
                self.post_message(self.Mistyped(event.character))
            return
        if writing:
            self._write(writing=False)
            return
        match event.key:
            case "y":
                self._decide(Verdict(True))
            case "a":
                self.always = True
                self._decide(Verdict(True))
            case "n":
                self._decide(Verdict(False, "the user said no"))
            case "r":
                self._write(writing=True)
            case "escape":
                self.post_message(self.Stopped())
            case _:
                self._scroll(event.key)

    @on(Input.Submitted)
    def _explain(self, submitted: Input.Submitted) -> None:
        submitted.stop()
        self._decide(Verdict(False, submitted.value.strip() or "the user said no"))

    def _decide(self, verdict: Verdict) -> None:
        if not self.verdict.done():
            self.verdict.set_result(verdict)

    def _write(self, *, writing: bool) -> None:
        answer = self.query_one(Input)
        answer.display = writing
        self.screen.set_focus(answer if writing else self)

    def _scroll(self, key: str) -> None:
        body = self.query_one(VerticalScroll)
        match key:
            case "up":
                body.scroll_up(animate=False)
            case "down":
                body.scroll_down(animate=False)
            case "pageup":
                body.scroll_page_up(animate=False)
            case "pagedown":
                body.scroll_page_down(animate=False)


class Approvals(Vertical):
    """The cards that wait for an answer; the first one is shown."""

    class Changed(Message):
        """Another card is shown, or none is left."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._cards: list[ApprovalCard] = []
        self._always = set[tuple[str, str]]()

    @property
    def waits(self) -> bool:
        return bool(self._cards)

    def focus_first(self) -> None:
        """Give the keys to the card that waits, as if it had just come."""
        if self._cards:
            self._cards[0].take_keys()

    def forget(self) -> None:
        """Ask again for what was allowed until now."""
        self._always.clear()

    async def ask(self, call: ToolCall, why: str, preview: str) -> Verdict:
        """Ask the user; an exact call that was always allowed is allowed again."""
        exact = call.name, call.arguments
        if exact in self._always:
            return Verdict(True)
        card = ApprovalCard(call, why, preview, self._clock)
        self._cards.append(card)
        if len(self._cards) == 1:
            self._show()
        try:
            verdict = await card.verdict
        finally:
            shown = card is self._cards[0]
            self._cards.remove(card)
            if shown:
                card.remove()
                self._show()
        if card.always:
            self._always.add(exact)
        return verdict

    def _show(self) -> None:
        if self._cards:
            self.mount(self._cards[0])
        self.post_message(self.Changed())
