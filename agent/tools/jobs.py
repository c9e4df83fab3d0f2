"""Commands in the background: started under a name, read again and again, ended with the session at the latest."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

from ogcode.agent.clean import clean
from ogcode.agent.sandbox.wrapped import Wrapped
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.printed import Printed, Tail
from ogcode.agent.tools.process import Running
from ogcode.agent.tools.workspace import Workspace

STOP = "stop"

_NAME = re.compile(r"[\w.-]{1,40}")
_MOST = 8
_FIRST_SECONDS = 0.5
"""How long a start waits: what fails at once is told at once."""
_TICK = 0.05


@dataclass(slots=True)
class _Job:
    running: Running
    output: Printed
    line: Wrapped
    shown: Tail
    """The last of it for the user, who looks as often as they like."""


@dataclass(frozen=True, slots=True)
class JobState:
    name: str
    command: str
    running: bool


class Jobs:
    """What runs in the background of one session."""

    def __init__(self) -> None:
        self._held = dict[str, _Job]()
        self.now: Tail | None = None
        """What the command prints that is waited for."""

    def __contains__(self, name: str) -> bool:
        return name in self._held

    async def start(self, name: str, line: Wrapped, fresh: Callable[[], Printed], workspace: Workspace) -> str:
        """Start one; say what it has printed by then.

        Raises:
            ToolError: it can't be one.
            OSError, ValueError: it could not be started.
        """
        if not _NAME.fullmatch(name):
            raise ToolError("a job's name is 1 to 40 letters, digits, '.', '_' or '-'")
        if len(self._held) >= _MOST:
            raise ToolError(f"{_MOST} jobs run already ({self._names()}); end one with command '{STOP}'")
        output, shown = fresh(), Tail()

        def feed(piece: bytes) -> bool:
            shown.feed(piece)
            return job.output.feed(piece)

        running = Running(line.command, feed, cwd=workspace.top, environ=line.environ, keeper=line.keeper)
        job = self._held[name] = _Job(running, output, line, shown)
        try:
            await running.wait(_FIRST_SECONDS)
            return await self._told(name, fresh, workspace)
        except BaseException:
            running.kill()
            self._held.pop(name, None)
            raise

    async def go_on(
        self, name: str, command: str, fresh: Callable[[], Printed], workspace: Workspace, *, seconds: float
    ) -> str:
        """Say what one has printed since it was last read, waiting for that where there is nothing; or end it.

        Raises:
            ToolError: there is no such job, or it runs and another command was given.
        """
        job = self._held.get(name)
        if job is None:
            raise ToolError(f"there is no job '{clean(name)}'; running: {self._names() or 'none'}")
        if command == STOP:
            await job.running.terminate()
        elif command:
            raise ToolError(f"job '{name}' is running: command '' reads on, '{STOP}' ends it; or take another name")
        else:
            await _news(job, seconds)
        return await self._told(name, fresh, workspace, stopped=command == STOP)

    def states(self) -> list[JobState]:
        """List them for the user."""
        return [JobState(name, job.line.command[-1], job.running.code is None) for name, job in self._held.items()]

    def printed(self, name: str) -> str:
        """Give the last that one has printed, whether the model has read it or not; empty where there is none."""
        return self._held[name].shown.text() if name in self._held else ""

    async def end(self, name: str) -> bool:
        """End one for the user; the model reads how it ended when it asks. Tells whether there was one to end."""
        job = self._held.get(name)
        if job is None or job.running.code is not None:
            return False
        await job.running.terminate()
        return True

    def close(self) -> None:
        """End them all."""
        for job in self._held.values():
            job.running.kill()
            job.output.close()
            job.line.settle()
        self._held.clear()

    async def _told(
        self, name: str, fresh: Callable[[], Printed], workspace: Workspace, *, stopped: bool = False
    ) -> str:
        job = self._held[name]
        if not stopped and job.running.code is None:
            notes = [f"[job '{name}' is running: command '' reads on, '{STOP}' ends it]"]
        else:
            ended = await job.running.finish()
            del self._held[name]
            notes = [*ended.told(), *job.line.settle(), f"[job '{name}' has ended]"]
        output, job.output = job.output, fresh()
        output.close()
        return "\n".join(part for part in (output.text(workspace), *notes) if part)

    def _names(self) -> str:
        return ", ".join(self._held)


async def _news(job: _Job, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not job.output.size and job.running.code is None:  # noqa: ASYNC110  # nobody tells when it ends
                await asyncio.sleep(_TICK)
    except TimeoutError:
        return
