"""What all tasks of a batch share."""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from ogcode.agent.rights.permissions import Mode
from ogcode.agent.sandbox.layout import Level
from ogcode.tui.batch.child import Child, Files
from ogcode.tui.batch.commands import Done
from ogcode.tui.batch.journal import Journal
from ogcode.tui.batch.progress import Progress
from ogcode.tui.batch.tasks import Task
from ogcode.tui.batch.worktrees import Worktrees
from ogcode.tui.place import Here


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says of all tasks."""

    jobs: int = 1
    model: str = ""
    mode: Mode | None = None
    sandbox: Level | None = None
    max_cost: float | None = None
    memory_wait: float = 60.0
    fail_fast: bool = False
    retry_failed: bool = False
    keep_worktrees: bool = False


@dataclass(slots=True)
class Stop:
    """Whether the batch is to stop, and what is at work until then."""

    code: int = 0
    children: dict[str, Child] = field(default_factory=dict)
    commands: set["asyncio.Future[Done]"] = field(default_factory=set)

    def came(self, number: int, code: int) -> None:
        """Take a signal: the first asks what is at work to end, the second ends it."""
        for child in self.children.values():
            child.kill() if self.code else child.interrupt(number)
        for command in self.commands:
            command.cancel()
        self.code = self.code or code


@dataclass(frozen=True, slots=True)
class Shop:
    """What all tasks of a batch share."""

    name: str
    folder: Path
    here: Here
    wishes: Wishes
    journal: Journal
    worktrees: Worktrees | None
    """None where all work in the checkout itself."""
    progress: Progress
    stop: Stop

    def files(self, task: str, attempt: int) -> Files:
        return Files.of(self.folder / "attempts", task, attempt)

    def place(self, task: Task) -> Path:
        """Give the folder that a task works in."""
        asked = self.here.folder / task.cwd
        if self.worktrees is None:
            return asked
        return self.worktrees.path(task.id) / Path(os.path.realpath(asked)).relative_to(self.here.root.top)
