"""What an undo would do, file by file, before it is done."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.undo.account import Act, Change


class NothingToUndo(Exception):
    """There is nothing to put back; the text says so."""


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one file."""

    change: Change
    """From what it holds now (`before`) to what it is to hold (`after`)."""
    of: tuple[str, ...]
    """The entries that this takes back."""
    why: str = ""
    """It is left as it is, and why."""
    see: str = ""
    """A command that shows the difference."""

    @property
    def does(self) -> str:
        """In a word."""
        if self.why:
            return "left as it is"
        match bool(self.change.before), bool(self.change.after):
            case (True, True) if self.change.before != self.change.after:
                return "put back"
            case True, False:
                return "removed"
            case False, True:
                return "made again"
        return "already so"


@dataclass(frozen=True, slots=True)
class Plan:
    act: Act
    turns: tuple[int, ...]
    """The turns whose changes it is about."""
    steps: tuple[Step, ...]
    of: tuple[str, ...] = ()
    """Of a redo: the undo."""
    commands: tuple[int, ...] = ()
    """Those of its turns in which commands ran."""
    conversation: tuple[int, ...] = ()
    """The turns that go out of the conversation with it, or come back."""

    def head(self) -> str:
        """Say in a line what would be done."""
        counts = [step.does for step in self.steps]
        told = ", ".join(f"{counts.count(does)} {does}" for does in dict.fromkeys(counts))
        return f"{self.act} of {self.of_turns()}: {told}" if self.turns else "no files to put back"

    def of_turns(self) -> str:
        if len(self.turns) == 1:
            return f"turn {self.turns[0]}"
        return f"turns {self.turns[0]} to {self.turns[-1]}"

    def told(self, workspace: Workspace) -> Iterator[str]:
        """Say of each file what becomes of it, and what undo does not cover."""
        if self.conversation:
            first, last = self.conversation[0], self.conversation[-1]
            named = f"turn {first} is" if first == last else f"turns {first} to {last} are"
            where = "back in" if self.act == "redo" else "out of"
            yield f"{named} {where} the conversation; what memory holds of it stays"
        if not self.conversation or self.steps:
            yield self.head()
        for step in self.steps:
            yield f"  {workspace.display(Path(step.change.path))}: {step.does}" + (f": {step.why}" if step.why else "")
            if step.see:
                yield f"    see {step.see}"
        if self.commands:
            named = ", ".join(map(str, self.commands))
            yield f"  commands ran in turn {named}: what they changed is not covered"
