"""Open a path below an open folder, never by way of a link: what was checked can be swapped before it is opened."""

import errno
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath

_OPENAT2 = 437
_BENEATH, _NO_MAGICLINKS, _NO_SYMLINKS = 0x08, 0x02, 0x04
_TRIES = 100
"""Where the kernel says that something was moved meanwhile."""

Open = Callable[[int, str, int, int], int]


def open_below(folder: int, path: str, flags: int, mode: int = 0o666) -> int:
    """Open a path below a folder and return the descriptor.

    Raises:
        OSError: it can't be opened, leads out of the folder, or is or passes a link.
    """
    return (_by_the_kernel() or open_step_by_step)(folder, path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode)


def open_step_by_step(folder: int, path: str, flags: int, mode: int) -> int:
    """Do the same where the system has no call for it."""
    *above, name = PurePosixPath(path).parts or (".",)
    if path.startswith("/") or ".." in (*above, name) or "\0" in path:
        raise OSError(errno.EXDEV, "it leads out of the folder", path)
    here = os.dup(folder)
    try:
        for part in above:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, flags, mode, dir_fd=here)
    finally:
        os.close(here)


@cache
def _by_the_kernel() -> Open | None:
    """Give `openat2` of Linux; None where there is none, or a container forbids it."""
    if sys.platform != "linux":
        return None
    import ctypes  # only where a file is opened

    call = ctypes.CDLL(None, use_errno=True).syscall

    def openat2(folder: int, path: str, flags: int, mode: int) -> int:
        name = os.fsencode(path)
        if b"\0" in name:
            raise ValueError("embedded null byte")
        sys.audit("open", path, None, flags)  # as every other opening
        makes = flags & os.O_CREAT
        how = struct.pack("=QQQ", flags, mode if makes else 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
        for _ in range(_TRIES):
            opened = int(call(_OPENAT2, folder, name, how, ctypes.c_size_t(len(how))))
            if opened >= 0:
                return opened
            if ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
                break
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)

    top = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(openat2(top, ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, 0))
    except OSError:
        return None
    else:
        return openat2
    finally:
        os.close(top)
