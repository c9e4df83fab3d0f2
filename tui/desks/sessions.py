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
    folder: str = ""
    """Another one that it is of, in which it can be gone on with."""

    @property
    def title(self) -> str:
        return self.name or self.first


class SessionsDesk(Protocol):
    def listed(self, *, everywhere: bool = False) -> Sequence[SessionLine]:
        """Give this checkout's sessions, then those of the others, the most recently active first: in a thread.

        `everywhere` adds those of all other folders that the user trusts.

        Raises:
            NotDone: it is not known which those are.
        """

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

    def rename(self, name: str, session_id: str = "") -> str:
        """Call a session something, or this one, and say so.

        Raises:
            NotDone: it keeps its name.
        """

    def delete(self, session_id: str) -> str:
        """Move a session to the trash, and say where it is.

        Raises:
            NotDone: it is where it was.
        """

    def export(self, kind: str, place: str) -> str:
        """Write this session into a new file, as `md`, `json` or `html`, and say where: in a thread.

        Raises:
            NotDone: nothing was written.
        """
