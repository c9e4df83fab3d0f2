"""What stands for a step of the turn that is no longer shown whole: what was there, and how to get it back."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from ogcode.agent.memory.markdown import cut
from ogcode.agent.turn import Message, Step, ToolCall

SHORT = 240
"""Characters; what is no longer than this stays as it is."""
LINE = 160

_NUMBER = re.compile(r"^(\d+)\| ", re.MULTILINE)


def changed_files(steps: Iterable[Step]) -> tuple[str, ...]:
    """Name the files that the tools have written, in order."""
    paths = (_given(step.arguments).get("path") for step in steps if step.name in ("write", "edit") and not step.failed)
    return tuple(dict.fromkeys(path for path in paths if isinstance(path, str)))


def result_stub(call: ToolCall, message: Message) -> Message:
    """Put a line in the place of a long result."""
    text = message.content
    if len(text) <= SHORT:
        return message
    last = f"; the last: {cut(text.rstrip().rpartition(chr(10))[2].strip(), 80)}" if call.name == "bash" else ""
    stub = f"[{_count(text)} left out to save room{last}; {asked(call, text)} again if you need it]"
    return replace(message, content=stub)


def picture_stub(call: ToolCall, message: Message) -> Message:
    """Put words in the place of a picture."""
    told = f"{message.content} [no longer shown, to save room; {asked(call)} again if you need it]"
    return replace(message, content=told, images=())


def call_stub(message: Message) -> Message:
    """Shorten what calls were given; it stays JSON, and what its client keeps with it goes."""
    calls = tuple(replace(call, arguments=_shortened(call.arguments)) for call in message.calls)
    return replace(message, calls=calls, thought="")


def step_lines(message: Message, results: Iterable[Message]) -> list[str]:
    """Tell a step in a line for what was said with it and one for each call."""
    answers = {result.call_id: result.content for result in results}
    said = " ".join(message.content.split())
    lines = [f"- ({cut(said, SHORT)})"] if said else []
    return lines + [f"- {asked(call, text := answers.get(call.id, ''))}: {_gist(call, text)}" for call in message.calls]


def asked(call: ToolCall, result: str = "") -> str:
    """Tell a call as one would say it: `read agent/loop.py lines 1-200`."""
    given = _given(call.arguments)
    if call.name == "read" and isinstance(given.get("path"), str) and (numbers := _NUMBER.findall(result)):
        return f"read {given['path']} lines {numbers[0]}-{numbers[-1]}"
    told = " ".join(cut(" ".join(str(value).split()), 60) for value in given.values())
    return cut(f"{call.name} {told}".rstrip(), LINE)


def shortened(text: str, most: int) -> str:
    """Keep head and tail of a result that is larger than so many bytes, whole lines where there are any."""
    content = text.encode("utf-8", "replace")
    if len(content) <= most:
        return text
    head = content[: most * 2 // 3].decode("utf-8", "ignore")
    tail = content[-(most // 4) :].decode("utf-8", "ignore")
    head = head.rpartition("\n")[0] or head
    tail = tail.partition("\n")[2] or tail
    gone = _count(text[len(head) : len(text) - len(tail)].strip("\n"))
    return f"{head}\n[… {gone} left out: there is no room for more at once; ask for a part …]\n{tail}"


def _gist(call: ToolCall, text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    if not rest or text.startswith("error:"):
        return cut(first, LINE) or "nothing"
    last = f", the last: {cut(rest.rpartition(chr(10))[2].strip(), 80)}" if call.name == "bash" else ""
    return f"{_count(text)}{last}"


def _shortened(arguments: str) -> str:
    if len(arguments) <= SHORT:
        return arguments
    given = _given(arguments) or {"arguments": arguments}
    return json.dumps({key: value if key == "path" else _part(value) for key, value in given.items()})


def _part(value: object) -> object:
    text = value if isinstance(value, str) else json.dumps(value)
    return value if len(text) <= SHORT // 2 else f"[{len(text):,} characters left out to save room]"


def _given(arguments: str) -> dict[str, object]:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _count(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
