"""A session as its transcript tells it, turn by turn, for people and for programs; secrets taken out."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ogcode.agent.transcript import rows

_SHOWN = 40
"""Lines of a tool's output that a person is shown."""


@dataclass(slots=True)
class Call:
    id: str
    name: str
    arguments: str
    output: str | None = None
    """None where it was cut short."""
    failed: bool = False


@dataclass(slots=True)
class Said:
    """Of the model between calls, or of the user while the turn ran."""

    role: str
    text: str


@dataclass(slots=True)
class Told:
    """One turn."""

    turn: int
    started_at: str
    model: str
    request: str
    steps: list[Call | Said] = field(default_factory=list)
    answer: str = ""
    outcome: str = "running"
    reason: str = ""
    note: str = ""
    usage: Mapping[str, object] = field(default_factory=dict)


def turns_of(path: Path) -> list[Told]:
    """Read the turns of a transcript; a line that was torn costs itself alone.

    Raises:
        OSError: the file can't be read.
    """
    turns = list[Told]()
    for row in filter(None, rows(path)):
        match row:
            case {"type": "turn_started", "turn": int(number), "request": str(request)}:
                turns.append(Told(number, str(row.get("started_at", "")), str(row.get("model", "")), request))
            case {"type": "answered", "text": str(text), "calls": list(calls)} if turns and text and calls:
                turns[-1].steps.append(Said("assistant", text))
            case {"type": "steered", "text": str(text)} if turns:
                turns[-1].steps.append(Said("user", text))
            case {"type": "tool_started", "id": str(call), "name": str(name), "arguments": str(given)} if turns:
                turns[-1].steps.append(Call(call, name, given))
            case {"type": "tool_finished", "id": str(call), "output": str(output)} if turns:
                for step in turns[-1].steps:
                    if isinstance(step, Call) and step.id == call:
                        step.output, step.failed = output, row.get("failed") is True
            case {"type": "turn_finished", "answer": str(answer), "outcome": str(outcome)} if turns:
                last, usage = turns[-1], row.get("usage")
                last.answer, last.outcome, last.reason = answer, outcome, str(row.get("reason", ""))
                last.note, last.usage = str(row.get("note", "")), usage if isinstance(usage, dict) else {}
    return turns


def as_object(
    session_id: str, turns: Sequence[Told], scrubbed: Callable[[str], str], *, steps: bool
) -> dict[str, object]:
    """Tell a session as JSON, with what was done in it or how many steps that took."""
    told = [asdict(turn) if steps else {**asdict(turn), "steps": len(turn.steps)} for turn in turns]
    return {"session_id": session_id, "turns": [_clean(each, scrubbed) for each in told]}


def as_markdown(session_id: str, turns: Sequence[Told], *, steps: bool) -> str:
    """Tell a session as a page, with or without what was done in it."""
    parts = [f"# Session {session_id}"]
    for turn in turns:
        parts.append(f"## Turn {turn.turn}")
        parts.append(", ".join(part for part in (turn.started_at, turn.model, turn.outcome, turn.note) if part))
        parts.append(_quoted(turn.request))
        for step in turn.steps if steps else ():
            parts.append(_call(step) if isinstance(step, Call) else _said(step))
        parts += [part for part in (turn.answer.strip(), f"({turn.reason})" if turn.reason else "") if part]
    return "\n\n".join(parts)


def _said(said: Said) -> str:
    return _quoted(said.text) if said.role == "user" else said.text.strip()


def _call(call: Call) -> str:
    head = f"- {call.name}{' (failed)' if call.failed else ''} {_code(' '.join(call.arguments.split()))}"
    if call.output is None:
        return f"{head}\n  (cut short)"
    lines = call.output.strip("\n").split("\n")
    shown = lines[:_SHOWN] + ([f"[{len(lines) - _SHOWN:,} more lines]"] if len(lines) > _SHOWN else [])
    fence = _fence(call.output, 3)
    return "\n  ".join([head, fence, *shown, fence])


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def _code(text: str) -> str:
    fence = _fence(text, 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _fence(text: str, least: int) -> str:
    """Give a row of backticks that is longer than any in a text."""
    return "`" * max(least, *(len(run) + 1 for run in re.findall("`+", text)), 0)


def _clean(value: object, scrubbed: Callable[[str], str]) -> object:
    match value:
        case str():
            return scrubbed(value)
        case dict():
            return {key: _clean(inner, scrubbed) for key, inner in value.items()}
        case list():
            return [_clean(inner, scrubbed) for inner in value]
    return value
