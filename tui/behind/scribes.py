"""The scribes that an app starts: one after each turn; all but the first leave at the lock of the one at work."""

import contextlib
import os
import signal

from ogcode.tui.place import Here

LINGER = 30.0
"""Seconds that the scribe waits for the next turn while the app is open."""


class Scribes:
    def __init__(self, here: Here) -> None:
        self._here = here
        self._started = list[int]()

    def start(self) -> None:
        self._bury()
        from ogcode.tui.wiring import start_scribe

        with contextlib.suppress(OSError):  # the turn is safe in the spool: the next start will do it
            self._started.append(start_scribe(self._here, linger=LINGER))

    def stop(self) -> None:
        """End those that were started here; what they had not written yet waits in the spool."""
        self._bury()
        for process in self._started:
            os.kill(process, signal.SIGTERM)  # not reaped yet: the number is no other's

    def _bury(self) -> None:
        for process in self._started.copy():
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(process, os.WNOHANG)[0] == 0:
                    continue
            self._started.remove(process)
