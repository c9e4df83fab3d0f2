"""Tools that read, write and edit text files of the workspace."""

import asyncio
import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from ogcode.agent.clean import clean
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.tools.planned import Planned, Replacement, counted, near, planned_edit, planned_write
from ogcode.agent.tools.store import ChangedMeanwhile, load, put
from ogcode.agent.tools.syntax import complaint
from ogcode.agent.tools.text import decode, kind, lines
from ogcode.agent.tools.workspace import Workspace

_MOST_LINES = 2_000
_MOST_ENTRIES = 500
_SHOWN_BYTES = 4_000
_MISSES = 2
"""Edits of a file that fail in a row before a small one may better be written whole."""
_SMALL_BYTES = 6_000
_SMALL_LINES = 150
_TRIES = 20
"""Of an edit of a file that is changed by others at the same time."""


Keep = Callable[[Path, bytes | None, bytes], str]
"""Keeps what a file held before it changes, and gives the change a name of its own. Raises OSError."""


def unkept(*_: object) -> str:  # a Keep
    """Keep nothing: the change can't be undone."""
    return secrets.token_hex(8)


def file_tools(
    workspace: Workspace,
    *,
    max_bytes: Callable[[], int],
    keep: Keep = unkept,
    sees: Callable[[], bool] = lambda: False,
) -> tuple[Tool, ...]:
    """Make `read`, `write` and `edit`, which know of each other what was read; `max_bytes` bounds one reading.

    `sees` tells whether the model that is asked now takes pictures.
    """
    files = _Files(workspace, keep, sees)

    @tool(effect="read")
    async def read(path: str, start_line: int = 1, lines: int = 0) -> str:
        """Read numbered lines, or list a folder."""
        return await asyncio.to_thread(files.read, path, start_line, lines, max_bytes())

    @tool(effect="write")
    async def write(path: str, content: str) -> str:
        """Create or replace a file."""
        return await asyncio.to_thread(files.write, path, content)

    @tool(effect="write")
    async def edit(
        path: str,
        old: str,
        new: str,
        all: bool = False,  # noqa: A002  # the model's word
        more: list[Replacement] = [],  # noqa: B006  # never changed
    ) -> str:
        """Replace unique text in a file, or all of it."""
        return await asyncio.to_thread(files.edit, path, [Replacement(old=old, new=new), *more], all)

    return read, write, edit


@dataclass(slots=True)
class _Files:
    workspace: Workspace
    keep: Keep
    sees: Callable[[], bool]
    seen: dict[Path, bytes] = field(default_factory=dict)
    """The hash of each file as these tools last read or wrote it."""
    shown: dict[Path, set[int]] = field(default_factory=dict)
    """The lines of each file that were read, for as long as it has not changed."""
    busy: Lock = field(default_factory=Lock)
    """Files are read side by side."""
    missed: Counter[Path] = field(default_factory=Counter)
    """How many edits of each file failed since the last that did not."""

    def read(self, path: str, start: int, count: int, max_bytes: int) -> str:
        real = self.workspace.readable(path)
        name = self.workspace.display(real)
        if real.is_dir():
            return _listing(self.workspace, real, max_bytes)
        if not real.exists():
            raise ToolError(f"there is no {name}{near(self.workspace, real)}; find files with glob")
        body = load(self.workspace, real)
        there = decode(body)
        if there is None:
            from ogcode.agent.tools.pictures import pictured  # only where there may be one

            if picture := pictured(name, body, seen=self.sees()):
                return picture
            raise ToolError(f"{name} is not text: {kind(body)}, {len(body):,} bytes")
        all_lines = lines(there.text)
        text, last = _numbered(all_lines, name, max(1, start), count, max_bytes)
        with self.busy:
            if self.seen.get(real) != _hash(body):
                self.shown[real] = set()
            self.seen[real] = _hash(body)
            if real in self.shown:  # whoever wrote it knows all of it
                self.shown[real].update(range(max(1, start), last + 1))
        return text

    def write(self, path: str, content: str) -> str:
        made = planned_write(self.workspace, path, content)
        name = self.workspace.display(made.path)
        if made.before is not None and made.path not in self.seen:
            raise ToolError(f"{name} exists and was not read in this session; read it first")
        if made.before is not None and self._changed(made):
            raise ToolError(f"{name} has changed on disk since you read it; read it again first")
        if made.before is not None and (unread := self._lines_unread(made)):
            raise ToolError(f"{unread} lines of {name} were not read yet; read all of it first, or change it with edit")
        if made.before == made.after:
            raise ToolError(f"{name} already holds exactly this, nothing would change; go on with the next step")
        try:
            said = self._done(made)
        except ChangedMeanwhile as error:
            raise ToolError(f"{name} {error.strerror}") from error
        self.shown.pop(made.path, None)  # whoever wrote a file knows all of it
        return said

    def edit(self, path: str, edits: Sequence[Replacement], every: bool) -> str:
        for _ in range(_TRIES):
            try:
                made = planned_edit(self.workspace, path, edits, every=every)
            except ToolError as error:
                raise ToolError(f"{error}{self._unread(path)}{self._whole(path)}") from error
            changed = self._changed(made)
            if changed and "overlooked" in made.said:
                name = self.workspace.display(made.path)
                raise ToolError(
                    f"{name} has changed on disk since you read it and old does not match exactly; read it again"
                )
            try:
                return self._done(made, "; the file had changed on disk since you read it" if changed else "")
            except ChangedMeanwhile:
                continue
        raise ToolError(f"{self.workspace.display(made.path)} is being changed all the time; try again later")

    def _lines_unread(self, made: Planned) -> int:
        known = self.shown.get(made.path)
        there = decode(made.before or b"")
        return 0 if known is None or there is None else len(set(range(1, len(lines(there.text)) + 1)) - known)

    def _unread(self, path: str) -> str:
        """Show a small file to a model that tried to change it without having looked."""
        try:
            real = self.workspace.resolve(path)
            if real in self.seen or not real.is_file() or real.stat().st_size > _SHOWN_BYTES:
                return ""
            return f"\nYou have not read it yet; this is what it holds:\n{self.read(path, 1, 0, 2 * _SHOWN_BYTES)}"
        except (ToolError, OSError):
            return ""

    def _whole(self, path: str) -> str:
        """Offer a model that fails at replacing text to write a small file whole; show what it has not seen of it."""
        try:
            there = planned_write(self.workspace, path, "")
        except ToolError:
            return ""
        text = decode(there.before or b"")
        self.missed[there.path] += 1
        if text is None or self.missed[there.path] < _MISSES or len(there.before or b"") > _SMALL_BYTES:
            return ""
        count = len(lines(text.text))
        if not 0 < count <= _SMALL_LINES:
            return ""
        known = there.path in self.seen and not self._changed(there) and not self._lines_unread(there)
        shown = "" if known else f" This is what it holds:\n{self.read(path, 1, 0, 2 * _SMALL_BYTES)}"
        return f"\nOr write the whole file with write: it has {counted(count)}.{shown}"

    def _changed(self, made: Planned) -> bool:
        known = self.seen.get(made.path)
        return known is not None and made.before is not None and _hash(made.before) != known

    def _done(self, made: Planned, noted: str = "") -> str:
        name = self.workspace.display(made.path)
        try:
            mark = self.keep(made.path, made.before, made.after)
            put(self.workspace, made.path, made.before, made.after, mark=mark)
        except ChangedMeanwhile:
            raise
        except OSError as error:
            raise ToolError(f"{name} can't be written: {error.strerror}") from error
        self.seen[made.path] = _hash(made.after)
        del self.missed[made.path]
        return f"{made.said}{noted}{complaint(name, made.before, made.after)}"


def _numbered(all_lines: list[str], name: str, start: int, count: int, max_bytes: int) -> tuple[str, int]:
    """Give lines with their numbers, and the number of the last one."""
    if not all_lines:
        return f"({name} is empty)", 0
    if start > len(all_lines):
        raise ToolError(f"{name} has only {counted(len(all_lines))}; start_line must be at most that")
    widest = max(80, min(2_000, max_bytes // 8))
    wanted = min(_MOST_LINES, count if count > 0 else _MOST_LINES)
    shown, size = list[str](), 0
    for number, line in enumerate(all_lines[start - 1 : start - 1 + wanted], start):
        cut = f"… [{len(line) - widest:,} more characters in this line]" if len(line) > widest else ""
        text = f"{number}| {clean(line[:widest], prose=True)}{cut}"
        size += len(text.encode()) + 1
        if shown and size > max_bytes:
            break
        shown.append(text)
    last = start + len(shown) - 1
    if last < len(all_lines):
        shown.append(f"[lines {start}-{last} of {len(all_lines)}; go on with start_line={last + 1}]")
    return "\n".join(shown), last


def _listing(workspace: Workspace, real: Path, max_bytes: int) -> str:
    try:
        with workspace.folder(real) as folder, os.scandir(folder) as scanned:
            entries = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in scanned)
    except OSError as error:
        raise ToolError(f"the folder can't be read: {error.strerror}") from error
    shown, size = list[str](), 0
    for entry in entries[:_MOST_ENTRIES]:
        size += len(os.fsencode(entry)) + 1
        if size > max_bytes:
            break
        shown.append(clean(entry).replace("\n", "\ufffd"))  # no name is two entries
    if len(shown) < len(entries):
        shown.append(f"[{len(entries) - len(shown):,} more entries; narrow with glob]")
    return "\n".join(shown) or "(an empty folder)"


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
