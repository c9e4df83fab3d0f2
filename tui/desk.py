"""What the app needs of the rest of ogcode, and the few values it shows."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ogcode.agent.events import Emit
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.turn import ToolCall, Turn, Verdict

Ask = Callable[[ToolCall, str], Awaitable[Verdict]]
"""The call, and why it asks."""


@dataclass(frozen=True, slots=True)
class Status:
    model: str
    mode: str
    turn_tokens: int
    """What this turn has used so far, or the last one did."""
    replay_tokens: int
    """What it would have been with all earlier turns sent again; 0 is unknown."""
    window: int
    cost: float | None
    """Of the session, this turn included."""
    notes: int
    pending: int
    """Turns that have no note yet."""
    branch: str
    scripted: bool
    trusted: bool
    memory: MemorySwitch = "on"
    session_tokens: int = 0
    """Of all its turns, this one included."""


@dataclass(frozen=True, slots=True)
class NoteLine:
    id: str
    title: str
    topics: str
    when: str
    """For a person: `2026-09-12 09:14`."""
    origin: str
    """`own`, `edited` or `foreign`."""
    pending: bool


class Desk(Protocol):
    """Where the app's requests go. What returns at once must do so within a frame: no network, no long scan."""

    @property
    def notices(self) -> Sequence[str]:
        """What the user should know before the first turn: plain sentences."""

    async def ask(self, text: str, *, emit: Emit, approve: Ask) -> Turn:
        """Run one turn.

        Cancelling interrupts it; `CancelledError` comes back once the turn is recorded and `TurnFinished` was emitted.

        Raises:
            ModelError: the model could not answer; one sentence for the user.
        """

    def status(self) -> Status: ...

    async def models(self) -> Sequence[str]:
        """Name the models that can be chosen.

        Raises:
            ModelError: they can't be listed; one sentence for the user.
        """

    async def use_model(self, name: str) -> str:
        """Use another model from the next turn on, and say so in a sentence.

        Raises:
            ModelError: it can't be used; one sentence for the user.
        """

    def set_mode(self, mode: str) -> None: ...

    def use_memory(self, switch: MemorySwitch) -> str:
        """Save and recall as told from the next turn on, and say so in a sentence."""

    def put_back(self, command: str, argument: str) -> str:
        """Do `/undo`, `/redo` or `/rewind`, and say line by line what became of it."""

    def new_session(self) -> None: ...

    def notes(self, query: str = "") -> Sequence[NoteLine]:
        """List notes: newest first, or the best first where there is a query."""

    def read_note(self, note_id: str) -> str:
        """Give a note's markdown; a note that is gone gives a sentence that says so."""

    def preview(self, call: ToolCall) -> str:
        """Show what a call would do: a unified diff, a command, or its arguments."""

    def history(self) -> Sequence[str]:
        """Give earlier prompts of this project, oldest first."""

    def remember_prompt(self, text: str) -> None: ...

    def earlier(self) -> Sequence[tuple[str, str]]:
        """Give request and answer of the resumed session's last turns, for display only."""

    def close(self) -> None: ...
