"""A command that the user runs: with all that is his, in the folder he is in, and without asking."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ogcode.agent.tools.printed import Printed
from ogcode.agent.tools.process import program, run
from ogcode.agent.tools.workspace import Workspace
from ogcode.tui.desks.prompt import Ran

_LONGEST = 86_400.0
STOPPED = "[stopped by the user]"
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""It has no terminal: nothing may wait for a key."""
_SHELLS = ("bash", "zsh", "sh", "dash", "ksh")


async def run_own(
    command: str,
    feed: Callable[[bytes], None],
    *,
    environ: Mapping[str, str],
    folder: Path,
    workspace: Workspace,
    max_bytes: int,
    outputs: Path | None,
    stopped: Callable[[Ran], object],
) -> Ran:
    """Run a command to its end; what is too long to return is in a file of `outputs`.

    Cancelling ends it; `stopped` is told what had come of it by then.

    Raises:
        OSError, ValueError: it could not be started.
    """
    printed = Printed(max_bytes, outputs)

    def both(piece: bytes) -> bool:
        feed(piece)
        return printed.feed(piece)

    try:
        ended = await run(
            [_shell(environ, workspace.top), "-c", command],
            both,
            cwd=folder,
            environ={**environ, **_QUIET},
            seconds=_LONGEST,
        )
    except asyncio.CancelledError:
        stopped(Ran("\n".join(filter(None, (printed.text(workspace), STOPPED))), failed=True))
        raise
    finally:
        printed.close()
    text = printed.text(workspace)
    return Ran("\n".join(part for part in (text, *ended.told()) if part) or "(no output)", ended.code != 0)


def _shell(environ: Mapping[str, str], top: Path) -> str:
    """Take the user's own shell where it knows `-c` as sh does."""
    own = Path(environ.get("SHELL", ""))
    if own.is_absolute() and own.name in _SHELLS and os.access(own, os.X_OK):
        return str(own)
    return str(program("bash", environ.get("PATH", ""), outside=top) or "/bin/sh")
