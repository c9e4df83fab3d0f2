"""Models that say what a script says: for tests, and for a demo without any model."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ogcode.agent.model import (
    Broken,
    Delta,
    Finished,
    ModelError,
    NoSuchModel,
    Options,
    Overloaded,
    Prices,
    RateLimited,
    Refused,
    Text,
    ToolSpec,
    Unauthorized,
    Who,
)
from ogcode.agent.turn import Message, ToolCall, Usage

PIECE = 12
"""Characters of text that come at once."""
WINDOW = 128_000

Part = str | ToolCall
Reply = Part | tuple[Part, ...] | ModelError | type[ModelError] | Callable[[Sequence[Message]], "Reply"]

_ERRORS: dict[str, Callable[[str], ModelError]] = {
    "rate_limited": RateLimited,
    "overloaded": Overloaded,
    "broken": Broken,
    "unauthorized": Unauthorized,
}


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str
    calls: tuple[ToolCall, ...]
    delay: float
    """Seconds before each piece of text."""
    error: str


@dataclass(frozen=True, slots=True)
class _Entry:
    role: Who
    when: str
    """What the last user message must hold."""
    replies: tuple[_Reply, ...]


class ScriptedModel:
    """Gives its replies one after the other; `asked` and `offered` are what it was sent."""

    def __init__(
        self, *replies: Reply, window: int = WINDOW, prices: Prices | None = None, name: str = "scripted/test"
    ) -> None:
        self.name = name
        self.window = window
        self.prices = prices
        self.asked: list[tuple[Message, ...]] = []
        self.offered: list[tuple[ToolSpec, ...]] = []
        self._replies = list(replies)

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        options: Options,  # noqa: ARG002  # the protocol's
    ) -> AsyncGenerator[Delta]:
        self.asked.append(tuple(messages))
        self.offered.append(tuple(tools))
        if not self._replies:
            raise AssertionError(f"{self.name} has no reply left for request {len(self.asked)}: {messages[-1]}")
        reply = self._replies.pop(0)
        while callable(reply) and not isinstance(reply, type):
            reply = reply(messages)
        if isinstance(reply, type):
            raise reply(f"{self.name}: the script says {reply.__name__}")
        if isinstance(reply, ModelError):
            raise reply
        parts = reply if isinstance(reply, tuple) else (reply,)
        async for delta in _played(parts, messages, tools, delay=0.0):
            yield delta


class ScriptFile:
    """Answers from a file, by role, by the last user message, and by how far the turn is; remembers nothing."""

    window = WINDOW
    prices: Prices | None = None

    def __init__(self, path: Path) -> None:
        """Read the script.

        Raises:
            NoSuchModel: there is none, or it is not a script.
        """
        self.name = f"scripted/{path}"
        self._path = path
        self._entries = _load(path)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        place = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
        asked = messages[place].content if messages else ""
        step = sum(message.role == "assistant" for message in messages[place:])
        entry = next((entry for entry in self._entries if entry.role == options.role and entry.when in asked), None)
        if entry is None:
            raise Refused(f"{self.name} has no entry of role {options.role} for this message; add one")
        if step >= len(entry.replies):
            raise Refused(f"{self.name} has no reply for step {step + 1} of role {options.role}; add one")
        reply = entry.replies[step]
        if reply.error:
            raise _ERRORS[reply.error](f"{self.name}: the script says {reply.error}")
        calls = [
            ToolCall(f"call_{step + 1}_{number}", call.name, call.arguments)
            for number, call in enumerate(reply.calls, 1)
        ]
        async for delta in _played((reply.text, *calls), messages, tools, delay=reply.delay):
            yield delta


async def _played(
    parts: Sequence[Part], messages: Sequence[Message], tools: Sequence[ToolSpec], *, delay: float
) -> AsyncGenerator[Delta]:
    for part in parts:
        if isinstance(part, str):
            for start in range(0, len(part), PIECE):
                await asyncio.sleep(delay)
                yield Text(part[start : start + PIECE])
    for part in parts:
        if isinstance(part, ToolCall):
            yield part
    given = [
        *(message.content + "".join(call.arguments for call in message.calls) for message in messages),
        *map(str, tools),
    ]
    taken = [part if isinstance(part, str) else part.name + part.arguments for part in parts]
    yield Finished("stop", Usage(_tokens(given), _tokens(taken)))


def _tokens(texts: Sequence[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // 4


def _load(path: Path) -> tuple[_Entry, ...]:
    try:
        entries = json.loads(path.read_text("utf-8"))
        if not isinstance(entries, list):
            raise TypeError("a script is a list of entries")
        return tuple(_entry(number, entry) for number, entry in enumerate(entries, 1))
    except OSError as error:
        raise NoSuchModel(
            f"{path}: the script can't be read ({error.strerror}); give its path after scripted/"
        ) from error
    except json.JSONDecodeError as error:
        raise NoSuchModel(f"{path}:{error.lineno}: the script is not JSON ({error.msg})") from error
    except (TypeError, ValueError) as error:
        raise NoSuchModel(f"{path}: {error}; see `ogcode demo` for what a script looks like") from error


def _entry(number: int, given: object) -> _Entry:
    if (
        not isinstance(given, dict)
        or given.get("role") not in get_args(Who)
        or not isinstance(given.get("replies"), list)
    ):
        raise TypeError(f"entry {number} needs a role ({', '.join(get_args(Who))}) and a list of replies")
    replies = tuple(_reply(f"entry {number}, reply {place}", reply) for place, reply in enumerate(given["replies"], 1))
    return _Entry(given["role"], str(given.get("when", "")), replies)


def _reply(where: str, given: object) -> _Reply:
    if not isinstance(given, dict) or not given or given.keys() - {"text", "calls", "delay", "error"}:
        raise TypeError(f"{where} must hold text, calls and delay, or an error, and nothing else")
    if given.get("error", "broken") not in _ERRORS:
        raise ValueError(f"{where}: an error is one of {', '.join(_ERRORS)}")
    calls = given.get("calls", [])
    if not isinstance(calls, list) or not all(isinstance(call, dict) and call.get("name") for call in calls):
        raise TypeError(f"{where}: calls is a list of objects with a name and arguments")
    return _Reply(
        str(given.get("text", "")),
        tuple(
            ToolCall("", str(call["name"]), json.dumps(call.get("arguments", {}), ensure_ascii=False)) for call in calls
        ),
        float(given.get("delay", 0.0)),
        str(given.get("error", "")),
    )
