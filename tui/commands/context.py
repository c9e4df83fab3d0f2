"""`ogcode context`: what the next request would hold, part by part, in tokens."""

import asyncio

from ogcode.agent.model import Model
from ogcode.agent.models.choice import choose
from ogcode.tui.behind.context import parts_of_next_request
from ogcode.tui.commands.terminal import answer, answer_json, flat, remark
from ogcode.tui.earlier import Choice
from ogcode.tui.models import model_here
from ogcode.tui.place import Here
from ogcode.tui.wiring import open_session


def show_context(here: Here, named: str, session: str, *, as_json: bool) -> int:
    """Print a line for each part, for the model that would be asked; nothing is asked and nothing kept.

    Raises:
        ModelError: there is no model to tell the window of.
        SessionUnknown: there is no session of that id.
    """
    switch = here.config.memory
    model = asyncio.run(_model(here, named))
    opened = open_session(here, model, Choice(resume=session), memory="off" if switch == "off" else "read")
    try:
        opened.session.memory = switch  # what is said is as it would be; what is kept is nothing
        parts = parts_of_next_request(opened)
    finally:
        opened.close()
    for part in parts:
        if as_json:
            answer_json({"part": part.name, "tokens": part.tokens, "detail": part.detail})
        else:
            answer(f"{part.tokens:>9,}  {flat(part.name)}{f': {flat(part.detail)}' if part.detail else ''}")
    for notice in opened.notices:
        remark(notice)
    return 0


async def _model(here: Here, named: str) -> Model:
    return await model_here(here, await choose(flag=named, environ=here.environ, configured=here.config.model))
