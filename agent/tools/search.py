"""Tools that find files and lines."""

import asyncio
import os
import sys
import time
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.tools.process import run
from ogcode.agent.tools.walk import fits, walk
from ogcode.agent.tools.workspace import Workspace

_MOST = 200
_WIDEST = 300
_ENVIRON = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
_RIPGREP = (
    "--no-config --null --line-number --no-heading --with-filename --color=never --no-messages --sort=path --hidden "
    "--no-require-git --no-ignore-global --no-ignore-exclude --no-ignore-dot --max-filesize=5M --max-columns=2000"
).split()


def search_tools(
    workspace: Workspace, *, ripgrep: Path | None, max_bytes: int = 12_000, seconds: float = 20.0
) -> tuple[Tool, ...]:
    """Make `grep` and `glob`. Without `ripgrep`, the path of that program, Python searches."""

    @tool(effect="read")
    async def grep(pattern: str, path: str = "", glob: str = "") -> str:
        """Search files for a regular expression."""
        start = _start(workspace, path)
        command = _ripgrep(ripgrep, workspace, start, glob, pattern)
        if ripgrep is None:
            command = _python(workspace, start, glob, pattern, seconds)
        found = _Found(glob, max_bytes)
        try:
            ended = await run(command, found.feed, cwd=workspace.top, environ=_ENVIRON, seconds=seconds)
        except (OSError, ValueError) as error:
            raise ToolError(f"the search can't be started ({error}); give a shorter, plain pattern") from error
        if ended.code == 2 and not found.matches:
            raise ToolError(f"the pattern can't be used: {clean(found.rest)[:300]}; escape special characters with \\")
        return found.text(workspace, path, late=ended.timed_out or ended.code == 3)

    @tool(effect="read")
    async def glob(pattern: str, path: str = "") -> str:
        """List files like **/*.py, newest first."""
        start, ends = _start(workspace, path), time.monotonic() + seconds
        if not start.is_dir():
            raise ToolError(f"{workspace.display(start)} is a file; give a folder as path")
        return await asyncio.to_thread(_glob, workspace, start, pattern, max_bytes, ends)

    return grep, glob


def _start(workspace: Workspace, path: str) -> Path:
    start = workspace.resolve(path)
    if not start.exists():
        raise ToolError(f"there is no {workspace.display(start)}; leave path empty to search everywhere")
    return start


def _ripgrep(program: Path | None, workspace: Workspace, start: Path, glob: str, pattern: str) -> list[str]:
    typed = glob and "/" not in glob  # unlike --glob, a type does not bring ignored files back
    chosen = ["--type-add", f"wanted:{glob}", "--type", "wanted"] if typed else []
    never = [word for name in (".git", ".ogcode") for word in ("--iglob", f"!{name}")]
    relative = "/".join(start.relative_to(workspace.top).parts)
    return [str(program), *_RIPGREP, *chosen, *never, "-e", pattern, "--", f"./{relative}"]


def _python(workspace: Workspace, start: Path, glob: str, pattern: str, seconds: float) -> list[str]:
    child = [sys.executable, "-P", "-E", "-m", "ogcode.agent.tools.grep_child"]
    return [*child, str(workspace.top), str(start), glob, pattern, str(seconds * 0.8)]


class _Found:
    """The matches of a search as they come, bounded; the rest is only counted."""

    def __init__(self, glob: str, max_bytes: int) -> None:
        self._glob = glob
        self.matches = 0
        self.rest = ""
        """What the program said besides."""
        self._max_bytes = max_bytes
        self._size = 0
        self._files = set[bytes]()
        self._shown = list[tuple[str, str]]()
        self._open = b""

    def feed(self, piece: bytes) -> bool:
        *complete, self._open = (self._open + piece).split(b"\n")
        for line in complete:
            self._add(line)
        return self.matches <= 100_000

    def text(self, workspace: Workspace, path: str, *, late: bool) -> str:
        parts, last = list[str](), ""
        for name, line in self._shown:
            parts += [line] if name == last else [name, line]
            last = name
        left = self.matches - len(self._shown)
        if left:
            count = f"{left:,}" if self.matches <= 100_000 else "over 99,000"
            files = f"{len(self._files):,} files in all"
            parts.append(f"[{count} more matches, {files}; narrow with path, glob or pattern]")
        if late:
            parts.append("[the search took too long and was stopped: there may be more; narrow with path or glob]")
        if not parts:
            where = f" in {workspace.display(workspace.resolve(path))}" if path else ""
            return f"no matches{where}"
        return "\n".join(parts)

    def _add(self, line: bytes) -> None:
        name, found, match = line.partition(b"\0")
        if not found:
            self.rest += line.decode("utf-8", "replace")[:500] + " "
            return
        name = name.removeprefix(b"./")
        if self._glob and not fits(tuple(os.fsdecode(name).split("/")), self._glob):
            return
        self.matches += 1
        self._files.add(name)
        number, _, content = match.decode("utf-8", "replace").partition(":")
        content = content.rstrip("\r")
        cut = f"… [{len(content) - _WIDEST:,} more]" if len(content) > _WIDEST else ""
        shown = clean(name.decode("utf-8", "replace")), f"  {number}: {clean(content[:_WIDEST], prose=True)}{cut}"
        self._size += len(shown[1].encode()) + (0 if self._shown and self._shown[-1][0] == shown[0] else len(name)) + 2
        if len(self._shown) < _MOST and self._size <= self._max_bytes:
            self._shown.append(shown)


def _glob(workspace: Workspace, start: Path, pattern: str, max_bytes: int, ends: float) -> str:
    found = list[tuple[float, Path]]()
    for path in walk(workspace.top, start, lambda: time.monotonic() > ends):
        if fits(path.relative_to(start).parts, pattern):
            found.append((_changed(path), path))
    late = time.monotonic() > ends
    found.sort(key=lambda each: (-each[0], each[1]))
    shown, size = list[str](), 0
    for _, path in found[:_MOST]:
        name = workspace.display(path)
        size += len(name.encode()) + 1
        if size > max_bytes:
            break
        shown.append(name)
    if len(found) > len(shown):
        shown.append(f"[{len(found) - len(shown):,} more files; narrow with path or a longer pattern]")
    if late:
        shown.append("[there are too many files to look at all of them; narrow with path]")
    return "\n".join(shown) or f"no files fit {clean(pattern)}"


def _changed(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
