"""Make a turn that grows fit its window: the oldest tool results become stubs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from ogcode.agent import tokens
from ogcode.agent.model import ToolSpec
from ogcode.agent.turn import Message

KEEP = 2
"""The newest tool results that are never replaced."""


SMALL = 32_768
"""Tokens; a window below this is shared out: a quarter of it, at most 2,048, is kept for the answer."""


def reserve(window: int, output: int | None) -> int | None:
    """Bound an answer in tokens, so that it can't run out of a small window; None leaves it to the provider."""
    return output if output or window >= SMALL else min(2048, window // 4)


def size(messages: Sequence[Message], specs: Sequence[ToolSpec]) -> int:
    """Bound the tokens of a request from above: UTF-8 bytes / 3."""
    text = sum(
        len(message.content.encode("utf-8", "replace")) + sum(len(call.arguments) + 40 for call in message.calls) + 12
        for message in messages
    )
    return (text + sum(len(json.dumps(asdict(spec))) for spec in specs)) // 3


def fits(messages: Sequence[Message], specs: Sequence[ToolSpec], room: int) -> bool:
    """Tell whether a request fits: by the quick bound, and only near the limit by an exact count.

    Models have vocabularies of their own, often smaller ones, so a quarter is added to what ours counts.
    """
    bound = size(messages, specs)
    if bound <= room or bound // 3 > room:  # far above: not worth the count
        return bound <= room
    texts = [text for each in messages for text in (each.content, *(call.arguments for call in each.calls))]
    exact = tokens.count("\n".join([*texts, *(json.dumps(asdict(spec)) for spec in specs)])) + 12 * len(messages)
    return exact * 5 // 4 <= room


def fitted(
    messages: tuple[Message, ...], specs: Sequence[ToolSpec], window: int, output: int | None = None
) -> tuple[Message, ...] | None:
    """Return the request with as few stubs as it takes, or None when stubs are not enough.

    The user's message and the calls themselves always stay.
    """
    room = window - min(output or 2048, window // 4)
    results = [place for place, message in enumerate(messages) if message.role == "tool"]
    replaceable = results[:-KEEP] if len(results) > KEEP else []
    request = list(messages)
    for place in [-1, *replaceable]:
        if place >= 0:
            request[place] = _stub(request[place])
        if fits(request, specs, room):
            return tuple(request)
    return None


def _stub(message: Message) -> Message:
    lines = message.content.count("\n") + 1
    return replace(
        message,
        content=f"[{lines} lines of {message.name} left out to save room; call it again if you need them]",
    )
