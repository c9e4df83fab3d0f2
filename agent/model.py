"""What the agent needs of a model, and the few ways in which one can fail."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from ogcode.agent.turn import Message, ToolCall, Usage

Who = Literal["agent", "scribe", "librarian"]
Effort = Literal["none", "low", "medium", "high"]
EFFORTS: Mapping[str, Effort] = {"none": "none", "low": "low", "medium": "medium", "high": "high"}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON schema object."""

    name: str
    description: str
    parameters: dict[str, object]


@dataclass(frozen=True, slots=True)
class Options:
    role: Who = "agent"
    max_output: int | None = None
    """Tokens; None leaves it to the provider."""
    temperature: float | None = None
    effort: Effort | None = None
    """How long a model that can think is to think; None leaves it to the provider."""
    schema: Mapping[str, object] | None = None
    """A JSON schema that the whole answer must follow, where the server can enforce one."""


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class Restarted:
    """The request failed and is made again after `seconds`; what it gave so far is void."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Delayed:
    """Nothing is wrong, but it takes a while: a model is being loaded, or another request has the only slot."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The proper end of a stream; one without it is `Broken`."""

    reason: Literal["stop", "length"]
    usage: Usage
    """Its cost is what the provider itself named; 0 where it named none."""
    thought: str = ""
    """For `Message.thought`."""


Delta = Text | Reasoning | ToolCall | Restarted | Delayed | Finished
"""Tool calls are whole, with JSON text complete, and come only once the stream has ended properly."""


@dataclass(frozen=True, slots=True)
class Prices:
    """USD per token."""

    input: float
    output: float
    cache_read: float
    cache_write: float | None = None
    """None: as any other input."""

    def cost(self, usage: Usage) -> float:
        read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        write = self.input if self.cache_write is None else self.cache_write
        fresh = usage.input_tokens - read - written
        return fresh * self.input + read * self.cache_read + written * write + usage.output_tokens * self.output


class Model(Protocol):
    @property
    def name(self) -> str:
        """How the user names it, with its prefix: `ollama/qwen3:8b`."""

    @property
    def window(self) -> int:
        """Tokens that a request and its answer may hold together."""

    @property
    def prices(self) -> Prices | None:
        """None where no price is known."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncIterator[Delta]:
        """Ask once, and yield what comes.

        Raises:
            ModelError: one of its kinds below, with a sentence that says what to do.
        """


def sees(model: Model) -> bool:
    """Tell whether a model is known to take pictures."""
    return getattr(model, "sees", False) is True


def thinks(model: Model) -> bool:
    """Tell whether a model's thoughts count as its answer, so that they need room of their own."""
    return getattr(model, "thinks", False) is True


def priced(usage: Usage, model: Model) -> Usage:
    """Put the cost to a request's tokens, unless the provider named it; None where the model's price is not known."""
    return replace(usage, cost=usage.cost or (model.prices.cost(usage) if model.prices else None))


class ModelError(Exception):
    """The model could not answer; the text is one sentence for the user."""


class Unauthorized(ModelError):
    """The key is missing or refused."""


class NoSuchModel(ModelError):
    """The endpoint does not know the model."""


class RateLimited(ModelError):
    """Too many requests. `retry_after` is seconds, or None where the server did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Overloaded(ModelError):
    """The endpoint is there but can't serve now (5xx)."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextOverflow(ModelError):
    """The request is larger than the window."""


class Truncated(ContextOverflow):
    """The endpoint dropped a part of the request without a word, and answered the rest."""


class NoToolSupport(ModelError):
    """The model can't call tools."""


class Refused(ModelError):
    """The request was rejected for what it is; the same again will be rejected again."""


class Broken(ModelError):
    """The connection or the stream failed; nothing of it counts."""


TRANSIENT = (RateLimited, Overloaded, Broken)
"""What is worth trying again."""
