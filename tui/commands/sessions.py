"""`ogcode sessions`: what there is to go on with, what was said there, and away with it."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ogcode.agent.transcript import own_sessions, recollect
from ogcode.tui.behind.sessions import exported, put_away
from ogcode.tui.commands.change import NotChanged
from ogcode.tui.commands.given import Given
from ogcode.tui.commands.notes import counted
from ogcode.tui.commands.terminal import answer, answer_json, asked, flat, remark
from ogcode.tui.desks.desk import NotDone
from ogcode.tui.earlier import Choice, chosen_session
from ogcode.tui.place import Here

COMMANDS = ("list", "show", "export", "delete")


def run_sessions(here: Here, given: Given) -> int:
    """Do what was asked for; return the exit code.

    Raises:
        SessionUnknown: there is no such session, or more than one.
        NotChanged: it is not deleted; the text says why.
    """
    match given.command:
        case "list":
            _list(here, as_json=given.json)
        case "delete":
            _delete(here, [_named(here, name) for name in given.names], sure=given.yes, as_json=given.json)
        case _:
            whole = given.command == "export"
            for name in given.names:
                answer(exported(here, _named(here, name), "json" if given.json else given.format, steps=whole))
    return 0


def _named(here: Here, name: str) -> Path:
    path = chosen_session(here, Choice(resume=name))
    assert path is not None  # noqa: S101  # a name was given
    return path


def _list(here: Here, *, as_json: bool) -> None:
    """List the sessions of this place, the most recently active first."""
    for path in own_sessions(here.root.sessions, here.seal):
        past = recollect(path)
        if not past.turns and not past.name:
            continue  # nothing was said in it
        first = past.said[0][0] if past.said else ""
        active = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        if as_json:
            facts = {"session_id": past.session_id, "turns": past.turns, "top": past.top, "first": first}
            answer_json(
                {
                    **facts,
                    "name": past.name,
                    "last_active": active.isoformat(timespec="seconds"),
                    "total_cost_usd": past.usage.cost,
                }
            )
        else:
            turns = f"{counted(past.turns, 'turn'):>9}"
            answer(f"{past.session_id[:8]}  {active:%Y-%m-%d %H:%M}  {turns}  {flat(past.name or first)[:60]}")


def _delete(here: Here, paths: Sequence[Path], *, sure: bool, as_json: bool) -> None:
    """Move transcripts to the trash; the notes of their turns stay."""
    paths = list(dict.fromkeys(paths))
    named = ", ".join(path.stem[:8] for path in paths)
    if not sure and not sys.stdin.isatty():
        raise NotChanged(f"nobody can be asked whether {named} is to be deleted; say --yes")
    if not sure and not asked(f"Delete {named}? The notes stay; they no longer have the words to their turns."):
        raise NotChanged("nothing was deleted")
    for path in paths:
        try:
            kept = put_away(here, path)
        except NotDone as error:
            raise NotChanged(str(error)) from error
        if as_json:
            answer_json({"session_id": path.stem, "deleted": True, "path": str(kept)})
        else:
            remark(f"session {path.stem[:8]} is in {kept}; mv it back to {path} to have it again")
