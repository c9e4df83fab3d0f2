"""What has happened in a batch: one line a step, on disk before the next step, believed only under our own seal."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ogcode.agent.files.durable import append_line
from ogcode.agent.rights.seal import Seal
from ogcode.tui.place import Clock

Stage = Literal["preparing", "started", "running", "kept", "checked", "finished", "interrupted"]
"""Its worktree is being made; setup runs; the agent runs; its work is on the branch; the check is over; all is done;
it was ended and is to be begun anew."""

_STAGES: tuple[Stage, ...] = ("preparing", "started", "running", "kept", "checked", "finished", "interrupted")


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a task has come."""

    attempt: int = 0
    stage: Stage | None = None
    task: str = ""
    """The digest of the wording that this attempt was begun with."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What the steps of this attempt have left to know."""

    def number(self, name: str) -> int | None:
        found = self.facts.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def text(self, name: str) -> str:
        found = self.facts.get(name)
        return found if isinstance(found, str) else ""

    def object(self, name: str) -> Mapping[str, object]:
        found = self.facts.get(name)
        return found if isinstance(found, dict) else {}


class Journal:
    """The steps of all tasks. Reading is done once; what is written since is known.

    Raises:
        OSError: it can't be read.
    """

    def __init__(self, path: Path, seal: Seal, now: Clock) -> None:
        self._path, self._seal, self._now = path, seal, now
        self._standing = dict[str, Standing]()
        self.spent = 0.0
        """By all attempts, also those that came to nothing."""
        self.tasks = ""
        """The digest of the tasks when the batch was last begun."""
        self.strange = 0
        """Lines that are not ours, or torn."""
        lines = path.read_bytes().splitlines() if path.exists() else []
        for line in filter(None, lines):
            row = _row(line, seal)
            if row is None:
                self.strange += 1
            else:
                self._take(row)

    def of(self, task: str) -> Standing:
        return self._standing.get(task, Standing())

    def known(self) -> tuple[str, ...]:
        """Name every task that was ever begun."""
        return tuple(self._standing)

    def begin(self, tasks: str) -> None:
        """Note that the batch is begun, or gone on with."""
        self._write({"tasks": tasks})

    def step(self, task: str, stage: Stage, attempt: int, **facts: object) -> Standing:
        """Note a step of a task: it is on disk when this returns.

        Raises:
            OSError: it is not.
        """
        self._write({"id": task, "stage": stage, "attempt": attempt, "facts": facts})
        return self.of(task)

    def _write(self, row: dict[str, object]) -> None:
        content = json.dumps({**row, "at": self._now().isoformat(timespec="seconds")})
        line = json.dumps({"seal": self._seal.sign(content.encode()), "row": content})
        append_line(self._path, line.encode(), sync=True)
        self._take(row)

    def _take(self, row: Mapping[str, object]) -> None:
        match row:
            case {"tasks": str(tasks)}:
                self.tasks = tasks
            case {"id": str(task), "stage": str(said), "attempt": int(attempt), "facts": dict(facts)}:
                stage = next((each for each in _STAGES if each == said), None)
                before = self.of(task)
                if attempt != before.attempt:
                    before = Standing(attempt, task=str(facts.get("digest", "")))
                self._standing[task] = replace(before, stage=stage, facts={**before.facts, **facts})
                cost = facts.get("cost")
                self.spent += cost if isinstance(cost, int | float) else 0.0


def _row(line: bytes, seal: Seal) -> Mapping[str, object] | None:
    try:
        given = json.loads(line)
        row = json.loads(given["row"]) if seal.knows(given["row"].encode(), given["seal"]) else None
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return row if isinstance(row, dict) else None
