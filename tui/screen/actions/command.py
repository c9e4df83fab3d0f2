"""A slash command: its name, what it takes, what it says of itself and what it does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    argument: str
    """How its argument is shown: `[name]`, or empty."""

    does: str
    run: "Callable[[Ogcode, str], Awaitable[None]]"
    """Takes the app and the argument, which may be empty."""

    at_rest: bool = False
    """Only between turns."""

    aliases: tuple[str, ...] = ()
