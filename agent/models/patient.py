"""A model that is asked again when it fails for a while."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from ogcode.agent.model import (
    TRANSIENT,
    Delta,
    Model,
    ModelError,
    Options,
    Overloaded,
    RateLimited,
    Restarted,
    ToolSpec,
)
from ogcode.agent.models.around import Around
from ogcode.agent.models.wire import NotListening
from ogcode.agent.turn import Message

QUICK = 0.3
"""Seconds between the tries on an endpoint of this machine where nothing listens."""
QUICK_TRIES = 2


class Patient(Around):
    """Asks `model` up to `attempts` times, with growing pauses between; a server may ask for `longest` seconds each."""

    def __init__(
        self,
        model: Model,
        *,
        attempts: int = 4,
        longest: float = 60.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(model)
        self._attempts = attempts
        self._longest = longest
        self._sleep = sleep
        self._random = random

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        failures = 0
        while True:
            try:
                async for delta in self._model.stream(messages, tools, options=options):
                    yield delta
            except TRANSIENT as error:
                failures += 1
                seconds = self._pause(error, failures)
                reason = str(error)
            else:
                return
            yield Restarted(reason, seconds)
            await self._sleep(seconds)

    def _pause(self, error: ModelError, failures: int) -> float:
        """Say how long to wait after that many failures, or raise the error for good."""
        if isinstance(error, NotListening):
            if failures > QUICK_TRIES:
                raise error
            return QUICK
        if failures >= self._attempts:
            raise error
        growing = 2.0 ** (failures - 1) * (0.75 + self._random() / 2)
        if not isinstance(error, RateLimited | Overloaded) or error.retry_after is None:
            return growing
        if error.retry_after > self._longest:
            raise type(error)(
                f"{error}; the server asks to wait {_spoken(error.retry_after)}", error.retry_after
            ) from error
        return max(growing, error.retry_after)


def _spoken(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{round(seconds / 3600)} hours"
