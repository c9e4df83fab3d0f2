"""Earlier sessions: which one to go on with, and the turns that a kill left open in them."""

import contextlib
import os
import uuid
from dataclasses import replace
from pathlib import Path

from ogcode.agent.files.durable import Lock
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import add_job
from ogcode.agent.prompt import Previous
from ogcode.agent.sensitive.envfiles import env_file_secrets, env_files_named
from ogcode.agent.session import Record, own_tokens, reopened
from ogcode.agent.transcript import Past, Transcript, is_own, latest, own_sessions, recollect
from ogcode.agent.turn import Turn, Usage
from ogcode.tui.choice import Choice as Choice
from ogcode.tui.place import Here


class SessionUnknown(Exception):
    """No such session; the text says which there are."""


class SessionTaken(Exception):
    """A session of that id is there already; the text says what to do."""


def chosen_session(here: Here, choice: Choice) -> Path | None:
    if choice.identity and os.path.lexists(here.root.sessions / f"{choice.identity}.jsonl"):
        raise SessionTaken(f"session {choice.identity} is there already; go on with it: --resume {choice.identity[:8]}")
    if choice.latest:
        path = latest(here.root.sessions, here.root.top, here.seal)
        if path is None:
            raise SessionUnknown(f"there is no earlier session in {here.root.top}; start one without --continue")
        return path
    if not choice.resume:
        return None
    near = [path for path in own_sessions(here.root.sessions, here.seal) if path.stem.startswith(choice.resume)]
    if not near:
        raise SessionUnknown(f"there is no session '{choice.resume}' in {here.root.path}; ogcode sessions lists them")
    if len(near) > 1:
        raise SessionUnknown(f"'{choice.resume}' could be {', '.join(path.stem[:12] for path in near[:6])}; name one")
    return near[0]


def recollected(here: Here, path: Path) -> Past:
    """Read a session's past; what was said in a fork begins with what its parents said up to there.

    Raises:
        OSError: the session's file can't be read.
    """
    past, before = recollect(path), dict[int, tuple[str, str]]()
    for session_id, last in past.parents.items():
        parent = path.with_name(f"{session_id}.jsonl")
        with contextlib.suppress(OSError):
            if is_own(parent, here.seal):
                theirs = recollect(parent)
                before |= {turn: each for turn, each in zip(theirs.numbers, theirs.said, strict=True) if turn <= last}
    said = before | dict(zip(past.numbers, past.said, strict=True))
    return replace(past, said=tuple(said.values()), numbers=tuple(said))


def forked(past: Past) -> Past:
    done = past.turns - (past.open_turn is not None)  # one that is running elsewhere is not of this conversation
    parents = {**past.parents, past.session_id: done}
    return replace(
        past, session_id=uuid.uuid4().hex, parents=parents, open_turn=None, usage=Usage(), rewound=frozenset()
    )


def lock_file(here: Here, session_id: str) -> Path:
    return here.root.locks / f"session-{session_id}"


def recorder(here: Here) -> Record:
    top, named = here.root.top, set[str]()  # the `.env` files that came up in the session

    def record(turn: Turn, place: Place) -> Job:
        named.update(env_files_named([turn.words, *(step.arguments for step in turn.steps)], top))
        known = (*here.secrets, *env_file_secrets(top, named))
        return add_job(here.root.store, capture(turn, place, top, known), here.seal)

    return record


def finish_open_turns(here: Here) -> None:
    """Record the turns that a kill left open, where nobody holds their sessions; what fails is left for next time."""
    for path in here.root.locks.glob("session-*"):
        with contextlib.suppress(OSError):  # what is no lock, such as a link, or a full disk
            if lock := Lock.take(path):
                try:
                    _finish_open_turn(here, here.root.sessions / f"{path.name.removeprefix('session-')}.jsonl")
                    _sweep(here, path.name.removeprefix("session-"))
                except OSError:
                    lock.release()
                    continue
                lock.release(remove=True)


def _sweep(here: Here, session_id: str) -> None:
    if (here.root.store / "undo" / f"{session_id}.jsonl").exists():
        from ogcode.agent.undo.back import Undo

        Undo(here.workspace(), lambda: here.root.store / "undo", lambda: session_id, here.seal, here.now).sweep()


def _finish_open_turn(here: Here, path: Path) -> None:
    if not is_own(path, here.seal) or (left := (past := recollect(path)).open_turn) is None:
        return
    turn = reopened(left.progress.turn("interrupted"))
    place = Place(past.session_id, left.number, left.started, left.model, left.window)
    job = None if turn.empty else recorder(here)(turn, place)
    ended = Previous(left.number, turn.answer, turn.outcome, job.id if job else "", job.changed if job else ())
    transcript = Transcript(path)
    for event in left.progress.unanswered():
        transcript.add(event)
    transcript.turn_finished(turn, ended, own_tokens(turn))
