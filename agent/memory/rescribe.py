"""Have a note written once more: its turn goes back into the spool, as often as somebody asks for it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ogcode.agent.index.cache import Memory
from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import is_ours, open_job, prepare_store, put_back
from ogcode.agent.transcript import Unfinished, is_own, retold, rows
from ogcode.agent.turn import Outcome, Turn

_OUTCOMES: Mapping[str, Outcome] = {"interrupted": "interrupted", "failed": "failed", "limit": "limit"}


class RescribeImpossible(Exception):
    """A note can't be written once more; the text says why."""


def rescribe(memory: Memory, sessions: Path, entry: Entry, *, secrets: Iterable[str] = ()) -> Job:
    """Put the job of a note into the spool, to be tried at once and anew; `secrets` never get into it.

    Raises:
        RescribeImpossible: the note is not one that a model may write anew, or its turn is gone.
        OSError: the spool can't be written.
    """
    if entry.origin != "own":
        whose = "was edited by hand" if entry.origin == "edited" else "is not of your own ogcode"
        raise RescribeImpossible(f"{entry.id} {whose}; no model writes over it")
    if not entry.pending and entry.scribe == "verbatim":
        raise RescribeImpossible(f"{entry.id} is kept word for word; no model could tell it better")
    if not memory.seal.sign(b""):
        raise RescribeImpossible(f"{memory.home} can't be written, so the turn would not count as your own")
    job = _waiting(memory, entry) or _rebuilt(memory, sessions, entry, secrets)
    again = not entry.pending and entry.scribe != "extract"
    fresh = replace(job, tries=0, tried_at="", due_at="", refused=False, again=again)
    prepare_store(memory.root.store)
    put_back(memory.root.store, fresh, memory.seal)
    return fresh


def _waiting(memory: Memory, entry: Entry) -> Job | None:
    try:
        content = (memory.root.spool / f"{entry.id}.json").read_bytes()
    except FileNotFoundError:
        return None
    job, mark = open_job(entry.id, content)
    return job if isinstance(job, Job) and is_ours(job, mark, memory.seal) else None


def _rebuilt(memory: Memory, sessions: Path, entry: Entry, secrets: Iterable[str]) -> Job:
    """Make the job of a turn once more, from its transcript; the files stay as the note knows them."""
    path = sessions / f"{entry.session_id}.jsonl"
    if not entry.session_id.isalnum() or not is_own(path, memory.seal):
        raise RescribeImpossible(f"{entry.id}: the transcript of its conversation is gone")
    found = _turn_of(path, entry.id)
    if found is None:
        raise RescribeImpossible(f"{entry.id}: the transcript of its conversation does not hold this turn whole")
    left, turn = found
    place = Place(path.stem, left.number, left.started, left.model, left.window)
    return replace(
        capture(turn, place, memory.root.top, secrets),
        id=entry.id,
        created_at=entry.created_at,
        files=dict(entry.files),
        upgrade=True,
    )


def _turn_of(path: Path, note: str) -> tuple[Unfinished, Turn] | None:
    lines = list(rows(path))
    for place, row in enumerate(lines):
        match row:
            case {"type": "turn_finished", "note": str(named), "outcome": str(ended), "reason": str(reason)} if (
                named == note
            ):
                left = retold(path.stem, lines[:place]).open_turn
                return (left, left.progress.turn(_OUTCOMES.get(ended, "done"), "", reason)) if left else None
    return None
