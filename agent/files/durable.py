"""Files that survive a crash: whole or not at all; and locks that die with their owner."""

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

TEMPORARY = ".tmp-"
"""How the names of unfinished files begin; whoever holds a folder's lock may sweep them."""

LEASE = 3_600.0
"""Seconds after which the claim of another machine does not count any more."""

_NO_LOCKS = (errno.ENOTSUP, errno.EPERM, errno.ENOSYS, errno.ENOLCK, errno.EINVAL)


def make_folder(path: Path) -> None:
    """Make a private folder, with its parents, such that a file synced in it is found after a power loss."""
    missing = [place for place in (path, *path.parents) if not place.is_dir()] if not path.is_dir() else []
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(PermissionError):  # a parent that may be written but not read
            sync_folder(place.parent)


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
    try:
        sync_folder(path.parent)
    except OSError:
        _drop(path)  # its name may not last: whoever is told that it is not there must not find it
        raise


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
            if abs(now - path.stat().st_mtime) >= older_than:  # of the future, where the clock went back
                path.unlink()


class Lock:
    """An exclusive lock on a file; the kernel drops it when its owner dies.

    On a file system without locks each owner puts a file of its own beside: `leased` tells that it is so.
    """

    def __init__(self, path: Path, descriptor: int, claim: Path | None = None) -> None:
        self.path = path
        self._descriptor = descriptor
        self._claim = claim

    @property
    def leased(self) -> bool:
        return self._claim is not None

    @property
    def stands(self) -> bool:
        """Tell whether others still find it: a folder can be removed with the locks in it."""
        try:
            if self._claim:
                return self._claim.exists()
            return os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except OSError:
            return False

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
            except OSError as error:
                os.close(descriptor)
                if error.errno not in _NO_LOCKS:
                    raise
                claim = _claimed(path)
                return cls(path, -1, claim) if claim else None
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return cls(path, descriptor)
            os.close(descriptor)  # the file was removed between opening and locking

    def release(self, *, remove: bool = False) -> None:
        """Give the lock back; `remove` its file too where the name is not used again."""
        if self._descriptor < 0 and not self._claim:
            return
        if remove:
            _drop(self.path)
        if self._claim:
            _drop(self._claim)
            self._claim = None
        else:
            os.close(self._descriptor)
            self._descriptor = -1


def _claimed(path: Path) -> Path | None:
    """Claim a name without the kernel's help: of several at the same moment none may get it, but never two.

    The name of a claim tells its owner, and is used once: so that of a dead one can be removed without a race.
    """
    host, pid = os.uname().nodename.replace("@", "."), os.getpid()
    claim = path.with_name(f".{path.name}@{host}@{pid}@{born(pid)}@{time.monotonic_ns()}")
    os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for other in path.parent.glob(f".{path.name}@*"):
        if other != claim:
            if not _abandoned(other, host):
                _drop(claim)
                return None
            _drop(other)
    return claim


def _abandoned(claim: Path, host: str) -> bool:
    """Tell whether the owner of a claim is gone; of another machine that is only known by its age."""
    match claim.name.split("@"):
        case [_, where, pid, since, _] if where == host and pid.isdecimal():
            return born(int(pid)) != since
    try:
        return abs(time.time() - claim.lstat().st_mtime) > LEASE
    except FileNotFoundError:
        return True


def born(pid: int) -> str:
    """Tell a process from a later one with its number; empty where it is gone, `alive` where no more is known."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return "" if facts[0] in "ZX" else facts[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass  # another user's
    except (ProcessLookupError, OverflowError):
        return ""
    return "alive"


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
