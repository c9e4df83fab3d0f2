"""What the app needs of the rest of ogcode, and the few values it shows."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ogcode.agent.events import Emit
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.turn import ToolCall, Turn, Verdict
from ogcode.tui.desks.prompt import PromptDesk
from ogcode.tui.desks.remember import RememberDesk
from ogcode.tui.desks.rights import RightsDesk
from ogcode.tui.desks.showing import ShowingDesk
from ogcode.tui.desks.work import WorkDesk

if TYPE_CHECKING:
    from ogcode.tui.desks.sessions import SessionsDesk
    from ogcode.tui.desks.settings import SettingsDesk
    from ogcode.tui.memory.desk import MemoryDesk

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
    used_tokens: int = 0
    """Of the window, by the last request and its answer."""
    sandbox: str = ""
    """How far commands are closed in, and by what where that is not the strongest there is; empty is not known yet."""
    own: str = ""
    """What the user's own command says the line is to be; as it printed it."""


class NotDone(Exception):
    """What was asked for was not done, and all is as it was; one sentence says why."""


@dataclass(frozen=True, slots=True)
class ModelLine:
    name: str
    says: str = ""
    """Its size, its window, what it can do and what it costs, as far as that is known."""


class Desk(Protocol):
    """Where the app's requests go. What returns at once must do so within a frame: no network, no long scan."""

    async def open(self) -> None:
        """Make all of it ready, once; before that there are a status, a history, notes and previews, and no session.

        Raises:
            ModelError, SessionUnknown, SessionTaken, SandboxMissing: the app can't go on; one sentence for the user.
        """

    @property
    def notices(self) -> Sequence[str]:
        """What the user should know before the first turn: plain sentences."""

    @property
    def prompt(self) -> PromptDesk: ...

    @property
    def work(self) -> WorkDesk: ...

    @property
    def rights(self) -> RightsDesk: ...

    @property
    def showing(self) -> ShowingDesk: ...

    @property
    def sessions(self) -> "SessionsDesk": ...

    @property
    def settings(self) -> "SettingsDesk": ...

    @property
    def remembering(self) -> RememberDesk: ...

    @property
    def memory(self) -> "MemoryDesk":
        """What has been remembered; loaded when it is first looked at."""

    async def ask(self, text: str, *, emit: Emit, approve: Ask) -> Turn:
        """Run one turn.

        Cancelling interrupts it; `CancelledError` comes back once the turn is recorded and `TurnFinished` was emitted.

        Raises:
            ModelError: the model could not answer; one sentence for the user.
        """

    def status(self) -> Status: ...

    async def models(self) -> tuple[Sequence[ModelLine], Sequence[str]]:
        """Name the models that can be chosen, and say which places can't be asked.

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

    def ways_back(self) -> Sequence[tuple[int, str]]:
        """Give the turns of this session that one can go back before, the last first, and what was asked in each."""

    def put_back(self, command: str, argument: str) -> str:
        """Do `/undo`, `/redo` or `/rewind`, and say line by line what became of it."""

    def new_session(self) -> None: ...

    def earlier(self) -> Sequence[tuple[str, str]]:
        """Give request and answer of the resumed session's turns, for display only."""

    def close(self) -> None: ...
