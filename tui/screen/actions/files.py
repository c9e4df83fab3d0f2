"""`/undo`, `/redo`, `/rewind`: the way back."""

from ogcode.tui.screen.actions.command import Command, Front


async def _undo(app: Front, argument: str) -> None:
    await app.transcript.say(app.desk.put_back("/undo", argument), "plain")


async def _redo(app: Front, argument: str) -> None:
    await app.transcript.say(app.desk.put_back("/redo", argument), "plain")


async def _rewind(app: Front, argument: str) -> None:
    await app.transcript.say(app.desk.put_back("/rewind", argument), "plain")


COMMANDS = (
    Command("/undo", "", "put back the files that the last turn changed; /redo takes it back", _undo, at_rest=True),
    Command("/redo", "", "change them again", _redo, at_rest=True),
    Command(
        "/rewind", "[turn]", "back to before a turn: files and conversation, or one of them", _rewind, at_rest=True
    ),
)
