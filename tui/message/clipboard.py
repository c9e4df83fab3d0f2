"""Pictures of the clipboard, by the programs that can read it."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ogcode.agent.files.image import LARGEST, media_type
from ogcode.agent.tools.process import program

_SECONDS = 3.0
_PROGRAMS = (
    ("WAYLAND_DISPLAY", "wl-paste", "--no-newline", "--type", "image/png"),
    ("DISPLAY", "xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("", "pngpaste", "-"),
)
"""The variable that says that it can work, then the command."""


async def picture(environ: Mapping[str, str], folder: Path) -> bytes:
    """Give the picture in the clipboard; empty where there is none, or nothing to read it with.

    No program of `folder` is run.
    """
    for needed, name, *arguments in _PROGRAMS:
        found = program(name, environ.get("PATH", ""), outside=folder)
        if found is None or (needed and not environ.get(needed)):
            continue
        if media_type(content := await _output([str(found), *arguments], environ)):
            return content
    return b""


async def _output(command: list[str], environ: Mapping[str, str]) -> bytes:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdin=null, stdout=pipe, stderr=null, env=environ)
    try:
        async with asyncio.timeout(_SECONDS):
            assert process.stdout  # noqa: S101  # it is a pipe
            content = b""
            while piece := await process.stdout.read(1 << 16):
                content += piece
                if len(content) > LARGEST:
                    return b""
            await process.wait()
            return content
    except TimeoutError:
        return b""
    finally:
        with suppress(ProcessLookupError):
            process.kill()
