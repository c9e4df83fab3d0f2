"""All slash commands, in the order in which they are offered."""

from difflib import get_close_matches

from ogcode.tui.screen.actions import files, memory, models, rules, sessions
from ogcode.tui.screen.actions.command import Command

COMMANDS: tuple[Command, ...] = (
    *models.COMMANDS,
    *memory.COMMANDS,
    *files.COMMANDS,
    *rules.COMMANDS,
    *sessions.COMMANDS,
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def named(name: str) -> Command | None:
    return _BY_NAME.get(name)


def parse(text: str) -> tuple[str, str] | None:
    """Split a command line into name and argument; None is a message, even one that starts with a path."""
    name, _, argument = text.strip().partition(" ")
    if not name.startswith("/") or "/" in name[1:] or "\n" in name:
        return None
    return name, argument.strip()


def nearest(name: str) -> str:
    """Find the command that was probably meant, or none."""
    close = get_close_matches(name, _BY_NAME, 1, 0.5)
    return close[0] if close else ""


def matching(text: str) -> list[Command]:
    """List what a half-typed command may become."""
    if not text.startswith("/") or any(each.isspace() for each in text):
        return []
    if text in _BY_NAME:
        return [_BY_NAME[text], *(each for each in COMMANDS if each.name.startswith(text) and each.name != text)]
    return [command for command in COMMANDS if command.name.startswith(text)]
