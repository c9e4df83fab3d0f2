"""Blocks that stay as they are: what the user said, what the app says, how a turn ended."""

from textual.content import Content
from textual.widgets import Static

from ogcode.agent.clean import clean
from ogcode.agent.events import TurnFinished
from ogcode.tui.screen.status import short

_TALLEST = 20


def flat(text: str) -> str:
    """Make text safe to show in one line."""
    return " ".join(clean(text).split())


class UserBlock(Static):
    """What the user said; of a long paste, its beginning."""

    def __init__(self, text: str) -> None:
        lines = clean(text, prose=True).split("\n")
        cut = [f"… {len(lines) - _TALLEST:,} more lines"] if len(lines) > _TALLEST else []
        super().__init__(Content("\n".join([*lines[:_TALLEST], *cut])), markup=False)


class Line(Static):
    """Something the app says: plain, quiet, or a warning."""

    def __init__(self, text: str | Content, kind: str = "quiet") -> None:
        super().__init__(Content(clean(text)) if isinstance(text, str) else text, markup=False, classes=kind)


class Ending(Line):
    """How a turn ended: what it used, the note to come, and how to go on where it was cut short."""

    def __init__(self, finished: TurnFinished) -> None:
        turn, used = finished.turn, finished.turn.usage.tokens
        goes_on = turn.outcome in ("interrupted", "limit") and not turn.empty
        outcome = turn.outcome if turn.outcome != "limit" else "stopped at a limit"
        then = ", /continue goes on" if goes_on else ", Up brings the message back" if outcome == "failed" else ""
        saves = short(finished.with_replay) != short(used) and finished.with_replay > used > 0
        parts = [
            outcome + then,
            f"{short(used)} tokens" if used else "",
            f"replay would be {short(finished.with_replay)}" if saves else "",
            f"note {finished.note}" if finished.note else "",
        ]
        said = " · ".join(part for part in parts if part)
        reason = "" if turn.outcome == "interrupted" else flat(turn.reason)
        super().__init__(f"{reason}\n{said}" if reason else said, "quiet" if turn.outcome == "done" else "warning")
