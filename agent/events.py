"""What a turn reports while it runs: one closed union, and the turn that follows from it."""

from collections.abc import Callable
from dataclasses import dataclass

from ogcode.agent.turn import Cause, Outcome, Step, ToolCall, Turn, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Shown folded, never sent back, never remembered."""

    text: str


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request is made again; the text it had given so far is void."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model takes a while to begin, for a reason that is no failure."""

    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One model request is complete."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Steered:
    """The user has added to the turn while it ran."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    call: ToolCall
    output: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Nested:
    """An event of a helper, such as a recall, inside the turn."""

    name: str
    event: "Event"


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know: one sentence, plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over and on disk (or its failure to get there was announced by a `Warned`)."""

    turn: Turn
    note: str
    """The id of the note to come; empty when nothing is to be remembered."""
    replay_tokens: int = 0
    """Input tokens of this turn's requests, had all earlier turns been sent again with each."""
    replay_tokens_cached: int = 0
    """The same with what a request shares with the one before it counted at a tenth."""

    @property
    def with_replay(self) -> int:
        """What the turn would have used in all: to be held against `turn.usage.tokens`."""
        return self.replay_tokens + self.turn.usage.output_tokens if self.replay_tokens else 0


Event = (
    TextDelta
    | ReasoningDelta
    | Retrying
    | Waiting
    | Answered
    | Steered
    | ToolStarted
    | ToolFinished
    | Nested
    | Warned
    | TurnFinished
)
Emit = Callable[[Event], None]


def ignore(event: Event) -> None:  # an Emit
    """Report to nobody."""


CUT_SHORT = "error: cut short; what it had done by then is not known"


class Progress:
    """A turn so far, folded from its events; the same for a running, a cancelled and a killed turn."""

    def __init__(self, request: str) -> None:
        self.request = request
        self.steered: list[str] = []
        self.steps: list[Step] = []
        self._running = dict[str, ToolCall]()
        self.usage = Usage()
        self.requests = 0
        self._answer = ""
        self._partial = ""
        self._sent = 0
        self._first_input = 0
        self._last_context = 0

    def add(self, event: Event) -> None:
        match event:
            case TextDelta(text):
                self._partial += text
            case Retrying():
                self._partial = ""
            case Answered(text, _, usage):
                self._partial = ""
                self._answer = text or self._answer
                self.requests += 1
                self.usage += usage
                self._sent += usage.input_tokens
                self._first_input = self._first_input or usage.input_tokens
                self._last_context = usage.tokens
            case Steered(text):
                self.steered.append(text)
            case ToolStarted(call):
                self._running[call.id] = call
            case ToolFinished(call, _, failed):
                self._running.pop(call.id, None)
                self.steps.append(Step(call.name, call.arguments, failed))
            case Nested(_, Answered(_, _, usage)):
                self.usage += usage

    def unanswered(self) -> tuple[ToolFinished, ...]:
        """Give the calls that were cut short the answers that they will not get any more."""
        return tuple(ToolFinished(call, CUT_SHORT, failed=True) for call in self._running.values())

    def turn(self, outcome: Outcome, cause: Cause = "", reason: str = "") -> Turn:
        return Turn(
            self.request,
            self._partial or self._answer,
            (*self.steps, *(Step(call.name, call.arguments, failed=True) for call in self._running.values())),
            outcome,
            cause,
            reason,
            self.usage,
            self.requests,
            self._sent,
            self._first_input,
            self._last_context,
            tuple(self.steered),
        )
