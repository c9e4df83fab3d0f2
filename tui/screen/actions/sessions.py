"""Leaving, beginning anew, and help."""

from typing import TYPE_CHECKING

from ogcode.tui.screen.actions.command import Command

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


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


async def _help(app: "Ogcode", argument: str) -> None:  # noqa: ARG001  # a command's signature
    from ogcode.tui.screen.actions.catalogue import COMMANDS as ALL

    rows = (f"{f'{each.name} {each.argument}':<16}{each.does}" for each in ALL)
    await app.transcript.say("\n".join([_KEYS, *rows]), "plain")


async def _new(app: "Ogcode", argument: str) -> None:  # noqa: ARG001
    app.desk.new_session()
    app.approvals.forget()
    await app.transcript.clear()
    await app.transcript.say("a new session; the old one stays in memory")


async def _quit(app: "Ogcode", argument: str) -> None:  # noqa: ARG001
    app.leave(0)


COMMANDS = (
    Command("/help", "", "show keys and commands", _help),
    Command("/new", "", "start a new session; the old one stays in memory", _new, at_rest=True, aliases=("/clear",)),
    Command("/quit", "", "leave", _quit, aliases=("/exit",)),
)
