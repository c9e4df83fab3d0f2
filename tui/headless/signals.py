"""SIGINT and SIGTERM: the turn is ended and recorded, its result printed, and the exit code tells."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

Given = TypeVar("Given")

_HEARD = (
    (signal.SIGINT, 130, "interrupted by the user"),
    (signal.SIGTERM, 143, "terminated by a signal (SIGTERM)"),
    (signal.SIGHUP, 143, "terminated by a signal (SIGHUP): its terminal was closed"),
)


class Signals:
    """The first signal cancels what is being done; a second one, while that still ends, ends the process at once."""

    def __init__(self) -> None:
        self.code = 0
        """That of the first signal that came; 0 where none did."""
        self.count = 0
        self.why = ""
        """What the first one was, as a user is told."""
        self._cancel: Callable[[str], bool] | None = None
        self._ended: Callable[[], bool] = bool

    def watch(self) -> None:
        loop = asyncio.get_running_loop()
        for number, code, why in _HEARD:
            if signal.getsignal(number) is not signal.SIG_IGN:  # under nohup, or in the background of a script
                loop.add_signal_handler(number, self._came, code, why)

    async def ending(self, work: Awaitable[Given]) -> Given:
        """Await what the first signal cancels.

        Raises:
            CancelledError: one came.
        """
        task = asyncio.ensure_future(work)
        self._cancel, self._ended = task.cancel, task.done
        if self.code:
            task.cancel(self.why)
        return await task

    def _came(self, code: int, why: str) -> None:
        if self._cancel is None or (self.code and not self._ended()):
            os._exit(code)
        self.code, self.why = self.code or code, self.why or why
        self.count += 1
        self._cancel(self.why)
