"""What `/remember` and `/forget` ask for on a desk that plays scripted turns."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class StagedRemembering:
    """A `RememberDesk` that offers what it was given."""

    lines: Sequence[str] = ()
    kept: list[str] = field(default_factory=list)
    forgotten: list[int] = field(default_factory=list)
    offered: int = 0

    async def remember(self, text: str) -> str:
        self.kept.append(text)
        return f"remembered m-7f3a (project): {text}"

    async def offer(self, words: str) -> Sequence[str]:
        found = [line for line in self.lines if words in line]
        self.offered = len(found)
        return found

    async def forget(self, numbers: Sequence[int]) -> str:
        self.forgotten += numbers
        self.offered = 0
        return f"forgotten: {len(numbers)}"
