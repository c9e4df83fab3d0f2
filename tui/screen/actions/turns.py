"""`/continue`, and what goes on beside a turn."""

from typing import TYPE_CHECKING

from ogcode.tui.screen.actions.command import Command, Front

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

_HOW = {
    "interrupted": "was interrupted by me",
    "limit": "ended at a limit",
    "failed": "failed before it was done",
}


async def _continue(app: Front, argument: str) -> None:
    outcome = app.desk.work.unfinished()
    if not outcome:
        said = "the last turn was not cut short, so there is nothing to go on with; say what is to be done"
        await app.transcript.say(said, "warning")
        return
    if app.desk.status().memory == "off":
        if not argument:
            said = "memory is off, so what it was asked to do can't be looked up; say it: /continue WHAT"
            await app.transcript.say(said, "warning")
            return
        await app.send(f"Go on: the turn before this one {_HOW.get(outcome, outcome)}. {argument}")
        return
    await app.send(
        f"Go on with the turn before this one: it {_HOW.get(outcome, outcome)}. Ask memory_recall what it was asked to "
        f"do and how far it got, look at the files that it changed, and finish it. {argument}".strip()
    )


async def _tasks(app: "Ogcode", argument: str) -> None:  # noqa: ARG001  # a command's signature
    app.action_jobs()


async def _todo(app: "Ogcode", argument: str) -> None:  # noqa: ARG001  # a command's signature
    await app.action_steps()


SAID = (Command("/continue", "[text]", "go on with a turn that was cut short", _continue, at_rest=True),)
COMMANDS: "tuple[Command[Ogcode], ...]" = (
    *SAID,
    Command("/tasks", "", "the commands in the background", _tasks, aliases=("/bashes",)),
    Command("/todo", "", "show or hide the agent's list of steps", _todo, aliases=("/todos",)),
)
