"""`/init`: rules for this repository."""

from pathlib import Path

from ogcode.tui.screen.actions.command import Command, Front


async def _init(app: Front, argument: str) -> None:  # noqa: ARG001  # a command's signature
    await app.send(Path(__file__).with_name("init.md").read_text("utf-8").strip())


COMMANDS = (Command("/init", "", "draft an AGENTS.md, or better the one that is there", _init, at_rest=True),)
