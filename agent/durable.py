"""Files that survive a crash: whole or not at all; and locks that die with their owner."""

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

TEMPORARY = ".tmp-"
"""How the names of unfinished files begin; whoever holds a folder's lock may sweep them."""


def make_folder(path: Path) -> None:
    """Make a private folder, with its parents."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole, over whatever has its name.

    Raises:
        OSError: nothing was changed.
    """
    temporary = _written(path.parent, content)
    try:
        temporary.replace(path)
    except OSError:
        _drop(temporary)
        raise
    sync_folder(path.parent)


def create_file(path: Path, content: bytes) -> None:
    """Write a file whole under a name that nobody has yet.

    Raises:
        FileExistsError: the name is taken; what is there was not touched.
        OSError: nothing was changed.
    """
    temporary = _written(path.parent, content)
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        # A file system without hard links: claim the name first, then fill it whole.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        temporary.replace(path)
    finally:
        _drop(temporary)
    sync_folder(path.parent)


def append_line(path: Path, line: bytes, *, sync: bool = False) -> None:
    """Append one line, in one write, to a file that only grows; what a crash left of a line stays apart from it.

    Raises:
        OSError: the line is not there, or not all of it; or the file is a link.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
        write_all(descriptor, (b"\n" if torn else b"") + line.rstrip(b"\n") + b"\n")
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if sync and not size:
        sync_folder(path.parent)


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte: a single `write` may stop short without an error."""
    view = memoryview(content)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.EIO, "nothing more could be written")
        view = view[written:]


def sync_folder(path: Path) -> None:
    """Make names in a folder durable, where the file system can."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sweep(folder: Path, *, older_than: float, now: float) -> None:
    """Remove unfinished files that nobody writes any more; times are seconds since the epoch."""
    for path in folder.glob(f"{TEMPORARY}*"):
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime >= older_than:
                path.unlink()


class Lock:
    """An exclusive lock on a file; the kernel drops it when its owner dies."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> "Lock | None":
        """Take the lock, or return None while someone else holds it.

        Raises:
            OSError: the lock file can't be made, or is a link.
        """
        while True:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return cls(path, descriptor)
            os.close(descriptor)  # the file was removed between opening and locking

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; `remove` its file too where the name is not used again."""
        if self._descriptor < 0:
            return
        if remove:
            _drop(self.path)
        os.close(self._descriptor)
        self._descriptor = -1


def _written(folder: Path, content: bytes) -> Path:
    path = folder / f"{TEMPORARY}{os.getpid()}-{time.monotonic_ns()}"
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        write_all(descriptor, content)
        os.fsync(descriptor)
    except BaseException:
        _drop(path)
        raise
    finally:
        os.close(descriptor)
    return path


def _drop(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
