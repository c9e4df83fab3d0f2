"""Files of the workspace as bytes: read whole, written whole, and never over what others wrote meanwhile."""

import errno
import os
import stat
from pathlib import Path

from ogcode.agent.tool import ToolError
from ogcode.agent.tools.workspace import Workspace

_MOST_BYTES = 16_000_000
_EXCHANGE = 2
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ChangedMeanwhile(OSError):
    """The file is not what it was taken for any more; it stays as it is."""

    def __init__(self) -> None:
        super().__init__(errno.ESTALE, "it was changed meanwhile; read it again")


def load(workspace: Workspace, real: Path) -> bytes:
    """Read a file by its real path.

    Raises:
        ToolError: it can't be read, or is too big to be.
    """
    name = workspace.display(real)
    try:
        with workspace.parent(real) as folder, os.fdopen(os.open(real.name, _READ, dir_fd=folder), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ToolError(f"{name} is not a file; give the path of one")
            if found.st_size > _MOST_BYTES:
                size = f"{found.st_size / 1e6:,.0f} MB"
                raise ToolError(f"{name} is too big ({size}); use grep, or bash with sed -n '1,200p'")
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise ToolError(f"{name} can't be read: {error.strerror}") from error


def put(
    workspace: Workspace, real: Path, before: bytes | None, body: bytes, *, mark: str, mode: int | None = None
) -> None:
    """Write a file whole, if it still holds what it held `before`; None is a file that is not there.

    Another name of it sees the change, a reader never sees half of it. `mark` names what a kill leaves behind, `mode`
    is that of a file which is made anew.

    Raises:
        ChangedMeanwhile: somebody else has written, made or removed it.
        OSError: it is as it was.
    """
    with workspace.parent(real, make=True) as folder:
        there = _found(real.name, folder)
        if (there is None) != (before is None):
            raise ChangedMeanwhile
        if there is not None and not os.access(real.name, os.W_OK, dir_fd=folder):
            raise PermissionError(errno.EACCES, "it is read-only")
        if there is not None and before is not None and (there.st_nlink > 1 or there.st_uid != os.geteuid()):
            _write_in_place(real.name, folder, before, body)
            return
        temporary = unfinished(mark)
        _remove(temporary, folder)  # of a change that was cut short
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            opened = os.open(temporary, flags, 0o666 if there is None else 0o600, dir_fd=folder)
            _fill(opened, body, mode=mode if there is None else stat.S_IMODE(there.st_mode))
            if before is None:
                _give_name(temporary, real.name, folder)
            else:
                _exchange(temporary, real.name, folder, before)
        finally:
            _remove(temporary, folder)
        os.fsync(folder)


def unfinished(mark: str) -> str:
    """Name the file that a change is written to before it takes its place."""
    return f".ogcode-{mark}.tmp"


def _give_name(temporary: str, name: str, folder: int) -> None:
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError as error:
        raise ChangedMeanwhile from error
    except OSError as error:
        if error.errno not in _NOT_HERE or _found(name, folder) is not None:
            raise
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _exchange(temporary: str, name: str, folder: int, before: bytes) -> None:
    """Take the place of a file in one step and look at what was there: only then is it known what is replaced."""
    ours = _found(temporary, folder)
    if not _swap(temporary, name, folder):
        if _content(name, folder) != before:
            raise ChangedMeanwhile
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    if _content(temporary, folder) == before:
        return
    theirs = _found(temporary, folder)
    while _swap(temporary, name, folder):  # put back; where somebody was faster, it is the newest that stays
        out = _found(temporary, folder)
        if any(out and each and os.path.samestat(out, each) for each in (ours, theirs)):
            break
    raise ChangedMeanwhile


def _swap(one: str, other: str, folder: int) -> bool:
    """Let two files take each other's place; False where the system can't.

    Raises:
        ChangedMeanwhile: one of them is gone.
    """
    import ctypes  # only where a file is changed

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number == errno.ENOENT:
        raise ChangedMeanwhile
    if number not in _NOT_HERE:
        raise OSError(number, os.strerror(number))
    return False


def _write_in_place(name: str, folder: int, before: bytes, body: bytes) -> None:
    opened = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(opened, "r+b") as file:
        if file.read(len(before) + 1) != before:
            raise ChangedMeanwhile
        file.seek(0)
        file.write(body)
        file.flush()
        file.truncate(len(body))
        os.fsync(opened)


def _fill(opened: int, body: bytes, *, mode: int | None = None) -> None:
    with os.fdopen(opened, "wb") as file:
        file.write(body)
        file.flush()
        if mode is not None:
            os.fchmod(opened, mode)
        os.fsync(opened)


def _found(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _content(name: str, folder: int) -> bytes | None:
    """Read what has a name; None where that is no file."""
    try:
        with os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
            return file.read(_MOST_BYTES + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
