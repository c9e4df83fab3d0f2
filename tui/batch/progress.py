"""How a batch gets on: a table that is drawn anew on a terminal, a line an event elsewhere."""

import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from ogcode.agent.clean import clean
from ogcode.tui.batch.child import last_line
from ogcode.tui.batch.results import Result
from ogcode.tui.batch.worktrees import Diff
from ogcode.tui.commands.notes import counted

_ROWS = 8
"""Tasks at work that the table shows."""


@dataclass(slots=True)
class _AtWork:
    what: str
    since: float
    log: Path | None


class Progress:
    def __init__(self, out: TextIO, total: int, clock: Callable[[], float]) -> None:
        self._out, self._total, self._clock = out, total, clock
        self._began = clock()
        self._at_work = dict[str, _AtWork]()
        self._statuses = dict[str, str]()
        self._cost = 0.0
        self._drawn = 0

    def at(self, task: str, what: str, log: Path | None = None) -> None:
        """Tell what is being done for a task."""
        known = self._at_work.get(task)
        self._at_work[task] = _AtWork(what, known.since if known else self._clock(), log)
        if known is None and not self._out.isatty():
            self.say(f"{task}: {what}")

    def left(self, task: str) -> None:
        """Tell that a task is not at work any more, and has no result."""
        self._at_work.pop(task, None)

    def earlier(self, task: str, status: str) -> None:
        """Count a task that an earlier run has done."""
        self._statuses[task] = status

    def ended(self, result: Result, cost: float) -> None:
        """Tell what came of a task."""
        self._at_work.pop(result.id, None)
        self._statuses[result.id] = result.status
        self._cost = cost
        self.say(f"[{len(self._statuses)}/{self._total}] {_told(result)}")

    def say(self, text: str) -> None:
        """Say a line that stays."""
        self._write([text], keep=1)

    def draw(self) -> None:
        """Draw the table anew, where there is a terminal."""
        if self._out.isatty():
            self._write(self._table(), keep=0)

    def clear(self) -> None:
        self._write([], keep=0)

    def totals(self) -> str:
        """Say how many came to what."""
        told = [f"{number} {status.replace('_', ' ')}" for status, number in Counter(self._statuses.values()).items()]
        return ", ".join([*told, *([f"${self._cost:.4f}"] if self._cost else [])]) or "nothing done"

    def _table(self) -> list[str]:
        waiting = self._total - len(self._statuses) - len(self._at_work)
        now = self._clock()
        lines = [
            f"{task} {work.what}, {now - work.since:.0f} s{_said(work)}"
            for task, work in list(self._at_work.items())[:_ROWS]
        ]
        if len(self._at_work) > _ROWS:
            lines.append(f"and {len(self._at_work) - _ROWS} more")
        return [f"{self.totals()}; {len(self._at_work)} at work, {waiting} waiting; {now - self._began:.0f} s", *lines]

    def _write(self, lines: list[str], *, keep: int) -> None:
        """Put lines in the place of the table; the first so many are not drawn over again."""
        columns = shutil.get_terminal_size().columns - 1
        lines = [clean(" ".join(line.split())) for line in lines]
        terminal = self._out.isatty()
        up = f"\x1b[{self._drawn}A\x1b[J" if terminal and self._drawn else ""
        text = "".join(f"{_fitted(line, columns) if terminal and not keep else line}\n" for line in lines)
        self._drawn = len(lines) - keep
        with suppress(OSError):  # nobody looks: the work counts
            self._out.write(up + text)
            self._out.flush()


def _said(work: _AtWork) -> str:
    said = last_line(work.log) if work.log else ""
    return f": {said}" if said else ""


def _told(result: Result) -> str:
    check = f", check {result.check}" if result.check is not None else ""
    why = f": {result.reason}" if result.reason else ""
    return f"{result.id}: {result.status.replace('_', ' ')}, {result.seconds:.1f} s{check}{_counts(result.diff)}{why}"


def _counts(diff: Diff | None) -> str:
    return f", {counted(diff.files, 'file')} +{diff.insertions} -{diff.deletions}" if diff else ""


def _fitted(line: str, columns: int) -> str:
    """Cut a line to the columns that it takes on a terminal."""
    taken = 0
    for place, letter in enumerate(line):
        taken += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if taken > columns:
            return line[:place]
    return line
