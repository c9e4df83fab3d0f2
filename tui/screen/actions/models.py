"""`/model`: another model from the next turn on."""

from typing import TYPE_CHECKING

from ogcode.tui.screen.actions.command import Command

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


async def _model(app: "Ogcode", argument: str) -> None:
    if argument:
        app.use_model(argument)
        return

    from ogcode.tui.screen.pickers.models import ModelPicker  # only where one is picked

    def chosen(name: str | None) -> None:
        app.approvals.focus_first()
        if name:
            app.use_model(name)

    app.push_screen(ModelPicker(app.desk), chosen)


COMMANDS = (Command("/model", "[name]", "use another model, or pick one from a list", _model, aliases=("/models",)),)
