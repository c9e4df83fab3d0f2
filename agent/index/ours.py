"""Whether an index is as this user's ogcode left it: what a repository ships, or a disk spoils, is not."""

from pathlib import Path
from zlib import crc32

from ogcode.agent.files.durable import make_folder
from ogcode.agent.index.rows import SCHEMA

CHECKED = 1 << 24
"""Bytes of a database that are summed up each time; of a larger one, that would take longer than all the rest."""

_PIECE = 1 << 18


def is_ours(database: Path, mark: Path) -> bool:
    """Tell whether nothing has changed since `claim`; the mark lies where no repository reaches."""
    if any(side.is_symlink() or side.exists() for side in _sides(database)):
        return False  # a writer is at work or died, or a journal was planted that SQLite would play back
    try:
        stamp, _, checksum = mark.read_text("utf-8").rpartition(":")
        return stamp == _stamp_of(database) and checksum == _checksum_of(database)
    except (OSError, UnicodeDecodeError):
        return False


def claim(database: Path, mark: Path) -> None:
    """Remember a database as it is now."""
    make_folder(mark.parent)
    mark.write_text(f"{_stamp_of(database)}:{_checksum_of(database)}", "utf-8")


def discard(database: Path) -> None:
    """Remove a database, with all that SQLite may have put beside it."""
    for path in (database, *_sides(database)):
        path.unlink(missing_ok=True)


def _stamp_of(path: Path) -> str:
    facts = path.lstat()
    return f"{SCHEMA}:{facts.st_dev}:{facts.st_ino}:{facts.st_size}:{facts.st_mtime_ns}"


def _checksum_of(path: Path) -> str:
    if path.lstat().st_size > CHECKED:
        return "unchecked"
    with path.open("rb", buffering=0) as file:
        checksum = 0
        while piece := file.read(_PIECE):
            checksum = crc32(piece, checksum)
    return f"{checksum:08x}"


def _sides(database: Path) -> list[Path]:
    return [Path(f"{database}{suffix}") for suffix in ("-journal", "-wal", "-shm")]
