"""The user's own commands before and after a turn: closed in as the agent's are, with an end."""

import shutil
import tempfile
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from ogcode.agent.clean import fold_returns
from ogcode.agent.files.root import find_root
from ogcode.agent.tools.process import program, run
from ogcode.agent.tools.shell import child_environment
from ogcode.tui.boundary import Boundary
from ogcode.tui.place import Here

SECONDS = 600.0
"""What setup may take, and check, where the task does not say."""
TIMED_OUT = 124
"""Exit code, as of `timeout`."""

_KEPT = 2_000
"""Bytes of the end of what a command prints."""


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    output: str
    """The end of it."""


async def run_command(command: str, here: Here, folder: Path, *, seconds: float) -> Done:
    """Run a command in a worktree of a trusted checkout to its end, by the settings of the checkout.

    Raises:
        OSError, SandboxRefused: it did not run.
    """
    there = replace(here, root=find_root(folder, None), folder=folder)
    private = Path(tempfile.gettempdir(), f"ogcode-{uuid.uuid4().hex}")
    boundary, workspace, tail = Boundary.of(there, private), there.workspace(), bytearray()

    def feed(piece: bytes) -> bool:
        tail.extend(piece)
        del tail[:-_KEPT]
        return True

    environ = child_environment(here.environ, workspace, trusted=True)
    shell = str(program("bash", environ["PATH"], outside=workspace.top) or "/bin/sh")
    try:
        line = boundary.wrap([shell, "-c", 'cd -- "$0" && eval "$1"', str(folder), command], environ)
        try:
            ended = await run(line.command, feed, cwd=folder, environ=line.environ, seconds=seconds, keeper=line.keeper)
        finally:
            settled = line.settle()
    finally:
        shutil.rmtree(private, ignore_errors=True)
    told = [fold_returns(tail.decode("utf-8", "replace")).strip(), *settled]
    if ended.timed_out:
        told.append(f"timed out after {seconds:g} s and was ended")
    code = TIMED_OUT if ended.timed_out else 128 - ended.code if ended.code < 0 else ended.code
    return Done(code, "\n".join(filter(None, told)))
