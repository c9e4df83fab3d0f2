"""`ogcode memory` on a terminal: the memory view by itself."""

import contextlib

from ogcode.agent.model import Model
from ogcode.tui.memory.keeper import Keeper
from ogcode.tui.place import Here


def view_memory(here: Here) -> int:
    """Show the memory of this place until the user leaves it."""
    from ogcode.tui.screen.memory.app import run_memory_app

    async def librarian() -> Model:
        from ogcode.agent.models.choice import choose
        from ogcode.tui.models import model_here

        configured = here.config.librarian_model or here.config.model
        return await model_here(here, await choose(flag="", environ=here.environ, configured=configured))

    def scribe() -> None:
        from ogcode.tui.wiring import start_scribe

        with contextlib.suppress(OSError):  # its turn is safe in the spool: the next start will do it
            start_scribe(here, linger=0.0)

    desk = Keeper(here, librarian=librarian, scribe=scribe, switch=lambda: here.config.memory)
    return run_memory_app(desk, theme=here.config.theme, log=here.home / "logs" / "app.log")
