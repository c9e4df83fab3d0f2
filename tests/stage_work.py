"""The work and the rights of a desk that plays scripted turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ogcode.agent.tools.ask_user import AskPerson
from ogcode.agent.turn import ToolCall
from ogcode.tui.desks.rights import Asking, RuleLine, Unbelieved
from ogcode.tui.desks.work import JobLine


@dataclass
class StagedWork:
    """A `WorkDesk` that shows what it was given."""

    differences: dict[str, str] = field(default_factory=dict)
    printed: str = ""
    running: list[JobLine] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    left: str = ""
    cut_short: str = ""
    person: AskPerson | None = None

    def difference(self, call: ToolCall) -> str:
        return self.differences.get(call.id, "")

    def printing(self) -> str:
        return self.printed

    def jobs(self) -> Sequence[JobLine]:
        return list(self.running)

    def job_output(self, name: str) -> str:
        return self.outputs.get(name, "")

    async def end_job(self, name: str) -> str:
        self.running = [each for each in self.running if each.name != name]
        return f"{name} was ended"

    def steps(self) -> str:
        return self.left

    def unfinished(self) -> str:
        return self.cut_short

    def answer_with(self, person: AskPerson | None) -> None:
        self.person = person


@dataclass
class StagedRights:
    """A `RightsDesk` that shows what it was given."""

    preview: Callable[[ToolCall], str]
    rule: str = ""
    boundary: str = ""
    lines: list[RuleLine] = field(default_factory=list)
    told: Sequence[str] = ("mode ask: each change is asked for", "sandbox ws (bubblewrap): no network")
    changed: list[Unbelieved] = field(default_factory=list)
    believed: list[Unbelieved] = field(default_factory=list)

    def asking(self, call: ToolCall, why: str) -> Asking:
        return Asking(why, self.preview(call), self.rule, self.boundary)

    def rules(self) -> Sequence[RuleLine]:
        return list(self.lines)

    def explained(self) -> Sequence[str]:
        return self.told

    def remove(self, rule: str) -> str:
        self.lines = [each for each in self.lines if each.rule != rule]
        return f"'{rule}' is removed"

    def unbelieved(self) -> Sequence[Unbelieved]:
        return [each for each in self.changed if each not in self.believed]

    def believe(self, seen: Unbelieved) -> str:
        self.believed.append(seen)
        return f"{seen.file.name} is believed as it was shown"
