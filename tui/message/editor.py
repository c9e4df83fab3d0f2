"""The user's own editor for a longer message."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from ogcode.agent.tools.process import program
from ogcode.tui.desks.prompt import EditorFailed, RunOnTerminal

_USUAL = ("nano", "vim", "vi")


async def edited(text: str, run: RunOnTerminal, environ: Mapping[str, str], folder: Path, *, trusted: bool) -> str:
    """Let the editor change a text in a private file; a program of `folder` is one only if it is named and trusted.

    Raises:
        EditorFailed: the text is as it was.
    """
    command = _command(environ, folder, trusted=trusted)
    with tempfile.TemporaryDirectory(prefix="ogcode-") as private:  # made with 0700
        path = Path(private, "message.md")
        try:
            path.write_text(f"{text}\n" if text else "", "utf-8")
            # Not in the repository: editors believe settings that lie where they are started.
            code = await run([*command, str(path)], Path(private))
            changed = path.read_text("utf-8", "replace")
        except (OSError, ValueError) as error:
            raise EditorFailed(f"{command[0]} could not be used: {error}; set EDITOR to another editor") from error
    if code:
        raise EditorFailed(f"{command[0]} ended with exit code {code}; the message is as it was")
    return changed.removesuffix("\n")


def _command(environ: Mapping[str, str], folder: Path, *, trusted: bool) -> Sequence[str]:
    for name in ("VISUAL", "EDITOR"):
        try:
            given = shlex.split(environ.get(name, ""))
        except ValueError as error:
            raise EditorFailed(f"{name} can't be read: {error}") from error
        if not given:
            continue
        search = environ.get("PATH", "")
        found = shutil.which(given[0], path=search) if trusted else program(given[0], search, outside=folder)
        if found is None:
            where = "" if trusted else " outside this folder, which is not trusted"
            raise EditorFailed(f"there is no '{given[0]}'{where}; set {name} to the editor you use")
        return [os.path.abspath(found), *given[1:]]  # noqa: PTH100  # a link keeps its name
    usual = (program(name, environ.get("PATH", ""), outside=folder) for name in _USUAL)
    if found := next(filter(None, usual), None):
        return [str(found)]
    raise EditorFailed("there is no editor; set EDITOR to the one you use")
