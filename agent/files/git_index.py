"""What git tracks, read from its index: no git is run, so nothing that a repository sets for git can run either."""

import os
from pathlib import Path

LARGEST = 200_000_000
"""Bytes; a larger index is not read."""

_FIXED = 40
"""Bytes of an entry before the object's name: times, device, inode, mode, owner, size."""

_MODE = 24
_SUBMODULE = 0o160000


class GitIndexUnread(Exception):
    """The index is there but can't be read; the text says why."""


def tracked(repository: Path, folder: str) -> list[str]:
    """List the tracked files below a top-level folder of a checkout, without its name; none where there is no index.

    Raises:
        GitIndexUnread: the index is there but of a kind that is not known here.
    """
    return [
        name.decode("utf-8", "replace").removeprefix(f"{folder}/")
        for name, _ in _entries(repository, f"{folder}/".encode())
    ]


def submodules(repository: Path) -> list[str]:
    """List the folders of a checkout that are repositories of their own to git.

    Raises:
        GitIndexUnread: the index is there but of a kind that is not known here.
    """
    return [os.fsdecode(name) for name, mode in _entries(repository, b"") if mode == _SUBMODULE]


def _entries(repository: Path, prefix: bytes) -> list[tuple[bytes, int]]:
    path = _index_of(repository / ".git")
    if path is None or not path.is_file():
        return []
    try:
        if path.stat().st_size > LARGEST:
            raise GitIndexUnread(f"{path} is larger than {LARGEST:,} bytes")
        content = path.read_bytes()
    except OSError as error:
        raise GitIndexUnread(f"{path}: {error.strerror}") from error
    for digest in (20, 32):  # SHA-1, SHA-256
        names = _names(content, digest, prefix)
        if names is not None:
            return names
    raise GitIndexUnread(f"{path} is of a kind that ogcode can't read (split, sparse or damaged)")


def _index_of(entry: Path) -> Path | None:
    """Find the index of a checkout; `.git` is a file in a submodule."""
    if entry.is_dir():
        return entry / "index"
    if not entry.is_file():
        return None
    named = entry.read_bytes()[:4096].decode("utf-8", "replace").strip().removeprefix("gitdir:").strip()
    return (entry.parent / named / "index") if named and "\0" not in named else None


def _names(content: bytes, digest: int, prefix: bytes) -> list[tuple[bytes, int]] | None:
    """Read the names that begin with `prefix`, and their modes; None where none of it makes sense for such digests."""
    version, count = int.from_bytes(content[4:8]), int.from_bytes(content[8:12])
    if content[:4] != b"DIRC" or version not in (2, 3, 4):
        return None
    at, name, found = 12, b"", list[tuple[bytes, int]]()
    for _ in range(count):
        start, before = at, name
        at += _FIXED + digest
        flags = int.from_bytes(content[at : at + 2])
        at += 4 if version > 2 and flags & 0x4000 else 2
        kept = b""
        if version == 4:
            dropped, at = _number(content, at)
            kept = before[: len(before) - dropped] if dropped <= len(before) else b"\xff"
        end = content.find(b"\0", at)
        name = kept + content[at:end]
        if end < 0 or not name or name < before or min(len(name), 0xFFF) != flags & 0xFFF:
            return None
        if name.startswith(prefix):
            found.append((name, int.from_bytes(content[start + _MODE : start + _MODE + 4])))
        elif name > prefix:
            break  # they are sorted
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
    return found


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Read a number as git packs offsets; give what stands behind it too."""
    value = 0
    while at < len(content):
        byte = content[at]
        at += 1
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            break
        value += 1
    return value, at
