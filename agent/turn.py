"""The values of one turn."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]
Outcome = Literal["done", "interrupted", "failed", "limit"]
Cause = Literal["", "turns", "tokens", "cost", "time", "window", "loop", "provider", "error"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str
    """JSON text as the model wrote it; not yet checked."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that the user gave or a tool shows; it rides in the turn's own messages and is never remembered."""

    kind: str
    """Its media type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    content: bytes

    def __str__(self) -> str:
        return f"{self.kind}, {max(1, round(len(self.content) / 1000)):,} kB"


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    """What an assistant message asks for."""
    call_id: str = ""
    """Which call a tool message answers."""
    name: str = ""
    """The tool that a tool message comes from."""
    images: tuple[Image, ...] = ()
    thought: str = ""
    """What its client wants to see again with an assistant message, in words of its own; it ends with the turn."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; `cost` is USD, or None where no price is known."""

    input_tokens: int = 0
    """Everything sent, cached tokens included."""
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cost: float | None = 0.0
    cache_creation_input_tokens: int = 0
    """Of the input, what the provider put into its cache."""
    reasoning_tokens: int = 0
    """Of the output, what was thought and not said."""

    def __add__(self, other: "Usage") -> "Usage":
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a turn must end. None is no limit."""

    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """All that a turn starts from: nothing of an older turn but the previous answer."""

    system: str
    request: str
    """The user's own words."""
    preface: str = ""
    """`<previous_answer>`, and later `<standing>`; empty in a first turn."""
    images: tuple[Image, ...] = ()

    def messages(self) -> tuple[Message, ...]:
        user = f"{self.preface}\n\n{self.request}" if self.preface else self.request
        return Message("system", self.system), Message("user", user, images=self.images)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to "may this call run?"."""

    allowed: bool
    reason: str = ""
    """Why not, in words the model reads."""
    rule: str = ""
    """What the person allows for good with it: the rule that was shown."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call that was made. What it printed is not here, so it can't be remembered."""

    name: str
    arguments: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    request: str
    """What the user began it with."""
    answer: str
    """The final answer, or the text so far when the turn did not get to one."""
    steps: tuple[Step, ...]
    outcome: Outcome
    cause: Cause = ""
    """What ended it, when that was not the model."""
    reason: str = ""
    """The same in one sentence for the user."""
    usage: Usage = Usage()
    requests: int = 0
    sent: int = 0
    """Input tokens of all its requests; a recall's are not among them."""
    first_input: int = 0
    """Input tokens of the turn's first request."""
    grown: int = 0
    """Tokens of its answers and tool results, all of them: what replay would send again beside the user's words."""
    steered: tuple[str, ...] = ()
    """What the user added while it ran."""

    @property
    def words(self) -> str:
        """All that the user said, in order."""
        return "\n\n".join([self.request, *self.steered])

    @property
    def empty(self) -> bool:
        """Nothing was done and nothing said: there is nothing to remember."""
        return not self.steps and not self.answer.strip()
