"""The result of a headless turn: what came of it, as an object whose shape is kept (`ogcode schema`)."""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ogcode.agent.events import TurnFinished
from ogcode.agent.rights.permissions import Denial
from ogcode.agent.turn import Turn, Usage
from ogcode.tui.headless.progress import RECALLS
from ogcode.tui.place import Here

if TYPE_CHECKING:
    from ogcode.tui.headless.structured import Checked

FORMAT = 1
"""Version of the JSON shapes: it grows where a field goes or changes its meaning, not where one is added."""

_SUBTYPES = {
    0: "success",
    3: "error_time_limit",
    53: "error_max_turns",
    55: "error_permission",
    75: "error_provider",
    130: "error_interrupted",
    143: "error_terminated",
}
_LIMITED = {
    "tokens": "error_max_tokens",
    "cost": "error_max_budget_usd",
    "window": "error_window",
    "loop": "error_loop",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    turn: Turn
    finished: TurnFinished
    code: int
    session_id: str
    spent: Usage
    """By the session, this turn included."""
    denials: tuple[Denial, ...]
    note: str
    pending: bool
    seconds: float
    here: Here
    structured: "Checked | None" = None
    """None where no schema was given."""
    signalled: str = ""
    """What signal ended it, in words; empty where none did."""

    @property
    def said(self) -> str:
        """The answer as it is printed: where it is to follow a schema and does, nothing but JSON."""
        if self.structured is None or self.structured.wrong:
            return self.turn.answer
        return json.dumps(self.structured.value, ensure_ascii=False)

    @property
    def wrong(self) -> str:
        """What is wrong with the shape of an answer."""
        return self.structured.wrong if self.structured and self.turn.outcome == "done" else ""

    @property
    def reason(self) -> str:
        """Why it was no success, in a sentence; empty where it was."""
        if self.turn.reason or not self.code:
            return self.turn.reason
        if self.signalled:
            return f"{self.signalled} after the answer"
        if self.wrong:
            return f"the answer does not follow the schema: {self.wrong}"
        return f"a permission was missing: {self.denials[-1].reason}" if self.denials and self.code == 55 else ""

    @property
    def complaint(self) -> str:
        """The same as the user is told of it."""
        return (
            self.reason if self.turn.outcome == "done" or self.signalled else f"{self.turn.outcome}: {self.turn.reason}"
        )

    @property
    def waiting(self) -> str:
        """The file of the turn as long as its note is to come."""
        return str(self.here.root.spool / f"{self.note}.json") if self.pending else ""


def result(outcome: Outcome) -> dict[str, object]:
    """Give the result object of a turn."""
    turn = outcome.turn
    told: dict[str, object] = {
        "type": "result",
        "version": FORMAT,
        "subtype": _subtype(outcome),
        "is_error": outcome.code != 0,
        "result": turn.answer,
        "reason": outcome.reason,
        "exit_code": outcome.code,
        "session_id": outcome.session_id,
        "num_turns": turn.requests,
        "duration_ms": round(outcome.seconds * 1000),
        "usage": _told(turn.usage),
        "total_cost_usd": turn.usage.cost,
        "session_usage": _told(outcome.spent),
        "session_cost_usd": outcome.spent.cost,
        "permission_denials": [
            {"tool_name": denial.call.name, "tool_input": arguments_of(denial.call.arguments), "reason": denial.reason}
            for denial in outcome.denials
        ],
        "memory": _memory(outcome),
        "replay_tokens": outcome.finished.replay_tokens,
        "replay_tokens_cached": outcome.finished.replay_tokens_cached,
    }
    return told if outcome.structured is None else told | {"structured_output": outcome.structured.value}


def arguments_of(text: str) -> object:
    """Read the arguments of a call; as they are where they are not JSON."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text


def _subtype(outcome: Outcome) -> str:
    if outcome.wrong and outcome.code == 1:
        return "error_schema"
    limited = _LIMITED.get(outcome.turn.cause) if outcome.code in (53, 54) else None
    return limited or _SUBTYPES.get(outcome.code, "error_during_execution")


def _memory(outcome: Outcome) -> dict[str, object]:
    from ogcode.agent.usage import spent_on

    here, note = outcome.here, outcome.note
    written = next(here.root.memory.glob(f"{note}--*.md"), None) if note and not outcome.pending else None
    return {
        "note": note or None,
        "pending": outcome.pending,
        "path": outcome.waiting or (str(written) if written else None),
        "recalls": sum(step.name in RECALLS for step in outcome.turn.steps),
        "scribe_tokens": spent_on(here.root.store, note, "scribe") if note and not outcome.pending else None,
    }


def _told(usage: Usage) -> dict[str, int]:
    return {name: count for name, count in asdict(usage).items() if name != "cost"}
