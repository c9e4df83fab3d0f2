"""A slash command: its name, what it takes, what it says of itself and what it does."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from ogcode.tui.desks.desk import Desk


class Says(Protocol):
    async def say(self, text: str, kind: str = "quiet") -> None:
        """Say something; `kind` is quiet, plain or warning."""


class Writes(Protocol):
    def put(self, text: str) -> None:
        """Put a text where the user goes on writing it."""


class Front(Protocol):
    """What a command needs that only says something: the app, or lines alone."""

    desk: "Desk"
    stop_key: str
    """Ends what runs."""

    @property
    def transcript(self) -> Says: ...

    @property
    def prompt(self) -> Writes: ...

    async def send(self, text: str) -> None: ...

    def examine(self, looking: Coroutine[Any, Any, None]) -> object:
        """Look at something at length, such that it can be stopped."""


At = TypeVar("At", contravariant=True)


MARGINS = 5
"""Columns of the screen beside what is said: margins, and the bar of the transcript."""

_LEAVE = ("exit", "quit", ":q", ":q!", ":wq", ":x")
"""Words that leave a program everywhere: no model need be asked about them."""


@dataclass(frozen=True, slots=True)
class Command(Generic[At]):
    """Runs at the app, or where it only says something at any `Front`."""

    name: str
    argument: str
    """How its argument is shown: `[name]`, or empty."""

    does: str
    run: Callable[[At, str], Awaitable[None]]
    """Takes the front and the argument, which may be empty."""

    at_rest: bool = False
    """Only between turns."""

    aliases: tuple[str, ...] = ()


def beside(head: str, text: str, wide: int) -> str:
    """Put a text beside a head, in as many lines as it takes, one below the other."""
    first, *more = wrap(text, max(16, wide - len(head))) or [""]
    return f"\n{' ' * len(head)}".join([head + first, *more])


def parse(text: str) -> tuple[str, str] | None:
    """Split a command line into name and argument; None is a message, even one that starts with a path."""
    if text.strip() in _LEAVE:
        return "/quit", ""
    name, _, argument = text.strip().partition(" ")
    if not name.startswith("/") or "/" in name[1:] or "\n" in name:
        return None
    return name, argument.strip()
