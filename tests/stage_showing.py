"""What a desk that plays scripted turns shows of its session."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from ogcode.tui.behind.context import Part
from ogcode.tui.commands.checks import Check


@dataclass
class StagedShowing:
    """A `ShowingDesk` that shows what it was given."""

    parts: Sequence[Part] = (Part("system", 300), Part("tools", 700, "read, edit"), Part("free", 7_000))
    costs: str = "this turn     1,200 tokens sent, 34 received"
    said: list[str] = field(default_factory=list)
    diffs: Sequence[str] = ()
    found: Sequence[Check] = (Check("trust", "trusted"), Check("sandbox", "none", "warning"))

    async def context(self) -> Sequence[Part]:
        return self.parts

    def cost(self) -> str:
        return self.costs

    def answers(self) -> Sequence[str]:
        return self.said

    def changes(self) -> Sequence[str]:
        return self.diffs

    async def checks(self) -> AsyncIterator[Check]:
        for check in self.found:
            yield check
