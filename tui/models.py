"""The models that are asked here: the session's, and the librarian's where the settings name another."""

from pathlib import Path

from ogcode.agent.model import Model
from ogcode.agent.models.choice import open_model
from ogcode.agent.models.slot import Awaiting, base_here, meeting_place
from ogcode.tui.place import Here


async def model_here(here: Here, name: str) -> Model:
    """Open a model with the user's settings; one of this machine is asked once the scribe has let go of it.

    Raises:
        ModelError: it can't be used; one sentence for the user.
    """
    model = await open_model(
        name,
        environ=here.environ,
        api_base=here.config.api_base,
        num_ctx=here.config.num_ctx,
        prices_cache=here.home / "prices.json",
    )
    locks = locks_here(here, model.name)
    return Awaiting(model, locks) if locks else model


def locks_here(here: Here, name: str) -> Path | None:
    """Find where those meet who use a server of this machine; None where a model has none.

    Raises:
        ModelError: its address is none.
    """
    local = base_here(name, environ=here.environ, api_base=here.config.api_base)
    return meeting_place(here.home, local, otherwise=here.root.locks) if local else None


async def librarian_here(here: Here, model: Model) -> Model | None:
    """Open the librarian's own model; None where it is whichever the session has.

    Raises:
        ModelError: it can't be used; one sentence for the user.
    """
    named = here.config.librarian_model
    if not named:
        return None
    return model if named == model.name else await model_here(here, named)
