"""The list of steps that the agent keeps, beside the conversation."""

import asyncio
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from ogcode.agent.clean import clean
from ogcode.agent.events import ToolFinished

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

_SHOWN = 8
_MARKS = {"[x]": ("✓", "dim"), "[>]": ("▸", "bold"), "[ ]": ("·", "")}


class StepsPanel(Static):
    """The steps; of a long list, those around the one that is worked on; of one that is done, only that it is."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.hidden = False
        """The user does not want to see it."""

    def show(self, listed: str) -> None:
        steps = [line for line in clean(listed, prose=True).split("\n") if line[:3] in _MARKS]
        self.display = bool(steps) and not self.hidden
        current = next((place for place, step in enumerate(steps) if step[:3] != "[x]"), len(steps))
        start = max(0, min(current - 2, len(steps) - _SHOWN))
        shown = [
            Content.assemble((f"{_MARKS[step[:3]][0]} ", "$accent"), (step[4:], _MARKS[step[:3]][1]))
            for step in steps[start : start + _SHOWN]
            if current < len(steps)
        ]
        done = sum(step.startswith("[x]") for step in steps)
        head = Content.styled(f"steps: {done} of {len(steps)} done · Ctrl+T hides", "dim")
        self.update(Content("\n").join([head, *shown]))


def _panel(app: "Ogcode") -> StepsPanel | None:
    return next(iter(app.screen_stack[0].query(StepsPanel)), None)


async def _made(app: "Ogcode") -> StepsPanel:
    if (panel := _panel(app)) is None:
        panel = StepsPanel()
        await app.screen_stack[0].mount(panel, before=app.queue)
    return panel


async def follow_steps(app: "Ogcode", event: ToolFinished) -> None:
    """Show the list as the agent has left it."""
    if event.call.name == "todo" and not event.failed:
        (await _made(app)).show(event.output)


async def turn_steps(app: "Ogcode") -> None:
    """Hide the list, or show the one that the session has."""
    panel = _panel(app)
    if panel is not None and panel.display:
        panel.hidden, panel.display = True, False
        return
    if panel is None:
        left = await asyncio.to_thread(app.desk.work.steps)
        panel = await _made(app)
        panel.show(left)
    else:
        panel.hidden, panel.display = False, True
    if not panel.display:
        await panel.remove()
        app.notify("the agent keeps no list of steps in this session", markup=False)
