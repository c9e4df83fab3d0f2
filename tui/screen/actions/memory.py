"""`/memory`: the notes, and the switch that says what is saved and recalled."""

from typing import TYPE_CHECKING

from ogcode.agent.memory.switch import MEANS, SWITCHES
from ogcode.tui.screen.actions.command import Command
from ogcode.tui.screen.blocks.lines import flat

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


def show_memory(app: "Ogcode", *, note: str = "", query: str = "") -> None:
    """Open the memory view, at a note or with a search."""
    from ogcode.tui.screen.memory.screen import MemoryScreen  # only where it is looked at

    view = MemoryScreen(app.desk.memory, status=app.desk.status, note=note, query=query)
    app.push_screen(view, lambda _: app.approvals.focus_first())


async def _memory(app: "Ogcode", argument: str) -> None:
    if not argument:
        show_memory(app)
        return
    wanted = next((switch for switch in SWITCHES if switch == argument), None)
    if wanted:
        await app.transcript.say(app.desk.use_memory(wanted))
        return
    state = app.desk.status().memory
    means = "; ".join(f"{switch}: {MEANS[switch]}" for switch in SWITCHES)
    await app.transcript.say(f"memory stays {state}; '{flat(argument)}' is no switch of it. {means}", "warning")
    app.prompt.put(f"/memory {argument}")


COMMANDS = (Command("/memory", "[word]", "read the notes; with on, read or off: what is saved and recalled", _memory),)
