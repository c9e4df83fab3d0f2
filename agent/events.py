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

    @property
    def words(self) -> str:
        """What to tell whoever waits."""
        return f"trying again{f' in {self.seconds:.0f} s' if self.seconds >= 0.5 else ''}: {self.reason}"


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
    cut: bool = False
    """It ends where the model's output limit was."""


@dataclass(frozen=True, slots=True)
class Steered:
    """The user has added to the turn while it ran."""

    text: str


@dataclass(frozen=True, slots=True)
class SummedUp:
    """The turn has outgrown its window: the model goes on from this text in the place of its older steps."""

    text: str
    usage: Usage


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
    | SummedUp
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
        self._last_input = 0
        self._grown = 0
        self._said = 0
        """What its last answer came to in tokens: it is in no request yet."""
        self._added = 0
        """Bytes that the next request holds and the last one did not."""

    def add(self, event: Event) -> None:
        match event:
            case TextDelta(text):
                self._partial += text
            case Retrying():
                self._partial = ""
            case Answered(text, calls, usage):
                self._partial = ""
                self._answer = text or self._answer
                self.usage += usage
                self._sent += usage.input_tokens
                self._first_input = self._first_input or usage.input_tokens
                self._grow(usage, sum(map(_bytes, (text, *(call.arguments for call in calls)))))
                self.requests += 1
            case Steered(text):
                self.steered.append(text)
                self._added += _bytes(text)
            case ToolStarted(call):
                self._running[call.id] = call
            case ToolFinished(call, output, failed):
                self._running.pop(call.id, None)
                self.steps.append(Step(call.name, call.arguments, failed))
                self._added += _bytes(output)
            case SummedUp(text, usage):
                self._answer = text or self._answer
                self.usage += usage
                self._sent += usage.input_tokens
            case Nested(_, Answered(_, _, usage)):
                self.usage += usage

    def _grow(self, usage: Usage, said: int) -> None:
        """Add what the history of the turn has grown by since the last request.

        By what the provider counted; where older steps were left out of the request, by bytes / 4.
        """
        if self.requests:
            counted, estimated = usage.input_tokens - self._last_input, self._added // 4
            self._grown += counted if 2 * counted >= estimated else estimated
        self._last_input = usage.input_tokens
        self._said = usage.output_tokens - usage.reasoning_tokens if usage.output_tokens else said // 4
        self._added = said

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
            self._grown + self._said,
            tuple(self.steered),
        )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
