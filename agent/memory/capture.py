"""Turn a finished turn into what the scribe may see: cut first, then scrubbed."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ogcode.agent.memory.calls import LINE, tell
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.markdown import head_and_tail
from ogcode.agent.memory.scrubbed import Scrubber
from ogcode.agent.memory.worked import file_digest, symbols, worked_on
from ogcode.agent.turn import Turn

REQUEST, ANSWER = 3000, 3000
"""Characters of each that a digest holds at most."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its conversation a turn stands."""

    session_id: str
    number: int
    started: datetime
    model: str
    window: int


def capture(turn: Turn, place: Place, top: Path, known_secrets: Iterable[str] = ()) -> Job:
    """Make the job of a turn. Holds no tool output, no reasoning, and no recalled memory."""
    room = min(24_000, 2 * max(1_000, place.window - 1_500))
    scrubber = Scrubber(tuple(known_secrets))
    work = worked_on(turn.steps, top)
    sure = scrubber.all_at_once(work.files)
    clean = [path for path in work.files if sure.whole(path) == path]
    steps, dropped = tell(turn.steps, scrubber, room * 3 // 8)
    return Job(
        id="",
        session_id=place.session_id,
        turn=place.number,
        created_at=place.started.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        outcome=turn.outcome,
        model=place.model,
        window=place.window,
        request=_short(turn.words.strip(), REQUEST, room // 4, scrubber),
        steps=tuple(steps),
        answer=_short(turn.answer.strip(), ANSWER, room // 4, scrubber),
        files={path: file_digest(top / path) for path in clean},
        changed=tuple(path for path in clean if path in work.written),
        symbols={path: names for path, names in symbols(work, top, room // 8).items() if path in clean},
        dropped=dropped,
        reason=scrubber.line(turn.reason, LINE),
    )


def _short(text: str, characters: int, size: int, scrubber: Scrubber) -> str:
    """Cut the middle out of a text until it has at most so many characters and so many bytes."""
    while _bytes(head_and_tail(text, characters)) > size:
        characters = characters * 3 // 4
    while _bytes(kept := scrubber.ends(text, characters)) > size:
        characters = characters * 3 // 4
    return kept


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
