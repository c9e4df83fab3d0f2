"""What a headless run prints: stdout carries the answer or JSON, stderr all the rest."""

import contextlib
import json
import re
from dataclasses import dataclass
from typing import Protocol, TextIO

from ogcode.agent.clean import clean
from ogcode.agent.events import (
    Answered,
    Event,
    Nested,
    Retrying,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    Waiting,
    Warned,
)
from ogcode.agent.permissions import Denial
from ogcode.agent.turn import Turn
from ogcode.agent.version import VERSION
from ogcode.tui.place import Here

FORMAT = 1
"""Version of the JSON shapes."""

_RECALLS = ("memory_recall", "project_memory_recall")
_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")


@dataclass(frozen=True, slots=True)
class Outcome:
    turn: Turn
    finished: TurnFinished
    code: int
    session_id: str
    denials: tuple[Denial, ...]
    note: str
    pending: bool
    seconds: float
    here: Here


@dataclass(frozen=True, slots=True)
class Started:
    session_id: str
    model: str
    mode: str
    tools: tuple[str, ...]


class Output(Protocol):
    def begin(self, started: Started) -> None: ...
    def notice(self, text: str) -> None: ...
    def event(self, event: Event) -> None: ...
    def end(self, outcome: Outcome) -> None: ...


class Text:
    """The answer as text; steps, warnings and the reason of an early end on stderr."""

    def __init__(self, stdout: TextIO, stderr: TextIO) -> None:
        self._stdout = stdout
        self._stderr = stderr

    def begin(self, started: Started) -> None:
        if self._stderr.isatty():
            self._line(f"{started.model}, mode {started.mode}, session {started.session_id[:8]}")

    def notice(self, text: str) -> None:
        self._line(f"ogcode: {text}")

    def event(self, event: Event) -> None:
        match event:
            case ToolStarted(call):
                self._line(f"· {call.name} {' '.join(call.arguments.split())[:120]}")
            case ToolFinished(call, output, True):
                self._line(f"  {call.name}: {output.splitlines()[0][:160]}")
            case ToolFinished(call, output) if call.name in _RECALLS:
                self._line(f"  from {', '.join(dict.fromkeys(_LINK.findall(output))) or 'no note'}")
            case Nested(name, ToolStarted(call)):
                self._line(f"  {name}: {call.name} {' '.join(call.arguments.split())[:120]}")
            case Retrying(reason, seconds):
                self._line(f"  trying again in {seconds:.0f} s: {reason}")
            case Waiting(reason):
                self._line(f"  {reason}")
            case Warned(text):
                self._line(f"ogcode: {text}")

    def end(self, outcome: Outcome) -> None:
        turn = outcome.turn
        if turn.answer:
            text = clean(turn.answer, prose=True) if self._stdout.isatty() else _encodable(turn.answer)
            self._stdout.write(text if text.endswith("\n") else f"{text}\n")
            self._stdout.flush()
        if turn.outcome != "done":
            self._line(f"ogcode: {turn.outcome}: {turn.reason}")
        if outcome.pending and outcome.code == 0 and self._stderr.isatty():
            self._line(f"note {outcome.note} is being written; ogcode memory wait")

    def _line(self, text: str) -> None:
        with contextlib.suppress(OSError):  # nobody reads it: the answer still counts
            self._stderr.write(f"{clean(text)}\n")
            self._stderr.flush()


class Json(Text):
    """One JSON object when all is over."""

    def end(self, outcome: Outcome) -> None:
        self._stdout.write(f"{json.dumps(result(outcome), ensure_ascii=True)}\n")
        self._stdout.flush()


class StreamJson(Json):
    """One JSON object a line, as it happens; the result comes last."""

    def __init__(self, stdout: TextIO, stderr: TextIO, session_id: str, folder: str) -> None:
        super().__init__(stdout, stderr)
        self._session_id = session_id
        self._folder = folder

    def begin(self, started: Started) -> None:
        self._object(
            {
                "type": "system",
                "subtype": "init",
                "cwd": self._folder,
                "model": started.model,
                "permissionMode": started.mode,
                "tools": sorted(started.tools),
                "ogcode_version": VERSION,
            }
        )

    def event(self, event: Event) -> None:
        match event:
            case Answered(text, calls, _):
                content: list[dict[str, object]] = [{"type": "text", "text": text}] if text else []
                content += [
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}
                    for call in calls
                ]
                self._object({"type": "assistant", "message": {"role": "assistant", "content": content}})
            case ToolFinished(call, output, failed):
                told = {"type": "tool_result", "tool_use_id": call.id, "content": output, "is_error": failed}
                self._object({"type": "user", "message": {"role": "user", "content": [told]}})
            case Retrying(reason, seconds):
                self._object({"type": "system", "subtype": "retry", "reason": reason, "seconds": round(seconds, 1)})
            case Warned(text):
                self._object({"type": "system", "subtype": "warning", "text": text})

    def _object(self, value: dict[str, object]) -> None:
        self._stdout.write(f"{json.dumps({**value, 'session_id': self._session_id, 'version': FORMAT})}\n")
        self._stdout.flush()


_SUBTYPES = {
    0: "success",
    3: "error_time_limit",
    53: "error_max_turns",
    55: "error_permission",
    75: "error_provider",
    130: "error_interrupted",
    143: "error_terminated",
}


def result(outcome: Outcome) -> dict[str, object]:
    """Give the result object of a run."""
    from ogcode.agent.usage import spent_on

    turn, usage = outcome.turn, outcome.turn.usage
    limited = {
        "tokens": "error_max_tokens",
        "cost": "error_max_budget_usd",
        "window": "error_window",
        "loop": "error_loop",
    }
    subtype = limited.get(turn.cause) if outcome.code in (53, 54) else None
    recalls = sum(step.name in _RECALLS for step in turn.steps)
    scribe = spent_on(outcome.here.root.store, outcome.note, "scribe") if outcome.note and not outcome.pending else None
    return {
        "type": "result",
        "version": FORMAT,
        "subtype": subtype or _SUBTYPES.get(outcome.code, "error_during_execution"),
        "is_error": outcome.code != 0,
        "result": turn.answer,
        "reason": turn.reason,
        "exit_code": outcome.code,
        "session_id": outcome.session_id,
        "num_turns": turn.requests,
        "duration_ms": round(outcome.seconds * 1000),
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
        },
        "total_cost_usd": usage.cost,
        "permission_denials": [
            {"tool_name": denial.call.name, "tool_input": _input(denial.call.arguments), "reason": denial.reason}
            for denial in outcome.denials
        ],
        "memory": {
            "note": outcome.note or None,
            "pending": outcome.pending,
            "recalls": recalls,
            "scribe_tokens": scribe,
        },
        "replay_tokens": outcome.finished.replay_tokens,
        "replay_tokens_cached": outcome.finished.replay_tokens_cached,
    }


def _input(arguments: str) -> object:
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
