"""`/model`: another model from the next turn on."""

from typing import TYPE_CHECKING

from ogcode.tui.screen.actions.command import Command
from ogcode.tui.screen.model_screen import ModelScreen

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


async def _model(app: "Ogcode", argument: str) -> None:
    if argument:
        app.use_model(argument)
        return

    def chosen(name: str | None) -> None:
        app.approvals.focus_first()
        if name:
            app.use_model(name)

    app.push_screen(ModelScreen(app.desk), chosen)


COMMANDS = (Command("/model", "[name]", "use another model, or pick one from a list", _model),)
