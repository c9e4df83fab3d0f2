"""The work of the turn that runs, as the app shows it: differences, output, jobs, steps, questions."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ogcode.agent.tools.ask_user import AskPerson
from ogcode.agent.tools.preview import preview
from ogcode.agent.turn import ToolCall
from ogcode.tui.desks.work import JobLine

if TYPE_CHECKING:
    from ogcode.tui.opened import Opened

PLANNING = (
    "(Plan mode: nothing can be changed or run yet. Look around, ask what you must know, then call ask_user with your "
    "whole plan as plan. Once the user approves it, carry it out in this same turn.)"
)


class Work:
    """Implements `WorkDesk`."""

    def __init__(self, opened: "Callable[[], Opened]") -> None:
        self._opened = opened
        self._previews = dict[str, str]()
        self._person: AskPerson | None = None

    def begin(self, *, planning: bool) -> None:
        """Make ready for a turn."""
        self._previews.clear()
        session = self._opened().session
        session.beside = f"{session.beside}\n{self.grant(planning=planning)}".strip()

    def grant(self, *, planning: bool) -> str:
        """Let the model ask the person in the next turn; give the words that go with its mode."""
        opened = self._opened()
        opened.person, opened.planning = self._person, planning
        return PLANNING if planning and self._person and opened.here.tailored.offers("ask_user") else ""

    def began(self, call: ToolCall) -> None:
        """Look at what a call is about to change, before it does."""
        if call.name in ("edit", "write"):
            self._previews[call.id] = self.preview(call)

    def preview(self, call: ToolCall) -> str:
        """Show what a call would do."""
        known = self._previews.get(call.id)
        return preview(self._opened().here.workspace(), call) if known is None else known

    def difference(self, call: ToolCall) -> str:
        return self._previews.get(call.id, "")

    def printing(self) -> str:
        now = self._opened().jobs.now
        return now.text(4_000) if now else ""

    def jobs(self) -> Sequence[JobLine]:
        return [JobLine(each.name, each.command, each.running) for each in self._opened().jobs.states()]

    def job_output(self, name: str) -> str:
        return self._opened().jobs.printed(name)

    async def end_job(self, name: str) -> str:
        return f"{name} was ended" if await self._opened().jobs.end(name) else f"{name} does not run any more"

    def steps(self) -> str:
        from ogcode.agent.tools.todo import last_list
        from ogcode.agent.transcript import rows

        transcript = self._opened().transcript
        try:
            return last_list(rows(transcript.path)) if transcript else ""
        except OSError:
            return ""

    def unfinished(self) -> str:
        previous = self._opened().session.previous
        return previous.outcome if previous and previous.outcome != "done" else ""

    def answer_with(self, person: AskPerson | None) -> None:
        self._person = person
