"""What the app needs of other sessions, and of its own as one among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in a list; its words are as they were written."""

    session_id: str
    name: str
    """That the user gave it, or empty."""
    first: str
    last: str
    """Its first and its last request."""
    turns: int
    active: "datetime"
    branch: str
    """That was checked out when it began; empty is not known."""
    here: bool
    """It is of this checkout, and not of another one of the repository."""
    current: bool = False

    @property
    def title(self) -> str:
        return self.name or self.first


class SessionsDesk(Protocol):
    def listed(self) -> Sequence[SessionLine]:
        """Give this checkout's sessions, then those of the others, the most recently active first: in a thread."""

    def preview(self, session_id: str) -> Sequence[tuple[str, str]]:
        """Give the last requests and answers of a session, oldest first: in a thread."""

    def resume(self, session_id: str) -> Sequence[str]:
        """Go on with another session, between turns, and give what the user should know of it.

        Raises:
            NotDone: all is as it was.
        """

    def fork(self, name: str) -> str:
        """Go on in a copy that leaves this session as it is, and say so.

        Raises:
            NotDone: all is as it was.
        """

    def rename(self, name: str) -> str:
        """Call this session something, and say so.

        Raises:
            NotDone: it keeps its name.
        """

    def export(self, kind: str, place: str) -> str:
        """Write this session into a new file, as `md`, `json` or `html`, and say where: in a thread.

        Raises:
            NotDone: nothing was written.
        """
