"""Tools that read, write and edit text files of the workspace."""

import asyncio
import errno
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.tools.ladder import replaced
from ogcode.agent.tools.text import Decoded, decode, kind, lines, newline
from ogcode.agent.tools.workspace import Workspace

_MOST_BYTES = 16_000_000
_MOST_LINES = 2_000
_MOST_ENTRIES = 500
_SHOWN_BYTES = 4_000


def file_tools(workspace: Workspace, *, max_bytes: int = 24_000) -> tuple[Tool, ...]:
    """Make `read`, `write` and `edit`, which know of each other what was read; `max_bytes` bounds one reading."""
    files = _Files(workspace)

    @tool(effect="read")
    async def read(path: str, start_line: int = 1, lines: int = 0) -> str:
        """Read a file as numbered lines, or list a folder."""
        return await asyncio.to_thread(files.read, path, start_line, lines, max_bytes)

    @tool(effect="write")
    async def write(path: str, content: str) -> str:
        """Create or replace a whole file."""
        return await asyncio.to_thread(files.write, path, content)

    @tool(effect="write")
    async def edit(path: str, old: str, new: str, all: bool = False) -> str:  # noqa: A002  # the model's word
        """Replace text in a file; old must be unique, unless all."""
        return await asyncio.to_thread(files.edit, path, old, new, all)

    return read, write, edit


@dataclass(frozen=True, slots=True)
class Planned:
    """A change worked out but not made."""

    path: Path
    before: bytes | None
    after: bytes
    said: str


def planned_write(workspace: Workspace, path: str, content: str) -> Planned:
    """Work out what `write` would do.

    Raises:
        ToolError: it can't be done.
    """
    real, name = _target(workspace, path)
    before = load(workspace, real) if real.exists() else None
    there = Decoded("") if before is None else decode(before)
    if there is None:
        raise ToolError(f"{name} is not text ({kind(before or b'')}); remove it first if it is to be replaced")
    if newline(there.text) == "\r\n" and "\r" not in content and there.text.count("\n") == there.text.count("\r\n"):
        content = content.replace("\n", "\r\n")
    done = "created" if before is None else "wrote"
    return Planned(real, before, _encoded(there, content, name), f"{done} {name}: {_count(len(lines(content)))}")


def planned_edit(workspace: Workspace, path: str, old: str, new: str, *, every: bool) -> Planned:
    """Work out what `edit` would do.

    Raises:
        ToolError: it can't be done.
    """
    real, name = _target(workspace, path)
    if not real.exists():
        raise ToolError(f"there is no {name}{_near(workspace, real)}; make a new file with write")
    if not old:
        raise ToolError(f"old is empty; give the text of {name} to replace, or use write for the whole file")
    if old == new:
        raise ToolError("old and new are the same; nothing would change")
    before = load(workspace, real)
    there = decode(before)
    if there is None:
        raise ToolError(f"{name} is not text ({kind(before)}); edit changes text files only")
    made = replaced(there.text, old, new, every=every, name=name)
    after = _encoded(there, made.text, name)
    if after == before:
        raise ToolError(f"{name} already reads so at line {made.line}; nothing would change")
    where = f"at {made.line}" if made.places == 1 else f"in {made.places} places, first at {made.line}"
    noted = f" (old did not match exactly: overlooked {made.rung})" if made.rung else ""
    return Planned(real, before, after, f"edited {name}: {_count(made.lines * made.places)} replaced {where}{noted}")


def load(workspace: Workspace, real: Path) -> bytes:
    """Read a file by its real path.

    Raises:
        ToolError: it can't be read, or is too big to be.
    """
    name = workspace.display(real)
    try:
        with workspace.parent(real) as folder:
            opened = os.open(real.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(opened, "rb") as file:
            found = os.fstat(opened)
            if not stat.S_ISREG(found.st_mode):
                raise ToolError(f"{name} is not a file; give the path of one")
            if found.st_size > _MOST_BYTES:
                size = f"{found.st_size / 1e6:,.0f} MB"
                raise ToolError(f"{name} is too big ({size}); use grep, or bash with sed -n '1,200p'")
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise ToolError(f"{name} can't be read: {error.strerror}") from error


@dataclass(slots=True)
class _Files:
    workspace: Workspace
    seen: dict[Path, bytes] = field(default_factory=dict)
    """The hash of each file as these tools last read or wrote it."""
    shown: dict[Path, set[int]] = field(default_factory=dict)
    """The lines of each file that were read, for as long as it has not changed."""

    def read(self, path: str, start: int, count: int, max_bytes: int) -> str:
        real = self.workspace.resolve(path)
        name = self.workspace.display(real)
        if real.is_dir():
            return _listing(real, max_bytes)
        if not real.exists():
            raise ToolError(f"there is no {name}{_near(self.workspace, real)}; find files with glob")
        body = load(self.workspace, real)
        there = decode(body)
        if there is None:
            raise ToolError(f"{name} is not text: {kind(body)}, {len(body):,} bytes")
        all_lines = lines(there.text)
        text, last = _numbered(all_lines, name, max(1, start), count, max_bytes)
        if self.seen.get(real) != _hash(body):
            self.shown[real] = set()
        self.seen[real] = _hash(body)
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
            return f"{name} already holds exactly this"
        said = self._done(made)
        self.shown.pop(made.path, None)  # whoever wrote a file knows all of it
        return said

    def edit(self, path: str, old: str, new: str, every: bool) -> str:
        try:
            made = planned_edit(self.workspace, path, old, new, every=every)
        except ToolError as error:
            raise ToolError(f"{error}{self._unread(path)}") from error
        if not self._changed(made):
            return self._done(made)
        if "overlooked" in made.said:
            name = self.workspace.display(made.path)
            raise ToolError(
                f"{name} has changed on disk since you read it and old does not match exactly; read it again"
            )
        return f"{self._done(made)}; the file had changed on disk since you read it"

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

    def _changed(self, made: Planned) -> bool:
        known = self.seen.get(made.path)
        return known is not None and made.before is not None and _hash(made.before) != known

    def _done(self, made: Planned) -> str:
        try:
            _store(self.workspace, made.path, made.after)
        except OSError as error:
            raise ToolError(f"{self.workspace.display(made.path)} can't be written: {error.strerror}") from error
        self.seen[made.path] = _hash(made.after)
        return made.said


def _store(workspace: Workspace, real: Path, body: bytes) -> None:
    """Write a file whole: another name of it sees the change, a reader never sees half of it."""
    with workspace.parent(real, make=True) as folder:
        try:
            there = os.stat(real.name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            there = None
        if there is not None and not os.access(real.name, os.W_OK, dir_fd=folder):
            raise PermissionError(errno.EACCES, "it is read-only")
        if there is not None and (there.st_nlink > 1 or there.st_uid != os.geteuid()):
            _fill(os.open(real.name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), body)
            return
        temporary = f".ogcode-{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            opened = os.open(temporary, flags, 0o666 if there is None else 0o600, dir_fd=folder)
            _fill(opened, body, mode=None if there is None else stat.S_IMODE(there.st_mode))
            os.replace(temporary, real.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _remove(temporary, folder)
            raise
        os.fsync(folder)


def _fill(opened: int, body: bytes, *, mode: int | None = None) -> None:
    with os.fdopen(opened, "wb") as file:
        file.write(body)
        file.flush()
        file.truncate(len(body))
        if mode is not None:
            os.fchmod(opened, mode)
        os.fsync(opened)


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return


def _target(workspace: Workspace, path: str) -> tuple[Path, str]:
    real = workspace.writable(path)
    name = workspace.display(real)
    if real.is_dir() or path.endswith("/"):
        raise ToolError(f"{name} is a folder; give the path of a file")
    return real, name


def _encoded(there: Decoded, text: str, name: str) -> bytes:
    try:
        return there.encode(text)
    except UnicodeEncodeError as error:
        bad = error.object[error.start]
        raise ToolError(
            f"{name} is encoded in {there.encoding}, which has no {clean(bad)!r} (U+{ord(bad):04X}); "
            "do without it, or convert the file to UTF-8 first"
        ) from error


def _numbered(all_lines: list[str], name: str, start: int, count: int, max_bytes: int) -> tuple[str, int]:
    """Give lines with their numbers, and the number of the last one."""
    if not all_lines:
        return f"({name} is empty)", 0
    if start > len(all_lines):
        raise ToolError(f"{name} has only {_count(len(all_lines))}; start_line must be at most that")
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


def _listing(folder: Path, max_bytes: int) -> str:
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in scanned)
    except OSError as error:
        raise ToolError(f"the folder can't be read: {error.strerror}") from error
    shown, size = list[str](), 0
    for entry in entries[:_MOST_ENTRIES]:
        size += len(os.fsencode(entry)) + 1
        if size > max_bytes:
            break
        shown.append(clean(entry))
    if len(shown) < len(entries):
        shown.append(f"[{len(entries) - len(shown):,} more entries; narrow with glob]")
    return "\n".join(shown) or "(an empty folder)"


def _near(workspace: Workspace, real: Path) -> str:
    """Name files that the model may have meant: alike in that folder, or of that name elsewhere."""
    try:
        beside = get_close_matches(real.name, [each.name for each in real.parent.iterdir()], 3, 0.6)
    except OSError:
        beside = []
    found = [workspace.display(real.parent / name) for name in beside]
    looked = 0
    for folder, folders, names in os.walk(workspace.top):
        folders[:] = sorted(name for name in folders if name not in (".git", ".ogcode", "node_modules", ".venv"))
        if real.name in names:
            found.append(workspace.display(Path(folder) / real.name))
        looked += len(names)
        if looked > 20_000 or len(found) >= 5:
            break
    return f"; did you mean {' or '.join(dict.fromkeys(found))}?" if found else ""


def _count(number: int) -> str:
    return f"{number:,} line{'' if number == 1 else 's'}"


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()
