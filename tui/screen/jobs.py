"""The commands in the background: what they print, and a key to end one."""

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ogcode.agent.clean import clean
from ogcode.tui.desks.desk import Desk
from ogcode.tui.desks.work import JobLine
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.status import StatusLine

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

_LOOKS = 0.5
"""Seconds between two looks."""


class JobsScreen(Screen[None]):
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", show=False),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("x", "end", show=False),
    ]

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._jobs: list[JobLine] = []
        self._seen = ""
        self._said = ""

    def compose(self) -> ComposeResult:
        yield Static("Commands in the background", markup=False, classes="title")
        yield OptionList(markup=False)
        with VerticalScroll(can_focus=False):
            yield Static(markup=False, id="printed")
        yield Static(markup=False, id="state")
        yield Static(markup=False, classes="keys")
        yield StatusLine(self._desk.status)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).anchor()
        self.look()
        self.set_interval(_LOOKS, self.look)

    def look(self) -> None:
        """Show what has changed since the last look."""
        jobs = list(self._desk.work.jobs())
        if jobs != self._jobs:
            self._jobs = jobs
            options = self.query_one(OptionList)
            place = options.highlighted or 0
            options.clear_options()
            longest = max((cell_len(flat(job.name)) for job in jobs), default=0)
            options.add_options([Option(_row(job, longest)) for job in jobs])
            options.highlighted = min(place, len(jobs) - 1) if jobs else None
        state = self._said or ("" if jobs else "nothing runs in the background; ask for a command to be started there")
        line = self.query_one("#state", Static)
        line.update(Content(clean(state)))
        line.display = bool(state)
        keys = "↑↓ choose · x end it · Esc back" if jobs else "Esc back"
        self.query_one(".keys", Static).update(keys, layout=False)
        self._show()

    @on(OptionList.OptionHighlighted)
    def _show(self) -> None:
        job = self._chosen()
        seen = self._desk.work.job_output(job.name) if job else ""
        if seen != self._seen:
            self._seen = seen
            self.query_one("#printed", Static).update(Content(clean(seen, prose=True)))

    def _chosen(self) -> JobLine | None:
        place = self.query_one(OptionList).highlighted
        return self._jobs[place] if place is not None and place < len(self._jobs) else None

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_end(self) -> None:
        if job := self._chosen():
            self._end(job.name)

    @work(exclusive=True)
    async def _end(self, name: str) -> None:
        self._said = f"ending {name}…"
        self.look()
        self._said = await self._desk.work.end_job(name)
        self.look()


def _row(job: JobLine, longest: int) -> Content:
    name = flat(job.name)
    state = "running" if job.running else "ended  "
    blanks = " " * (longest - cell_len(name))
    return Content.assemble((name, "bold"), f"{blanks}  {state}  ", (flat(job.command)[:400], "dim"))


def show_jobs(app: "Ogcode") -> None:
    """Show them, or go back where they are shown."""
    if isinstance(app.screen, JobsScreen):
        app.screen.dismiss(None)
        return
    app.push_screen(JobsScreen(app.desk), lambda _: app.approvals.focus_first())
