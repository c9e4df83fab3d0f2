"""A command with what is put around it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A command as it is to be started, and what to look after once it has ended."""

    command: Sequence[str]
    environ: Mapping[str, str]
    keeper: bool = False
    """The process started only keeps the command's own."""
    settle: Callable[[], Sequence[str]] = tuple
    """Puts back what no boundary kept; says what, a line each."""


Wrap = Callable[[Sequence[str], Mapping[str, str]], Wrapped]
"""Takes a command and its environment. `Wrapped` itself puts nothing around it."""
