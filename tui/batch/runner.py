"""Runs the tasks of a batch, so many at a time, until all are done or something says stop."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from ogcode.tui.batch.shop import Shop
from ogcode.tui.batch.tasks import Task
from ogcode.tui.batch.work import Interrupted, over, put_away, work_on
from ogcode.tui.batch.worktrees import GitFailed

_DRAWN_EVERY = 0.5
_ROUNDING = 1e-9
_OVER = ("finished", "interrupted", None)

Row = Mapping[str, object]


class Runner:
    """Runs tasks and gives the row of each that is done to `tell`, those of earlier runs first."""

    def __init__(self, shop: Shop, tasks: Sequence[Task], tell: Callable[[Row], None]) -> None:
        self._shop, self._tasks, self._tell = shop, tasks, tell
        self._waiting = deque[Task]()
        self.rows = dict[str, Row]()
        self.halted: Literal["", "cost", "failure"] = ""
        """Why no more tasks were begun."""

    async def run(self) -> None:
        """Do all that is left to do.

        Raises:
            OSError: the journal or the results can't be written; what was begun is gone on with at the next start.
        """
        await self._clear_gone()
        self._sort_out()
        drawing = asyncio.ensure_future(self._draw())
        workers = [asyncio.ensure_future(self._work()) for _ in range(self._shop.wishes.jobs)]
        try:
            await asyncio.gather(*workers)
        finally:
            for each in (drawing, *workers):
                each.cancel()
            await asyncio.gather(drawing, *workers, return_exceptions=True)
            self._shop.progress.clear()

    async def _work(self) -> None:
        while self._waiting and not self._shop.stop.code and not self._is_enough():
            task = self._waiting.popleft()
            result = await work_on(self._shop, task)
            if result is None:
                self._shop.progress.left(task.id)
            else:
                self._done(task.id, result.row(self._shop.name))
                self._shop.progress.ended(result, self._shop.journal.spent)

    def _is_enough(self) -> bool:
        wishes = self._shop.wishes
        if wishes.max_cost is not None and self._shop.journal.spent >= wishes.max_cost - _ROUNDING:
            self.halted = "cost"
        elif wishes.fail_fast and any(row["status"] != "done" for row in self.rows.values()):
            self.halted = "failure"
        return bool(self.halted)

    def _sort_out(self) -> None:
        """Tell what is done already; begin with what was begun."""
        journal, wishes = self._shop.journal, self._shop.wishes
        for task in self._tasks:
            step = journal.of(task.id)
            row = step.object("result")
            again = step.stage != "finished" or step.task != task.digest
            if again or (wishes.retry_failed and row.get("status") != "done"):
                self._waiting.append(task)
            else:
                self._done(task.id, row)
                self._shop.progress.earlier(task.id, str(row.get("status")))
        self._waiting = deque(sorted(self._waiting, key=lambda task: journal.of(task.id).stage in _OVER))

    def _done(self, task: str, row: Row) -> None:
        self._tell(row)
        self.rows[task] = row

    async def _clear_gone(self) -> None:
        """Put away what tasks have left that are not among these any more."""
        names = {task.id for task in self._tasks}
        for task in self._shop.journal.known():
            if task not in names and self._shop.journal.of(task).stage not in _OVER:
                with suppress(Interrupted):
                    try:
                        await over(self._shop, task)
                        await put_away(self._shop, task)
                        self._shop.journal.step(task, "interrupted", self._shop.journal.of(task).attempt)
                    except (GitFailed, OSError) as error:
                        self._shop.progress.say(f"{task}: {error}")
                self._shop.progress.left(task)

    async def _draw(self) -> None:
        while True:
            self._shop.progress.draw()
            await asyncio.sleep(_DRAWN_EVERY)
