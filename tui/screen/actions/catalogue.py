"""All slash commands, in the order in which they are offered."""

from typing import TYPE_CHECKING

from ogcode.agent.nearest import nearest
from ogcode.tui.screen.actions import (
    comfort,
    files,
    memory,
    models,
    permissions,
    remember,
    rules,
    sessions,
    shown,
    turns,
    writing,
)
from ogcode.tui.screen.actions.command import Command
from ogcode.tui.screen.actions.elsewhere import INSTEAD_IN_APP
from ogcode.tui.screen.blocks.lines import flat

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

COMMANDS: "tuple[Command[Ogcode], ...]" = (
    *models.COMMANDS,
    *memory.COMMANDS,
    *remember.COMMANDS,
    *files.COMMANDS,
    *rules.COMMANDS,
    *permissions.COMMANDS,
    *turns.COMMANDS,
    *shown.COMMANDS,
    *writing.COMMANDS,
    *comfort.COMMANDS,
    *sessions.COMMANDS,
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def named(name: str) -> "Command[Ogcode] | None":
    return _BY_NAME.get(name)


def unknown(name: str) -> str:
    """Say what there is in the place of a command that there is not."""
    if instead := INSTEAD_IN_APP.get(name):
        return f"ogcode has no {name}: {instead}"
    close = nearest(name, _BY_NAME)
    hint = f"did you mean {close}?" if close else "/help lists what there is"
    return f"there is no command {flat(name)}; {hint}"


def matching(text: str) -> "list[Command[Ogcode]]":
    """List what a half-typed command may become: itself, then those of this name, then those of another name."""
    if not text.startswith("/") or any(each.isspace() for each in text):
        return []
    itself = [_BY_NAME[text]] if text in _BY_NAME else []
    begun = [each for each in COMMANDS if each.name.startswith(text)]
    others = [each for each in COMMANDS if any(alias.startswith(text) for alias in each.aliases)]
    return list({each.name: each for each in (*itself, *begun, *others)}.values())
