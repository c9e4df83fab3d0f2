"""Tools that show what there is without showing all of it: folders a line each, a file by its symbols."""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.tools.outline import Symbol, outline, symbols
from ogcode.agent.tools.store import load
from ogcode.agent.tools.text import decode, lines
from ogcode.agent.tools.walk import walk
from ogcode.agent.tools.workspace import Workspace

_SECONDS = 3.0
_MOST_FILES = 100_000
_LOOKED_INTO = 12
"""Files of a folder that it gets its labels from."""
_LARGEST = 100_000
"""Bytes; a larger file gives no labels."""
_LABELS = 6
_WIDEST = 110

_Known = dict[tuple[str, int, int], tuple[str, ...]]


def map_tools(workspace: Workspace, *, max_bytes: Callable[[], int], ignoring: Sequence[Path] = ()) -> tuple[Tool, ...]:
    """Make `codebase_map` and `file_map`; `ignoring` are files like `.gitignore` that lie elsewhere."""
    known: _Known = {}

    @tool(effect="read")
    async def codebase_map(path: str = "") -> str:
        """Sum up a folder by entry."""
        return await asyncio.to_thread(_map, workspace, path, max_bytes(), known, ignoring)

    @tool(effect="read")
    async def file_map(path: str) -> str:
        """List a file's symbols."""
        return await asyncio.to_thread(_outlined, workspace, path, max_bytes())

    return codebase_map, file_map


def _outlined(workspace: Workspace, path: str, max_bytes: int) -> str:
    real = workspace.resolve(path)
    name = workspace.display(real)
    if real.is_dir():
        raise ToolError(f"{name} is a folder; give the path of a file, or call codebase_map")
    if not real.exists():
        raise ToolError(f"there is no {name}; find files with glob")
    decoded = decode(load(workspace, real))
    found = symbols(real.name, decoded.text) if decoded else None
    if decoded is None or found is None:
        raise ToolError(f"{name} is of a kind that has no outline here; read a part of it, or use grep")
    told = outline(found, len(decoded.text.encode("utf-8", "replace")), max_bytes)
    return f"{name}: {len(lines(decoded.text)):,} lines\n{told or '(nothing is defined in it)'}"


@dataclass(slots=True)
class _Entry:
    """A folder or file of the level that is shown."""

    name: str
    is_folder: bool
    files: list[Path] = field(default_factory=list)

    def line(self, labels: Sequence[str]) -> str:
        number = len(self.files)
        count = f"/ ({number:,} file{'' if number == 1 else 's'})" if self.is_folder else ""
        text = "; ".join(labels)
        while len(text) > _WIDEST:
            labels = labels[:-1]
            text = "; ".join(labels)
        return clean(self.name) + count + (f": {text}" if text else "")


def _map(workspace: Workspace, path: str, max_bytes: int, known: _Known, ignoring: Sequence[Path]) -> str:
    start, ends = workspace.resolve(path), time.monotonic() + _SECONDS
    if not start.is_dir():
        what = (
            "a file; outline it with file_map" if start.exists() else "not there; leave path empty for the top folder"
        )
        raise ToolError(f"{workspace.display(start)} is {what}")

    def late() -> bool:
        return time.monotonic() > ends

    entries, seen = dict[str, _Entry](), 0
    walked = walk(workspace.base(start) or workspace.top, start, late, ignoring)
    found = (file for file in walked if not workspace.hides(file))
    for file in islice(found, _MOST_FILES):
        first, *below = file.relative_to(start).parts
        entries.setdefault(first, _Entry(first, bool(below))).files.append(file)
        seen += 1
    cut = late() or seen == _MOST_FILES
    ordered = sorted(entries.values(), key=lambda each: (not each.is_folder, each.name))
    plain = [each.line(()) for each in ordered]
    kept = list(_within(plain, max_bytes))
    room = max_bytes - sum(len(line.encode()) + 1 for line in kept)
    for place, each in enumerate(ordered[: len(kept)]):
        line = each.line(tuple(_labels(workspace, each.files, known, late)))
        room -= len(line.encode()) - len(kept[place].encode())
        if room < 0 or late():
            break
        kept[place] = line
    if len(kept) < len(ordered):
        kept.append(f"[{len(ordered) - len(kept):,} more; give a folder as path, or use glob]")
    if cut:
        kept.append("[there are more files than could be looked at: the numbers are too small]")
    return "\n".join(kept) or "(an empty folder)"


def _within(given: Iterable[str], room: int) -> Iterator[str]:
    for line in given:
        room -= len(line.encode()) + 1
        if room < 0:
            return
        yield line


def _labels(workspace: Workspace, files: Sequence[Path], known: _Known, late: Callable[[], bool]) -> Iterator[str]:
    """Name what is defined in files, the largest of each file first; where nothing is, the files themselves."""
    nearest = sorted(files, key=lambda file: (len(file.parts), -_size(file)))[:_LOOKED_INTO]
    each = [() if late() else _defined(workspace, file, known) for file in nearest]
    names = dict.fromkeys(name for name in chain.from_iterable(zip_longest(*each)) if name)
    if not names and len(files) > 1:
        names = dict.fromkeys(clean(file.stem) for file in nearest)
    return islice(names, _LABELS)


def _defined(workspace: Workspace, file: Path, known: _Known) -> tuple[str, ...]:
    try:
        facts = file.lstat()
        if facts.st_size > _LARGEST:
            return ()
        key = str(file), facts.st_mtime_ns, facts.st_size
        if key not in known:
            decoded = decode(load(workspace, file))
            known[key] = _largest(symbols(file.name, decoded.text) or ()) if decoded else ()
        return known[key]
    except (OSError, ToolError):
        return ()


def _largest(found: Sequence[Symbol]) -> tuple[str, ...]:
    outer = [each for each in found if each.depth == 0 and each.name[:1] not in ("", "_")]
    outer.sort(key=lambda each: each.start - each.end)
    return tuple(dict.fromkeys(each.name for each in outer[:_LABELS]))


def _size(file: Path) -> int:
    try:
        return os.lstat(file).st_size
    except OSError:
        return 0
