"""`ogcode undo`: the files that were changed, and back with them."""

from collections.abc import Iterator
from pathlib import Path

from ogcode.agent.files.durable import Lock
from ogcode.agent.transcript import Transcript, own_sessions
from ogcode.agent.undo.back import Undo
from ogcode.agent.undo.plan import NothingToUndo, Plan
from ogcode.tui.behind.undoing import carry_out
from ogcode.tui.commands.change import NotChanged
from ogcode.tui.commands.given import Given
from ogcode.tui.commands.terminal import answer, answer_json, remark
from ogcode.tui.earlier import Choice, chosen_session, finish_open_turns, lock_file
from ogcode.tui.place import Here

COMMANDS = ("list", "last", "to", "redo")
HELP = "list (without one), put back what the last turn changed, go back to before TURN, or redo what was undone"


def run_undo(here: Here, given: Given) -> int:
    """Do what was asked for; return the exit code: 1 where a file was left as it is.

    Raises:
        SessionUnknown: there is no such session, or more than one.
        NothingToUndo: there is nothing to put back.
        NotChanged: nothing was done; the text says why.
    """
    undo, path = _opened(here, given.session)
    if given.command == "list":
        _list(undo, as_json=given.json)
        return 0
    if given.dry_run:
        plan = _plan(undo, given)
    else:
        finish_open_turns(here)
        lock = Lock.take(lock_file(here, path.stem))
        if lock is None:
            raise NotChanged(f"session {path.stem[:8]} is in use; say /undo there, or end it first")
        try:
            plan, _ = carry_out(undo, _plan(undo, given), Transcript(path), here.root.store / "undo")
        finally:
            lock.release(remove=True)
    if given.json:
        answer_json({"session_id": path.stem, "dry_run": given.dry_run, **_as_object(plan)})
    else:
        answer("\n".join(plan.told(undo.workspace)))
        remark(f"session {path.stem[:8]}" + ("; nothing was done" if given.dry_run else ""))
    return 1 if any(step.why for step in plan.steps) else 0


def _plan(undo: Undo, given: Given) -> Plan:
    match given.command:
        case "last":
            return undo.last()
        case "redo":
            return undo.again()
        case _:
            return undo.before(given.turn or 1)


def _opened(here: Here, name: str) -> tuple[Undo, Path]:
    """Find a session, or the last one of this checkout that changed files."""
    found = chosen_session(here, Choice(resume=name))
    paths = [found] if found else own_sessions(here.root.sessions, here.seal)
    for path in paths:
        undo = undo_in(here, path.stem)
        if any(undo.workspace.base(Path(each.path)) for entry in undo.history().changes for each in entry.changes):
            return undo, path
    where = f"in session {found.stem[:8]}" if found else f"in {here.root.top}"
    raise NothingToUndo(f"no file was changed by ogcode's tools {where}, or what was is kept no more")


def undo_in(here: Here, session_id: str) -> Undo:
    """Give the way back of a session that is not open."""
    return Undo(here.workspace(), lambda: here.root.store / "undo", lambda: session_id, here.seal, here.now)


def _list(undo: Undo, *, as_json: bool) -> None:
    """List the turns that changed files, the last first."""
    for row in _rows(undo):
        if as_json:
            answer_json(row)
        else:
            marks = [*(["undone"] if row["undone"] else []), *(["commands ran, too"] if row["commands"] else [])]
            told = f"  ({', '.join(marks)})" if marks else ""
            files = row["files"] if isinstance(row["files"], list) else []
            answer(f"turn {row['turn']}  {str(row['at'])[:16].replace('T', ' ')}  {', '.join(files)}{told}")
    if not as_json:
        remark(f"session {undo.session()[:8]}; ogcode undo last, ogcode undo to TURN and ogcode undo redo change files")


def _rows(undo: Undo) -> Iterator[dict[str, object]]:
    history = undo.history()
    for turn in sorted({entry.turn for entry in history.changes}, reverse=True):
        entries = [entry for entry in history.changes if entry.turn == turn]
        paths = dict.fromkeys(undo.workspace.display(Path(each.path)) for entry in entries for each in entry.changes)
        yield {
            "session_id": undo.session(),
            "turn": turn,
            "at": entries[-1].at,
            "files": list(paths),
            "undone": all(entry.id in history.gone for entry in entries),
            "commands": turn in history.ran,
        }


def _as_object(plan: Plan) -> dict[str, object]:
    files = [{"path": s.change.path, "does": s.does, "why": s.why, "see": s.see} for s in plan.steps]
    return {"act": plan.act, "turns": plan.turns, "files": files, "commands_ran_in": plan.commands}
