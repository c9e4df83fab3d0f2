"""The slash commands, and the list of them that appears as one is typed."""

from dataclasses import dataclass
from difflib import get_close_matches

from textual.content import Content
from textual.widgets import Static


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    argument: str
    does: str


COMMANDS = (
    Command("/help", "", "show keys and commands"),
    Command("/model", "[name]", "use another model, or pick one from a list"),
    Command("/memory", "[word]", "read the notes; with on, read or off: what is saved and recalled"),
    Command("/undo", "", "put back the files that the last turn changed; /redo takes it back"),
    Command("/redo", "", "change them again"),
    Command("/rewind", "[turn]", "back to before a turn: files and conversation, or one of them"),
    Command("/init", "", "draft an AGENTS.md, or better the one that is there"),
    Command("/new", "", "start a new session; the old one stays in memory"),
    Command("/quit", "", "leave"),
)
_KEYS = """\
Enter           send; while a turn runs, queue
Shift+Enter     a new line; also Alt+Enter, Ctrl+J, or \\ before Enter
Up, Down        earlier messages; Up on an empty prompt takes a queued one back
Esc             interrupt the turn; the draft stays
Ctrl+C          clear the prompt; twice leaves
Ctrl+D          leave, when the prompt is empty
Shift+Tab       the next mode: ask, edit, plan, auto
Ctrl+O          unfold or fold all tool calls; Tab goes to them, Enter unfolds one
PgUp, PgDn      scroll
Ctrl+L          draw the screen again
"""
HELP = "\n".join([_KEYS, *(f"{f'{each.name} {each.argument}':<16}{each.does}" for each in COMMANDS)])

ALIASES = {"/clear": "/new", "/exit": "/quit"}


def parse(text: str) -> tuple[str, str] | None:
    """Split a command line into name and argument; None is a message, even one that starts with a path."""
    name, _, argument = text.strip().partition(" ")
    if not name.startswith("/") or "/" in name[1:] or "\n" in name:
        return None
    return ALIASES.get(name, name), argument.strip()


def nearest(name: str) -> str:
    """Find the command that was probably meant, or none."""
    known = [*(command.name for command in COMMANDS), *ALIASES]
    close = get_close_matches(name, known, 1, 0.5)
    return close[0] if close else ""


def matching(text: str) -> list[Command]:
    """List what a half-typed command may become."""
    if not text.startswith("/") or any(each.isspace() for each in text):
        return []
    whole = ALIASES.get(text, text)
    return [command for command in COMMANDS if command.name.startswith(whole)]


class Suggestions(Static):
    """The commands that fit what is typed, one of them chosen."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._offered: list[Command] = []
        self._place = 0
        self.display = False

    @property
    def chosen(self) -> Command | None:
        return self._offered[self._place] if self._offered else None

    def offer(self, commands: list[Command]) -> None:
        """Show these, or nothing."""
        if commands == self._offered:
            return
        self._offered, self._place = commands, 0
        self.display = bool(commands)
        self._draw()

    def move(self, step: int) -> None:
        """Choose the next one, round and round."""
        self._place = (self._place + step) % len(self._offered)
        self._draw()

    def _draw(self) -> None:
        rows = [
            Content.assemble(
                (f"{'›' if command is self.chosen else ' '} ", "$accent"),
                (f"{f'{command.name} {command.argument}':<18}", "bold" if command is self.chosen else ""),
                (command.does, "" if command is self.chosen else "dim"),
            )
            for command in self._offered
        ]
        self.update(Content("\n").join(rows))
