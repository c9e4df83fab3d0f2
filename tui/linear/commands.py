"""The slash commands of the line-based front end: those of the app that only say something, and its own."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ogcode.agent.memory.switch import MEANS, SWITCHES
from ogcode.agent.nearest import nearest
from ogcode.tui.arguments import MODES
from ogcode.tui.linear.asking import choose
from ogcode.tui.linear.telling import in_words, one_line
from ogcode.tui.screen.actions import files, permissions, remember, rules, shown, turns
from ogcode.tui.screen.actions.command import Command
from ogcode.tui.screen.actions.elsewhere import INSTEAD

if TYPE_CHECKING:
    from ogcode.tui.linear.front import Linear

_MOST = 20
"""Sessions that are offered at once."""
_KINDS = ("md", "json", "html")


async def _help(front: "Linear", argument: str) -> None:  # noqa: ARG001  # a command's signature
    for command in COMMANDS:
        front.tell(f"{command.name} {command.argument}".rstrip() + f": {command.does}")
    front.tell("!command runs it and tells the model with the next message; !!command only runs it")
    front.tell("@path names a file; a line that ends with a backslash goes on in the next one")


async def _status(front: "Linear", argument: str) -> None:  # noqa: ARG001
    status = front.desk.status()
    front.tell(f"model {status.model}, mode {status.mode}, memory {status.memory}")
    front.tell(f"sandbox {status.sandbox or 'not known'}, branch {status.branch or 'none'}")
    front.tell(f"{status.used_tokens:,} of {status.window:,} tokens of the window used")
    front.tell(f"{status.notes:,} notes written, {status.pending:,} to come")


async def _context(front: "Linear", argument: str) -> None:  # noqa: ARG001
    front.tell("the next request holds, in tokens:")
    for part in await front.desk.showing.context():
        front.tell(f"{part.tokens:,} {one_line(part.name)}; {one_line(part.detail)}".removesuffix("; "))


async def _model(front: "Linear", argument: str) -> None:
    if not argument:
        lines, silent = await front.desk.models()
        for each in silent:
            front.tell(f"warning: {each}")
        place = await choose(front, [f"{line.name} {line.says}" for line in lines])
        if place is None:
            return
        argument = lines[place].name
    front.tell(await front.desk.use_model(argument))


async def _mode(front: "Linear", argument: str) -> None:
    if argument not in MODES or MODES[argument] == "yolo":
        front.tell(f"the mode is {front.desk.status().mode}; /mode plan, ask, edit or auto changes it")
        return
    front.desk.set_mode(MODES[argument])
    front.tell(f"the mode is {MODES[argument]} now")


async def _memory(front: "Linear", argument: str) -> None:
    if wanted := next((switch for switch in SWITCHES if switch == argument), None):
        front.tell(front.desk.use_memory(wanted))
        return
    front.tell(f"memory is {front.desk.status().memory}; ogcode memory reads and searches the notes")
    for switch in SWITCHES:
        front.tell(f"/memory {switch}: {MEANS[switch]}")


async def _output(front: "Linear", argument: str) -> None:  # noqa: ARG001
    if not front.telling.output:
        front.tell("no tool has given anything yet")
    for line in in_words(front.telling.output):
        front.tell(line)


async def _diff(front: "Linear", argument: str) -> None:  # noqa: ARG001
    changes = front.desk.showing.changes()
    for change in changes:
        for line in in_words(change):
            front.tell(line)
    if not changes:
        front.tell("nothing that ogcode's tools changed in this session stands; git tells the rest")


async def _config(front: "Linear", argument: str) -> None:
    key, _, value = argument.partition(" ")
    if value.strip():
        front.tell(front.desk.settings.change(key, value.strip()))
        return
    for line in front.desk.settings.listed():
        if line.key.startswith(key):
            front.tell(f"{line.key} is {one_line(line.value) or 'not set'}, from {one_line(line.origin)}")


async def _new(front: "Linear", argument: str) -> None:  # noqa: ARG001
    front.desk.new_session()
    front.forget()
    front.tell("a new session; the old one stays in memory")


async def _resume(front: "Linear", argument: str) -> None:
    words = argument.casefold().split()
    listed = await asyncio.to_thread(front.desk.sessions.listed)
    fitting = [
        each
        for each in listed
        if not each.current and all(word in f"{each.session_id} {each.title} {each.last}".casefold() for word in words)
    ][:_MOST]
    if not fitting:
        front.tell("there is no session to go on with" + (f" that speaks of '{argument}'" if argument else ""))
        return
    place = await choose(front, [f"{each.title[:200]}, turns: {each.turns}, {each.active:%d %b}" for each in fitting])
    if place is None:
        return
    notices = front.desk.sessions.resume(fitting[place].session_id)
    front.forget()
    front.tell_earlier()
    for notice in notices:
        front.tell(f"warning: {notice}")


async def _fork(front: "Linear", argument: str) -> None:
    front.tell(front.desk.sessions.fork(argument))
    front.forget()


async def _rename(front: "Linear", argument: str) -> None:
    front.tell(front.desk.sessions.rename(argument) if argument else "say how it is to be called: /rename NAME")


async def _export(front: "Linear", argument: str) -> None:
    kind, _, place = argument.partition(" ")
    if kind not in _KINDS:
        ending = argument.rpartition(".")[2]
        kind, place = ending if ending in _KINDS else "md", argument
    front.tell(await asyncio.to_thread(front.desk.sessions.export, kind, place.strip()))


async def _quit(front: "Linear", argument: str) -> None:  # noqa: ARG001
    front.leave(0)


_OWN: "Sequence[Command[Linear]]" = (
    Command("/help", "", "lists the commands", _help, aliases=("/?",)),
    Command("/status", "", "model, mode, sandbox, window, notes", _status),
    Command("/context", "", "what the next request will hold, part by part", _context),
    Command("/output", "", "reads what the last tool gave, or the change it made", _output),
    Command("/model", "[name]", "use another model, or choose one by its number", _model),
    Command("/mode", "[name]", "what is allowed without asking: plan, ask, edit or auto", _mode),
    Command("/memory", "[switch]", "what is saved and recalled: on, read or off", _memory),
    Command("/diff", "", "what ogcode's tools changed in this session", _diff),
    Command("/config", "[key value]", "the settings and where they come from, or set one", _config),
    Command("/resume", "[words]", "go on with another session, chosen by its number", _resume, aliases=("/sessions",)),
    Command("/fork", "[name]", "go on in a copy; this session stays as it is", _fork),
    Command("/rename", "name", "give this session a name", _rename),
    Command("/export", "[kind] [file]", "write this session into a file: md, json or html", _export),
    Command("/new", "", "start a new session; the old one stays in memory", _new, aliases=("/clear", "/reset")),
    Command("/quit", "", "leave", _quit, aliases=("/exit", "/q", "/bye")),
)
COMMANDS: "Sequence[Command[Linear]]" = (
    *_OWN,
    *turns.SAID,
    *shown.SAID,
    *remember.COMMANDS,
    *permissions.COMMANDS,
    *files.SAID,
    *rules.COMMANDS,
)
_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def named(name: str) -> "Command[Linear] | None":
    return _BY_NAME.get(name)


def unknown(name: str) -> str:
    """Say what there is in the place of a command that there is not."""
    if instead := {**INSTEAD, "/plan": "/mode plan begins it, /mode ask leaves it"}.get(name):
        return f"ogcode has no {name}: {instead}"
    close = nearest(name, _BY_NAME)
    return f"there is no command {one_line(name)} here; {f'did you mean {close}?' if close else '/help lists them'}"
