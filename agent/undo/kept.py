"""The bytes that files held, each content once under its hash; as plain files, for `diff` and `cp`."""

import errno
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ogcode.agent.files.durable import make_folder, replace_file

MOST_BYTES, MOST_FILES = 256_000_000, 4_000
"""Of all that is kept, for all sessions; beyond that the oldest goes."""

_NAME = 64
"""Characters of a hash."""

LARGEST = 16_000_000
"""Bytes of a file that is put back: our tools change none that is larger."""


class Gone(Exception):
    """What a file held is kept no more; the text says why."""


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def keep(folder: Path, content: bytes) -> str:
    """Keep a content, durably, and make room for it; give its name.

    Raises:
        OSError: it can't be kept.
    """
    prepare(folder)
    name = digest(content)
    path = folder / name
    if _read(path) == content:
        os.utime(path)  # as old as its last use
        return name
    replace_file(path, content)
    _make_room(folder, path)
    return name


def kept(folder: Path, name: str) -> bytes:
    """Give what is kept under a name.

    Raises:
        Gone: it is kept no more, or is not what it was.
    """
    path = folder / name
    content = None if folder.is_symlink() else _read(path)
    if content is None:
        raise Gone(f"what it held is kept no more (undo keeps the last {MOST_BYTES // 1_000_000} MB)")
    if digest(content) != name:
        raise Gone(f"what it held was spoiled: {path}")
    return content


def prepare(folder: Path) -> None:
    """Make the folder, out of sight of git.

    Raises:
        OSError: it can't be made.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        raise OSError(errno.ELOOP, f"{folder} is a link; it must be a folder of the project's own")
    make_folder(folder)
    if not (folder / ".gitignore").exists():
        replace_file(folder / ".gitignore", b"*\n")


def _read(path: Path) -> bytes | None:
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            return file.read(LARGEST + 1)
    except OSError:
        return None


def _make_room(folder: Path, newest: Path) -> None:
    """Remove the oldest of all that is kept, accounts included, until the rest is well below the most."""
    found = list[tuple[int, int, str]]()
    with os.scandir(folder) as entries:
        for entry in entries:
            named = len(entry.name) == _NAME or entry.name.endswith(".jsonl")
            if named and entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    facts = entry.stat(follow_symlinks=False)
                    found.append((facts.st_mtime_ns, facts.st_size, entry.path))
    size, count = sum(size for _, size, _ in found), len(found)
    if size <= MOST_BYTES and count <= MOST_FILES:
        return
    for _, each, path in sorted(found):
        if size <= MOST_BYTES * 0.9 and count <= MOST_FILES * 0.9:
            return
        if path != str(newest):
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108  # a name from scandir
            size, count = size - each, count - 1
