"""How what is asked gets its answer on the screen: questions, plans, and files that nobody has accepted."""

from typing import TYPE_CHECKING

from textual.content import Content

from ogcode.agent.tools.ask_user import Question
from ogcode.tui.behind.plans import approved, not_yet, ways_on
from ogcode.tui.desks.rights import Unbelieved
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.card import Asks, paragraph
from ogcode.tui.screen.diff import Diff

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from ogcode.tui.screen.app import Ogcode

_MOST = 5
"""Files that are shown one by one; of more it is only told."""


async def answer(app: "Ogcode", question: Question) -> str:
    """Put a question to the user, and give the answer as the model reads it."""
    from ogcode.tui.screen.question import PlanCard, QuestionCard  # only where something is asked

    if not question.plan:
        return await app.approvals.answer(QuestionCard(question, app.approvals.clock))
    card = PlanCard(question, ways_on(app.desk.status().mode), app.approvals.clock)
    said = await app.approvals.answer(card)
    if not card.mode:
        return not_yet(said)
    told = approved(app.desk, card.mode)
    app.look()
    return told


async def show_unbelieved(app: "Ogcode") -> None:
    """Show what was changed outside ogcode, each once, and believe what the user accepts."""
    new = [
        each for each in app.desk.rights.unbelieved() if (each.file.name, each.file.text) not in app.approvals.refused
    ]
    app.approvals.refused.update((each.file.name, each.file.text) for each in new)
    for seen in new[:_MOST]:
        if await app.approvals.answer(ChangedCard(seen, app.approvals.clock)):
            await app.transcript.say(app.desk.rights.believe(seen))
    if (left := len(new) - _MOST) > 0:
        await app.transcript.say(f"{left:,} more files of facts were changed outside ogcode; --trust accepts all")


class ChangedCard(Asks[bool]):
    """A file of facts that is not as it was accepted."""

    def __init__(self, seen: Unbelieved, clock: "Callable[[], float]") -> None:
        super().__init__(Content.assemble((flat(seen.file.name), "bold"), " was changed outside ogcode"), clock)
        self._seen = seen

    def told(self) -> "ComposeResult":
        yield paragraph(Content("The model is told what you had accepted, until you accept this change."), "why")

    def body(self) -> "ComposeResult":
        name = flat(self._seen.file.name)
        head, between, rest = self._seen.difference.partition("@@ ")
        yield Diff(f"--- {name}\n+++ {name}\n{between}{rest}" if between else head)

    def keys(self) -> tuple[tuple[str, str], ...]:
        return ("y", "accept it as shown"), ("n", "not now")

    def press(self, key: str, character: str) -> bool:  # noqa: ARG002  # a card's way
        if key in ("y", "n"):
            self.decide(key == "y")
        return key in ("y", "n")

    def leave(self) -> None:
        self.decide(False)
