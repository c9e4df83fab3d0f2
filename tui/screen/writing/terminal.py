"""The terminal given to another program for a while, with the app alive behind it."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from ogcode.tui.desks.prompt import EditorFailed


async def on_terminal(app: App[Any], command: Sequence[str], folder: Path) -> int:
    """Run a program on the terminal, in a folder, and give its exit code; a turn that is under way goes on.

    Raises:
        EditorFailed: the terminal can't be given away.
        OSError: the program could not be started.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)  # the program's own Ctrl+C is not ours
    try:
        with app.batch_update(), app.suspend():
            process = await asyncio.create_subprocess_exec(*command, cwd=folder)
            try:
                return await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
    except SuspendNotSupported as error:
        raise EditorFailed("this terminal can't be given to an editor") from error
    finally:
        signal.signal(signal.SIGINT, before)
