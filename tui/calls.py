"""What a tool call is about, in a few words."""

import json
import re

from ogcode.agent.clean import clean
from ogcode.agent.turn import ToolCall

LONGEST = 400
"""Characters of one line, and lines of one output, that are shown."""

_WHOLE = re.compile(r"@@ ([\d,]+) lines become ([\d,]+) ")
_LEFT_OUT = re.compile(r"… ([\d,]+) lines left out …")

_FIRST = ("command", "question", "pattern", "path", "name", "file", "folder", "query", "topic")


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


def changed_lines(difference: str) -> tuple[int, int]:
    """Count what a difference adds and removes; of a long one, what is left out counts where all of it is new."""
    head, _, body = difference.partition("\n+++ ")
    _, *lines = body.split("\n")
    if lines and (whole := _WHOLE.match(lines[0])):
        return _number(whole[2]), _number(whole[1])
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    if head.endswith("--- /dev/null"):
        added += sum(_number(found[1]) for line in lines if (found := _LEFT_OUT.fullmatch(line)))
    return added, removed


def _number(told: str) -> int:
    return int(told.replace(",", ""))
