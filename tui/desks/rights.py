"""What the app needs to let a person decide: what a call would do, what is allowed, what is believed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ogcode.agent.rules import Written
from ogcode.agent.turn import ToolCall


@dataclass(frozen=True, slots=True)
class Asking:
    """All that a person should see who is to allow a call."""

    why: str
    preview: str
    """A unified diff, a command, or its arguments."""
    rule: str = ""
    """What would allow it for good; empty where no rule would."""
    boundary: str = ""
    """How far a command would be closed in; empty for what is none."""


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule that is in force."""

    kind: Literal["allow", "deny", "ask"]
    rule: str
    origin: str
    kept: bool
    """It stands in the user's own settings, from where it can be removed."""


@dataclass(frozen=True, slots=True)
class Unbelieved:
    """A file of facts that is not as it was accepted."""

    file: Written
    difference: str


class RightsDesk(Protocol):
    """All of it returns at once."""

    def asking(self, call: ToolCall, why: str) -> Asking: ...

    def rules(self) -> Sequence[RuleLine]: ...

    def explained(self) -> Sequence[str]:
        """Tell what the mode and the sandbox let pass, a sentence each."""

    def remove(self, rule: str) -> str:
        """Take a rule out of what the user's settings allow, from the next turn on, and say so in a sentence."""

    def unbelieved(self) -> Sequence[Unbelieved]:
        """List files of facts that were changed outside ogcode and are not believed as they are now."""

    def believe(self, seen: Unbelieved) -> str:
        """Believe a file as it was shown, and say so in a sentence."""
