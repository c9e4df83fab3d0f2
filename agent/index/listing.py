"""The files that memory is made of, with their sizes and times."""

import os
from contextlib import suppress
from pathlib import Path

from ogcode.agent.files.root import Root
from ogcode.agent.memory.notes import LARGEST

Stamp = str
"""Size in bytes and mtime in nanoseconds: `1834 1789204452000000000`."""


def stamp_of(facts: os.stat_result) -> Stamp:
    return f"{facts.st_size} {facts.st_mtime_ns}"


def listed(root: Root) -> dict[str, Stamp]:
    """List waiting turns and notes with their stamps, by path from `.ogcode`; links are not followed.

    The spool comes first: a turn leaves it only once its note is there, so that it is seen in one or in both.
    """
    files = dict[str, Stamp]()
    _list(files, root.spool, "spool/", ".json")
    folders = [(root.memory, "memory/")]
    while folders:
        folder, prefix = folders.pop()
        folders += [(folder / name, f"{prefix}{name}/") for name in _list(files, folder, prefix, ".md")]
    return files


def _list(files: dict[str, Stamp], folder: Path, prefix: str, ending: str) -> list[str]:
    """Add the files of one folder; give the names of its folders."""
    folders = list[str]()
    with suppress(OSError):  # gone, a link, or not to be read
        if folder.parent.is_symlink():
            return folders
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            with os.scandir(opened) as entries:  # of a descriptor: the way to a file is not walked again for each
                for entry in entries:
                    name = entry.name
                    if name[0] == "." or not (name.isascii() or _can_be_shown(name)):
                        continue
                    if name.endswith(ending) and entry.is_file(follow_symlinks=False):
                        try:
                            facts = entry.stat(follow_symlinks=False)
                        except OSError:
                            continue  # gone meanwhile
                        if facts.st_size <= LARGEST:
                            files[prefix + name] = f"{facts.st_size} {facts.st_mtime_ns}"
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(name)
        finally:
            os.close(opened)
    return folders


def _can_be_shown(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
