"""Sessions: another one, a copy, a name, a file of it; beginning anew, leaving, and help."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ogcode.tui.desks.desk import NotDone
from ogcode.tui.screen.actions.command import Command
from ogcode.tui.screen.blocks.lines import flat

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

_KINDS = ("md", "json", "html")


async def _help(app: "Ogcode", argument: str) -> None:  # noqa: ARG001  # a command's signature
    from ogcode.tui.screen.pickers.help import HelpScreen  # only where it is looked at

    app.push_screen(HelpScreen(app.desk.settings.keys.of, app.desk.status), lambda _: app.approvals.focus_first())


async def _new(app: "Ogcode", argument: str) -> None:  # noqa: ARG001
    app.desk.new_session()
    app.approvals.forget()
    await app.transcript.clear()
    await app.transcript.say("a new session; the old one stays in memory")


async def _resume(app: "Ogcode", argument: str) -> None:
    from ogcode.tui.screen.pickers.sessions import SessionPicker  # only where one is picked

    def chosen(session_id: str | None) -> None:
        app.approvals.focus_first()
        if session_id:
            app.call_later(_go_on, app, session_id)

    app.push_screen(SessionPicker(app.desk.sessions, app.desk.status, typed=argument), chosen)


async def _go_on(app: "Ogcode", session_id: str) -> None:
    if app.turns.running:
        await app.transcript.say("a turn is running; Esc interrupts it, then /resume", "warning")
        return
    try:
        notices = app.desk.sessions.resume(session_id)
    except NotDone as error:
        await app.transcript.say(flat(str(error)), "warning")
        return
    await _show_session(app, notices, "earlier in this session")


async def _show_session(app: "Ogcode", notices: Sequence[str], said: str) -> None:
    """Show the session that is open now in the place of the one before."""
    app.approvals.forget()
    await app.transcript.clear()
    if earlier := app.desk.earlier():
        await app.transcript.resume(earlier)
    await app.transcript.say(said)
    for notice in notices:
        await app.transcript.say(notice, "warning")
    app.look()


async def _fork(app: "Ogcode", argument: str) -> None:
    try:
        said = app.desk.sessions.fork(argument)
    except NotDone as error:
        await app.transcript.say(flat(str(error)), "warning")
        return
    await _show_session(app, (), flat(said))


async def _rename(app: "Ogcode", argument: str) -> None:
    if not argument:
        await app.transcript.say("say how this session is to be called: /rename NAME", "warning")
        app.prompt.put("/rename ")
        return
    try:
        await app.transcript.say(flat(app.desk.sessions.rename(argument)))
    except NotDone as error:
        await app.transcript.say(flat(str(error)), "warning")


async def _export(app: "Ogcode", argument: str) -> None:
    """Take `[md|json|html] [FILE]`; a file's ending tells what it is to be."""
    kind, _, place = argument.partition(" ")
    if kind not in _KINDS:
        ending = argument.rpartition(".")[2]
        kind, place = ending if ending in _KINDS else "md", argument
    try:
        said = await asyncio.to_thread(app.desk.sessions.export, kind, place.strip())
    except NotDone as error:
        await app.transcript.say(flat(str(error)), "warning")
        return
    await app.transcript.say(flat(said))


async def _quit(app: "Ogcode", argument: str) -> None:  # noqa: ARG001
    app.leave(0)


COMMANDS = (
    Command("/resume", "[words]", "go on with another session", _resume, at_rest=True, aliases=("/sessions",)),
    Command(
        "/fork", "[name]", "go on in a copy; this session stays as it is", _fork, at_rest=True, aliases=("/branch",)
    ),
    Command("/rename", "name", "give this session a name", _rename, aliases=("/title",)),
    Command("/export", "[kind] [file]", "write this session into a file: md, json or html", _export),
    Command(
        "/new", "", "start a new session; the old one stays in memory", _new, at_rest=True, aliases=("/clear", "/reset")
    ),
    Command("/help", "", "show keys and commands", _help, aliases=("/?", "/keys", "/hotkeys", "/keybindings")),
    Command("/quit", "", "leave", _quit, aliases=("/exit", "/q", "/bye")),
)
