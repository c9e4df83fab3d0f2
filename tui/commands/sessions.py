"""`ogcode sessions` and `ogcode models`: what there is to go on with, and with which model."""

from ogcode.agent.transcript import own_sessions, recollect
from ogcode.tui.commands.terminal import answer, answer_json, flat
from ogcode.tui.place import Here


def list_sessions(here: Here, *, as_json: bool) -> int:
    """List the sessions of this place, the most recently active first."""
    for path in own_sessions(here.root.sessions, here.seal):
        past = recollect(path)
        first = past.said[0][0] if past.said else ""
        if as_json:
            answer_json({"session_id": past.session_id, "turns": past.turns, "top": past.top, "first": first})
        else:
            answer(f"{past.session_id[:8]}  {past.turns:3} turns  {flat(first)[:80]}")
    return 0


def show_model(here: Here, *, as_json: bool) -> int:
    """Print the model that would be asked."""
    import asyncio

    from ogcode.agent.models.choice import choose

    name = asyncio.run(choose(flag="", environ=here.environ, configured=here.config.model))
    if as_json:
        answer_json({"model": name})
    else:
        answer(name)
    return 0
