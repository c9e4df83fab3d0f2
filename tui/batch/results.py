"""What came of each task: one JSON object, on stdout or at the end of a file, each of them once."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ogcode.agent.files.durable import append_line
from ogcode.tui.batch.worktrees import Diff

FORMAT = 1
"""Version of the shape."""

Status = Literal["done", "check_failed", "setup_failed", "denied", "limit", "provider", "failed"]

STATUSES: Mapping[int, Status] = {0: "done", 3: "limit", 53: "limit", 54: "limit", 55: "denied", 75: "provider"}


class ResultsRefused(Exception):
    """The file for the results can't be used; one sentence."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a headless run said of itself."""

    exit_code: int
    answer: str
    reason: str
    session: str | None
    note: str | None
    pending: bool
    tokens: int
    cost: float | None
    seconds: float
    over_cost: bool = False
    """What it might cost was reached."""

    @classmethod
    def read(cls, told: Mapping[str, object], exit_code: int | None) -> "Turn":
        """Read the result object of a headless run; what is not as expected is not there."""
        code, memory, usage = told.get("exit_code"), told.get("memory"), told.get("session_usage")
        memory, usage = memory if isinstance(memory, dict) else {}, usage if isinstance(usage, dict) else {}
        if exit_code is None:
            exit_code = code if isinstance(code, int) else 1
        cost, milliseconds = told.get("session_cost_usd"), told.get("duration_ms")
        counts = (usage.get(name) for name in ("input_tokens", "output_tokens"))
        return cls(
            exit_code,
            str(told.get("result") or ""),
            str(told.get("reason") or ""),
            str(told["session_id"]) if told.get("session_id") else None,
            str(memory["note"]) if memory.get("note") else None,
            bool(memory.get("pending")),
            sum(count for count in counts if isinstance(count, int)),
            cost if isinstance(cost, int | float) else None,
            milliseconds / 1000 if isinstance(milliseconds, int | float) else 0.0,
            told.get("subtype") == "error_max_budget_usd",
        )

    @property
    def status(self) -> Status:
        return STATUSES.get(self.exit_code, "failed")


@dataclass(frozen=True, slots=True)
class Result:
    id: str
    attempt: int
    status: Status
    reason: str = ""
    answer: str = ""
    exit_code: int | None = None
    check: int | None = None
    """The exit code of the check; None where none was run."""
    check_output: str = ""
    branch: str | None = None
    commit: str | None = None
    diff: Diff | None = None
    worktree: str | None = None
    """Where it was left."""
    tokens: int = 0
    cost: float | None = None
    note: str | None = None
    note_pending: bool = False
    seconds: float = 0.0
    session: str | None = None

    def row(self, batch: str) -> dict[str, object]:
        return {"type": "task", "version": FORMAT, "batch": batch, **asdict(self)}


class Results:
    """Where the objects go: to a function that prints one, or to a file that has no line of theirs yet."""

    def __init__(self, path: Path | None) -> None:
        """Look what is there, before anything is spent.

        Raises:
            ResultsRefused: it can't be read or written.
        """
        if path and (path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK)):
            raise ResultsRefused(f"--output {path}: it can't be written")
        self._path = path
        try:
            self._there = _keys(path) if path else set()
        except OSError as error:
            raise ResultsRefused(f"--output {path}: it can't be read: {error.strerror}") from error

    def take(self, row: Mapping[str, object]) -> str | None:
        """Write a row where it is missing; give the line that is to be printed, if there is no file.

        Raises:
            OSError: it is not in the file.
        """
        line = json.dumps(row)
        if self._path is None:
            return line
        if (key := _key(row)) not in self._there:
            append_line(self._path, line.encode(), sync=True)
            self._there.add(key)
        return None


def _keys(path: Path) -> set[str]:
    keys = set[str]()
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            keys.add(_key(row))
    return keys


def _key(row: Mapping[str, object]) -> str:
    return json.dumps([row.get("batch"), row.get("id"), row.get("attempt")])
