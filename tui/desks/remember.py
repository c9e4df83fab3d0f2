"""What the app needs to keep a fact and to forget facts and notes at a person's word."""

from collections.abc import Sequence
from typing import Protocol


class RememberDesk(Protocol):
    async def remember(self, text: str) -> str:
        """Keep a fact of the project, or with `-g` before it one about the user, and say so or why not."""

    async def offer(self, words: str) -> Sequence[str]:
        """Give a line for each fact and note that the words may mean; `forget` takes their numbers, from 1."""

    async def forget(self, numbers: Sequence[int]) -> str:
        """Put what was offered last under these numbers into the trash, and say so or why not."""

    @property
    def offered(self) -> int:
        """How many were offered last and are still to be had."""
