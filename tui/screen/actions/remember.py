"""`/remember` and `/forget`: a fact kept, and facts and notes put into the trash."""

from ogcode.tui.screen.actions.command import Command, Front
from ogcode.tui.screen.blocks.lines import flat


async def _remember(app: Front, argument: str) -> None:
    if not argument:
        await app.transcript.say(
            "say what is to be remembered: /remember TEXT, or /remember -g TEXT about you", "warning"
        )
        app.prompt.put("/remember ")
        return
    await app.transcript.say(flat(await app.desk.remembering.remember(argument)), "plain")


async def _forget(app: Front, argument: str) -> None:
    desk, words = app.desk.remembering, argument.split()
    if not words:
        await app.transcript.say("say what is to be forgotten, in a word or two: /forget TEXT", "warning")
        app.prompt.put("/forget ")
        return
    if desk.offered and all(word.isascii() and word.isdecimal() and len(word) < 4 for word in words):
        await app.transcript.say(flat(await desk.forget([int(word) for word in words])), "plain")
        return
    lines = await desk.offer(argument)
    if not lines:
        await app.transcript.say(f"nothing in memory speaks of '{flat(argument)}'", "warning")
        return
    shown = [f"[{number}] {flat(line)}" for number, line in enumerate(lines, 1)]
    await app.transcript.say("\n".join([*shown, "/forget NUMBER … puts them into the trash"]), "plain")
    app.prompt.put("/forget ")


COMMANDS = (
    Command("/remember", "[-g] text", "keep a fact of this project, or with -g one about you", _remember),
    Command("/forget", "text", "find facts and notes by words, and put the chosen into the trash", _forget),
)
