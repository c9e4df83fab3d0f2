"""The user's own status line: a command that is told of the session as JSON, and says one line."""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ogcode.tui.desks.desk import NotDone

SECONDS = 1.0
_MOST = 4_096


async def own_line(
    command: str,
    told: Mapping[str, object],
    *,
    environ: Mapping[str, str],
    folder: Path,
    seconds: float = SECONDS,
) -> str:
    """Run the command and give the first line that it prints, as it is.

    Raises:
        NotDone: it could not be started, took too long, or failed without a word.
    """
    pipe, end = os.pipe()
    try:
        with tempfile.TemporaryFile() as words:  # a file can be left unread, and keeps nobody waiting
            words.write(json.dumps(told).encode())
            words.seek(0)
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", command),
                stdin=words,
                stdout=end,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=folder,
                env=dict(environ),
                start_new_session=True,
            )
    except OSError as error:
        os.close(pipe)
        raise NotDone(f"status_line.command can't be started: {error.strerror}") from error
    finally:
        os.close(end)
    try:
        async with asyncio.timeout(seconds):
            said = await _first_line(pipe)
            if not said and await process.wait():
                raise NotDone(f"status_line.command failed with exit code {process.returncode}")
    except TimeoutError as error:
        raise NotDone(f"status_line.command said nothing within {seconds:g} s, and was ended") from error
    finally:
        os.close(pipe)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return said.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")


async def _first_line(pipe: int) -> bytes:
    """Read up to the end of a line; whoever else holds the other end is not waited for."""
    loop, readable, said = asyncio.get_running_loop(), asyncio.Event(), b""
    os.set_blocking(pipe, False)
    loop.add_reader(pipe, readable.set)
    try:
        while b"\n" not in said and len(said) < _MOST:
            await readable.wait()
            readable.clear()
            with contextlib.suppress(BlockingIOError):
                if not (piece := os.read(pipe, _MOST)):
                    break
                said += piece
    finally:
        loop.remove_reader(pipe)
    return said
