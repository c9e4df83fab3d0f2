"""Read a file below a folder, following no link on the way: what was checked can be swapped before it is opened."""

import errno
import os
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from ogcode.agent.files.openat import open_below

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_beneath(folder: Path, path: str) -> int:
    """Open a regular file for reading, by its path from a folder; return the descriptor.

    Raises:
        OSError: there is none, or a link, a pipe or a device stands in its place.
    """
    if not path or path.startswith("/") or ".." in PurePosixPath(path).parts or "\0" in path:
        raise FileNotFoundError(errno.ENOENT, "not a path below the folder", path)
    here = os.open(folder, _FOLDER)
    try:
        descriptor = open_below(here, path, _FILE)
    finally:
        os.close(here)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "not a regular file", path)
    return descriptor


def read_beneath(folder: Path, path: str, largest: int) -> bytes:
    """Read at most so many bytes of a regular file, by its path from a folder.

    Raises:
        OSError: there is none, or a link, a pipe or a device stands in its place.
    """
    with os.fdopen(open_beneath(folder, path), "rb") as file:
        return file.read(largest)
