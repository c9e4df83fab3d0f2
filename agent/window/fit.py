"""What fits into a window: the shares of an answer and of a tool's output, and what a request weighs."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict

from ogcode.agent.model import ToolSpec
from ogcode.agent.turn import Message
from ogcode.agent.window import tokens

SMALL = 32_768
"""Tokens; a window below this is shared out: a quarter of it, at most 2,048, is kept for the answer."""
THOUGHT = 8_192
"""Tokens that a model which thinks unasked gets on top of a bound: its thoughts count as its answer."""
IMAGE = 1_600
"""Tokens that a picture is taken for."""

_NUMBER = re.compile(r"\d\d+")


def reserve(window: int, output: int | None) -> int | None:
    """Bound an answer in tokens, so that it can't run out of a small window; None leaves it to the provider."""
    return output if output or window >= SMALL else min(2048, window // 4)


def longest(most: int | None, window: int, *, thinks: bool) -> int | None:
    """Bound an answer, thoughts included; None leaves it to the provider."""
    return most if most is None or not thinks else most + min(THOUGHT, window // 8)


def share(window: int, most: int) -> int:
    """Bound one tool result in bytes: a sixth of the window, so that two and the way to them fit into a small one."""
    return min(most, window // 6 * 3)


def size(messages: Sequence[Message], specs: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of a request quickly: UTF-8 bytes / 3, which is much for prose and little for digits."""
    return (sum(map(_bytes, messages)) + sum(len(json.dumps(asdict(spec))) for spec in specs)) // 3


class Scale:
    """Weighs requests: by a bound that can't be wrong, and only near the limit by a count.

    Models have vocabularies of their own. Many have a token for each digit, so that is what a digit is taken for; what
    else differs from ours is learnt from what the provider counted. Until then a quarter is added.
    """

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self._specs = specs
        self._tools = [Message("system", json.dumps(asdict(spec))) for spec in specs]
        self._known = dict[Message, int]()
        self._last: tuple[Sequence[Message], int] | None = None
        self._factor = 0.0
        """The most that the provider has found in a request for each of our tokens; 0 is not known."""

    def learn(self, request: Sequence[Message], counted: int) -> None:
        """Take note of how many tokens the provider found in a request; 0 is not known."""
        if counted:
            self._last = request, counted

    def fits(self, request: Sequence[Message], room: int) -> bool:
        """Tell whether a request keeps within so many tokens."""
        # No token is shorter than a byte; the system text and the tools are prose.
        pictures = IMAGE * sum(len(message.images) for message in request)
        if size(request[:1], self._specs) + sum(map(_bytes, request[1:])) + pictures <= room:
            return True
        return self._fits([*self._tools, *request], room)

    def fits_bare(self, request: Sequence[Message], room: int) -> bool:
        """Tell whether a request without tools does."""
        return sum(map(_bytes, request)) <= room or (size(request, ()) <= 2 * room and self._fits(request, room))

    def whole(self, request: Sequence[Message]) -> int:
        """Estimate the tokens of a request and its tools, as far as is known by the provider's own count."""
        return round(self.weight([*self._tools, *request]) * (self._factor or 1.25))

    def weight(self, messages: Sequence[Message]) -> int:
        """Count the tokens of messages by o200k_base, each digit as one, in the form in which they go over the wire."""
        for message in messages:
            if message not in self._known:
                text = _wire(message)
                split = sum(len(digits) - (len(digits) + 2) // 3 for digits in _NUMBER.findall(text))
                self._known[message] = tokens.count(text) + split + IMAGE * len(message.images)
        return sum(self._known[message] for message in messages)

    def _fits(self, request: Sequence[Message], room: int) -> bool:
        if self._last:
            told, counted = self._last
            self._factor = min(2.0, max(1.0, self._factor, counted / self.weight([*self._tools, *told])))
            self._last = None
        return self.weight(request) * (self._factor or 1.25) <= room


def _bytes(message: Message) -> int:
    texts = (message.content, message.thought, *(call.arguments for call in message.calls))
    return sum(len(text.encode("utf-8", "replace")) for text in texts) + 40 * len(message.calls) + 12


def _wire(message: Message) -> str:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls
    ]
    row = {
        "role": message.role,
        "content": message.content,
        "tool_calls": calls,
        "tool_call_id": message.call_id,
        "thought": message.thought,
    }
    return json.dumps({key: value for key, value in row.items() if value}, ensure_ascii=False)
