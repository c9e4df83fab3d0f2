"""The user's own status line: a command that is told of the session as JSON, and says one line."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from ogcode.tui.desk import NotDone

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
    try:
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=folder,
            env=dict(environ),
            start_new_session=True,
        )
    except OSError as error:
        raise NotDone(f"status_line.command can't be started: {error.strerror}") from error
    try:
        async with asyncio.timeout(seconds):
            said = await _first_line(process, json.dumps(told).encode())
            if not said and await process.wait():
                raise NotDone(f"status_line.command failed with exit code {process.returncode}")
    except TimeoutError as error:
        raise NotDone(f"status_line.command said nothing within {seconds:g} s, and was ended") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return said.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")


async def _first_line(process: asyncio.subprocess.Process, told: bytes) -> bytes:
    reader, writer = process.stdout, process.stdin
    assert reader is not None and writer is not None  # noqa: S101, PT018  # asked for
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        writer.write(told)
        writer.close()
    said = b""
    while b"\n" not in said and len(said) < _MOST and (piece := await reader.read(_MOST)):
        said += piece
    return said
