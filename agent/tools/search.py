"""Tools that find files and lines."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.tools.process import run
from ogcode.agent.tools.walk import fits, is_bounded, walk
from ogcode.agent.tools.workspace import Workspace

_MOST = 200
_WIDEST = 300
_ENVIRON = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
_CHUNK = 100_000
"""Bytes of names that one process is given: every system takes so many."""
_LARGEST = 5_000_000
"""Bytes; larger files are searched only where they are named."""
_RIPGREP = (
    "--no-config --null --line-number --no-heading --with-filename --color=never --no-messages --sort=path "
    "--no-ignore --hidden --crlf --max-columns=2000 --regexp"
).split()


def search_tools(
    workspace: Workspace,
    *,
    ripgrep: Path | None,
    max_bytes: Callable[[], int],
    ignoring: Sequence[Path] = (),
    seconds: float = 20.0,
) -> tuple[Tool, ...]:
    """Make `grep` and `glob`. Without `ripgrep`, the path of that program, Python searches.

    Which files are searched is decided here, so that both give the same answers, and git's. `ignoring` are files like
    `.gitignore` that lie elsewhere.
    """

    @tool(effect="read")
    async def grep(pattern: str, path: str = "", glob: str = "") -> str:
        """Search files by regular expression."""
        start, ends = _start(workspace, path, glob), time.monotonic() + seconds
        base = workspace.base(start) or workspace.top
        files = await asyncio.to_thread(_files, workspace, start, glob, ignoring, ends)
        found = _Found(max_bytes(), "" if base == workspace.top else f"{base}/")
        try:
            late = await _search(_program(ripgrep, pattern), files, found, base, ends)
            if found.wrong and ripgrep is not None:  # Python knows more kinds of patterns
                found.wrong = ""
                late = await _search(_program(None, pattern), files, found, base, ends)
        except (OSError, ValueError) as error:
            raise ToolError(f"the search can't be started ({error}); give a shorter, plain pattern") from error
        if found.wrong:
            raise ToolError(f"the pattern can't be used: {clean(found.wrong)[:300]}; escape special characters with \\")
        return found.text(workspace, path, late=late)

    @tool(effect="read")
    async def glob(pattern: str, path: str = "") -> str:
        """Find files like **/*.py."""
        start, ends = _start(workspace, path, pattern), time.monotonic() + seconds
        if not start.is_dir():
            raise ToolError(f"{workspace.display(start)} is a file; give a folder as path")
        return await asyncio.to_thread(_glob, workspace, start, pattern, max_bytes(), ends, ignoring)

    return grep, glob


def _start(workspace: Workspace, path: str, glob: str) -> Path:
    if not is_bounded(glob):
        raise ToolError("the braces of this glob stand for too many names; use fewer at a time")
    start = workspace.resolve(path)
    if not start.exists():
        raise ToolError(f"there is no {workspace.display(start)}; leave path empty to search everywhere")
    return start


def _walk(
    workspace: Workspace, start: Path, ignoring: Sequence[Path], ends: float, *, everything: bool = False
) -> Iterator[Path]:
    base = workspace.base(start) or workspace.top
    besides = ignoring if base == workspace.top else ()
    found = walk(base, start, lambda: time.monotonic() > ends, besides, everything=everything)
    return (file for file in found if not workspace.hides(file)) if workspace.hidden else found


def _files(workspace: Workspace, start: Path, glob: str, ignoring: Sequence[Path], ends: float) -> list[str]:
    """Name the files that are to be searched, from the folder that holds them."""
    base = workspace.base(start) or workspace.top
    files = iter((start,)) if start.is_file() else _walk(workspace, start, ignoring, ends)
    named = (file.relative_to(base) for file in files if file == start or _facts(file)[0] <= _LARGEST)
    return [f"./{name}" for name in named if not glob or fits(name.parts, glob)]


def _program(ripgrep: Path | None, pattern: str) -> list[str]:
    if ripgrep is not None:
        return [str(ripgrep), *_RIPGREP, pattern, "--"]
    return [sys.executable, "-P", "-E", "-m", "ogcode.agent.tools.grep_child", pattern]


async def _search(program: Sequence[str], files: Sequence[str], found: "_Found", base: Path, ends: float) -> bool:
    """Search files, as many at once as a process takes; tell whether the time was up before the end."""
    waiting = list(reversed(files))
    while waiting:
        chunk, size = list[str](), 0
        while waiting and size < _CHUNK:
            chunk.append(waiting.pop())
            size += len(os.fsencode(chunk[-1])) + 1
        left = ends - time.monotonic()
        if left <= 0:
            return True
        ended = await run([*program, *chunk], found.feed, cwd=base, environ=_ENVIRON, seconds=left)
        if ended.timed_out:
            return True
        if ended.code == 2 and found.rest and not found.matches:
            found.wrong, found.rest = found.rest, ""
            return False
        if found.full:
            return False
    return time.monotonic() > ends


class _Found:
    """The matches of a search as they come, bounded; the rest is only counted."""

    def __init__(self, max_bytes: int, above: str) -> None:
        self._above = above
        """What the names begin with that are not relative to the top."""
        self.matches = 0
        self.rest = ""
        """What the program said besides."""
        self.wrong = ""
        """What is wrong with the pattern."""
        self._max_bytes = max_bytes
        self._size = 0
        self._files = set[bytes]()
        self._shown = list[tuple[str, str]]()
        self._open = b""

    def feed(self, piece: bytes) -> bool:
        *complete, self._open = (self._open + piece).split(b"\n")
        for line in complete:
            self._add(line)
        return not self.full

    @property
    def full(self) -> bool:
        return self.matches > 100_000

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
        if not found and b": binary file matches (found" in line:
            return
        if not found:
            self.rest += line.decode("utf-8", "replace")[:500] + " "
            return
        name = name.removeprefix(b"./")
        self.matches += 1
        self._files.add(name)
        number, _, content = match.decode("utf-8", "replace").partition(":")
        content = content.rstrip("\r")
        cut = f"… [{len(content) - _WIDEST:,} more]" if len(content) > _WIDEST else ""
        shown = (
            clean(self._above + name.decode("utf-8", "replace")),
            f"  {number}: {clean(content[:_WIDEST], prose=True)}{cut}",
        )
        self._size += len(shown[1].encode()) + (0 if self._shown and self._shown[-1][0] == shown[0] else len(name)) + 2
        if len(self._shown) < _MOST and self._size <= self._max_bytes:
            self._shown.append(shown)


def _glob(
    workspace: Workspace, start: Path, pattern: str, max_bytes: int, ends: float, ignoring: Sequence[Path]
) -> str:
    def fitting(*, everything: bool) -> list[tuple[float, Path]]:
        files = _walk(workspace, start, ignoring, ends, everything=everything)
        return [(_facts(file)[1], file) for file in files if fits(file.relative_to(start).parts, pattern)]

    found = fitting(everything=False)
    ignored = not found and bool(found := fitting(everything=True))
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
    if ignored:
        shown.append("[git ignores these; no others fit]")
    if late:
        shown.append("[there are too many files to look at all of them; narrow with path]")
    return "\n".join(shown) or f"no files fit {clean(pattern)}"


def _facts(path: Path) -> tuple[int, float]:
    """Give the size of a file, and when it was changed."""
    try:
        facts = path.lstat()
    except OSError:
        return 0, 0.0
    return facts.st_size, facts.st_mtime
