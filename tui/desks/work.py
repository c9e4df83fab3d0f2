"""What the app needs to show the work of a turn while it goes on, and to answer what it asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ogcode.agent.tools.ask_user import AskPerson
from ogcode.agent.turn import ToolCall


@dataclass(frozen=True, slots=True)
class JobLine:
    """A command in the background."""

    name: str
    command: str
    running: bool


class WorkDesk(Protocol):
    """All of it returns at once."""

    def difference(self, call: ToolCall) -> str:
        """Give the difference that a call makes, as it was when the call began; empty where it is not known."""

    def printing(self) -> str:
        """Give the last that the running command has printed."""

    def jobs(self) -> Sequence[JobLine]:
        """List the commands in the background."""

    def job_output(self, name: str) -> str:
        """Give the last that a command in the background has printed."""

    async def end_job(self, name: str) -> str:
        """End a command in the background, and say so in a sentence."""

    def steps(self) -> str:
        """Give the list of steps that an earlier run of the session has left; it may read a long file."""

    def unfinished(self) -> str:
        """Tell how the last turn was cut short: `interrupted`, `limit` or `failed`; empty where it was not."""

    def answer_with(self, person: AskPerson | None) -> None:
        """Let the agent ask this person from the next turn on."""
