"""All slash commands, in the order in which they are offered."""

from difflib import get_close_matches
from typing import TYPE_CHECKING

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


def nearest(name: str) -> str:
    """Find the command that was probably meant, or none."""
    close = get_close_matches(name, _BY_NAME, 1, 0.5)
    return close[0] if close else ""


def matching(text: str) -> "list[Command[Ogcode]]":
    """List what a half-typed command may become."""
    if not text.startswith("/") or any(each.isspace() for each in text):
        return []
    if text in _BY_NAME:
        return [_BY_NAME[text], *(each for each in COMMANDS if each.name.startswith(text) and each.name != text)]
    return [command for command in COMMANDS if command.name.startswith(text)]
