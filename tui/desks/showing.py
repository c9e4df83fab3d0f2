"""What the app can show of a session besides the conversation: its requests, its cost, its changes, its health."""

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ogcode.tui.behind.context import Part
    from ogcode.tui.commands.checks import Check


class ShowingDesk(Protocol):
    async def context(self) -> "Sequence[Part]":
        """Tell what the next request will hold, between turns."""

    def cost(self) -> str:
        """Tell in lines what this turn, this session and this workspace have used, and what replay would have."""

    def answers(self) -> Sequence[str]:
        """Give the session's answers as they were written, oldest first."""

    def changes(self) -> Sequence[str]:
        """Give what ogcode's tools have changed in this session and what stands: a unified diff for each file."""

    def checks(self) -> "AsyncIterator[Check]":
        """Try out whether ogcode works here, one thing after the other."""
