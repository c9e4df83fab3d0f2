"""`/init`: rules for this repository."""

from pathlib import Path

from ogcode.tui.screen.actions.command import Command, Front


async def _init(app: Front, argument: str) -> None:
    asked = Path(__file__).with_name("init.md").read_text("utf-8").strip()
    await app.send(f"{asked}\n\n{argument}".strip())


COMMANDS = (Command("/init", "[words]", "draft an AGENTS.md, or better the one that is there", _init, at_rest=True),)
