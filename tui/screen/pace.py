"""How far the terminal has come: where it is slow, frames wait for it, so that it shows what holds now."""

import time
from collections import deque
from collections.abc import Callable

QUESTION = "\x1b[6n"
"""Where the cursor is: every terminal says it, once all that was sent before is shown."""

_STEP = 1_000
"""Characters from one question to the next, at least."""
_AHEAD = 2_000
"""Characters that may be on their way when a frame is drawn."""
_PATIENCE = 10.0
"""Seconds from one answer to the next; who gives none in that time is not waited for."""


class Pace:
    """Counts what was sent and what of it has arrived; answers may come in a thread of their own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent = self._arrived = 0
        self._open = deque[int]()
        """How much had been sent at each question that has no answer yet."""
        self._asked = 0
        """How much had been sent at the last one."""
        self._since = 0.0
        """When an answer came, or was first waited for."""
        self.answers = False
        """The terminal has answered."""

    def send(self, text: str) -> str:
        """Take note of what is sent; give it with the question that is due."""
        self._sent += len(text)
        questions = text.count(QUESTION)
        if not questions and self._sent - self._asked >= _STEP:
            text, questions = f"{text}{QUESTION}", 1
        if questions:
            if not self._open:
                self._since = self._clock()
            self._open.extend([self._sent] * questions)
            self._asked = self._sent
        return text

    def heard(self) -> None:
        """An answer has come."""
        self.answers = True
        if self._open:
            self._arrived = self._open.popleft()
            self._since = self._clock()

    @property
    def owed(self) -> bool:
        """Whether an answer is to be expected."""
        if self._open and self._clock() - self._since > _PATIENCE:
            self._open.clear()
            self._arrived, self.answers = self._asked, False
        return self.answers and bool(self._open)

    @property
    def behind(self) -> bool:
        """Whether a frame is to wait."""
        return self.owed and self._sent - self._arrived > _AHEAD
