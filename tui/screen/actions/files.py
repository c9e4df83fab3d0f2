"""`/undo`, `/redo`, `/rewind`: the way back."""

from typing import TYPE_CHECKING

from ogcode.tui.screen.actions.command import Command, Front

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


async def _undo(app: Front, argument: str) -> None:
    await app.transcript.say(app.desk.put_back("/undo", argument), "plain")


async def _redo(app: Front, argument: str) -> None:
    await app.transcript.say(app.desk.put_back("/redo", argument), "plain")


async def _rewind(app: Front, argument: str) -> None:
    await app.transcript.say(app.desk.put_back("/rewind", argument), "plain")


async def _rewind_by_choice(app: "Ogcode", argument: str) -> None:
    turns = () if argument else app.desk.ways_back()
    if argument:
        await _rewind(app, argument)
    elif not turns:
        await app.transcript.say("there is no turn yet to go back before")
    else:
        from ogcode.tui.screen.pickers.turns import TurnPicker  # only where one is picked

        async def chosen(choice: str | None) -> None:
            app.approvals.focus_first()
            if choice:
                await _rewind(app, choice)
                number, _, part = choice.partition(" ")
                if part != "files" and not app.prompt.text:
                    app.prompt.put(dict(turns)[int(number)])  # to say it in another way

        app.push_screen(TurnPicker(turns, app.desk.status), chosen)


_BACK = (
    Command("/undo", "", "put back the files that the last turn changed; /redo takes it back", _undo, at_rest=True),
    Command("/redo", "", "change them again", _redo, at_rest=True),
)
_REWIND = ("/rewind", "[turn]", "back to before a turn: files and conversation, or one of them")
SAID = (*_BACK, Command(*_REWIND, _rewind, at_rest=True))
COMMANDS: "tuple[Command[Ogcode], ...]" = (*_BACK, Command(*_REWIND, _rewind_by_choice, at_rest=True))
