"""The models that are asked here: the session's, and the librarian's where the settings name another."""

from ogcode.agent.model import Model
from ogcode.agent.models.choice import open_model
from ogcode.agent.models.slot import Awaiting, base_here
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
    local = base_here(model.name, environ=here.environ, api_base=here.config.api_base)
    return Awaiting(model, here.root.locks) if local else model


async def librarian_here(here: Here, model: Model) -> Model | None:
    """Open the librarian's own model; None where it is whichever the session has.

    Raises:
        ModelError: it can't be used; one sentence for the user.
    """
    named = here.config.librarian_model
    if not named:
        return None
    return model if named == model.name else await model_here(here, named)
