"""What a tool call is about, in a few words."""

import json

from ogcode.agent.clean import clean
from ogcode.agent.turn import ToolCall

LONGEST = 400
"""Characters of one line, and lines of one output, that are shown."""

_FIRST = ("command", "question", "path", "pattern", "name", "file", "folder", "query", "topic")


def given(call: ToolCall) -> dict[str, object]:
    """Read the arguments of a call; none where they can't be read."""
    try:
        told = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def subject(call: ToolCall) -> str:
    """Name what a call is about: its main argument, in one line."""
    told = given(call)
    words = [value for key in _FIRST if isinstance(value := told.get(key), str)]
    words += [value for value in told.values() if isinstance(value, str)]
    if not told and call.arguments.strip() not in ("", "{}"):
        words = [call.arguments]
    return " ".join(clean(words[0][: 2 * LONGEST]).split())[:LONGEST] if words else ""
