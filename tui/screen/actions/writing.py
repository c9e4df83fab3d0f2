"""`/vim`: the keys of vi in the prompt."""

from typing import TYPE_CHECKING

from ogcode.tui.screen.actions.command import Command

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


async def _vim(app: "Ogcode", argument: str) -> None:  # noqa: ARG001  # a command's signature
    on = app.prompt.vim is None
    app.prompt.use_vim(on=on)
    always = "vim = true in ~/.ogcode/config.toml keeps them" if on else "Esc interrupts at once again"
    await app.transcript.say(f"the keys of vi are {'on' if on else 'off'}; {always}")


COMMANDS = (Command("/vim", "", "the keys of vi in the prompt, or not any more", _vim),)
