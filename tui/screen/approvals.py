"""What waits for the user: cards one after the other, whoever put them there."""

from collections.abc import Callable
from typing import TypeVar

from textual.containers import Vertical
from textual.message import Message

from ogcode.agent.turn import ToolCall, Verdict
from ogcode.tui.desks.rights import Asking
from ogcode.tui.screen.approval import ApprovalCard
from ogcode.tui.screen.card import Asks, Card

Given = TypeVar("Given")


class Approvals(Vertical):
    """The cards that wait for an answer; the first one is shown."""

    class Changed(Message):
        """Another card is shown, or none is left."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self.clock = clock
        self.refused = set[tuple[str, str]]()
        """Name and text of files that were shown and not accepted."""
        self._cards: list[Card] = []
        self._answered = 0
        self._always = set[tuple[str, ...]]()

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

    async def ask(self, call: ToolCall, asking: Asking) -> Verdict:
        """Ask the user; an exact call that was always allowed is so again, for the same reason in the same bounds."""
        exact = call.name, call.arguments, asking.why, asking.boundary
        if exact in self._always:
            return Verdict(True)
        card = ApprovalCard(call, asking, self.clock)
        verdict = await self.answer(card)
        if card.always:
            self._always.add(exact)
        return verdict

    async def answer(self, card: Asks[Given]) -> Given:
        """Show a card when its turn comes, and wait for its answer."""
        self._cards.append(card)
        if len(self._cards) == 1:
            self._answered = 0
            self._show()
        else:
            self._count()
        try:
            return await card.answer
        finally:
            shown = card is self._cards[0]
            self._cards.remove(card)
            if shown:
                self._answered += 1
                card.remove()
                self._show()
            else:
                self._count()

    def _show(self) -> None:
        if self._cards:
            self.mount(self._cards[0])
        self._count()
        self.post_message(self.Changed())

    def _count(self) -> None:
        if self._cards:
            self._cards[0].count(self._answered + 1, self._answered + len(self._cards))
