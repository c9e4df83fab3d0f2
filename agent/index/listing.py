"""The files that memory is made of, with their sizes and times."""

import os
from pathlib import Path

from ogcode.agent.memory.notes import LARGEST
from ogcode.agent.root import Root

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
    try:
        if folder.is_symlink() or folder.parent.is_symlink():
            return folders
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == "." or not (name.isascii() or _can_be_shown(name)):
                    continue
                if name.endswith(ending) and entry.is_file(follow_symlinks=False):
                    _add(files, prefix + name, entry)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
    except OSError:
        return folders  # gone, or not to be read
    return folders


def _add(files: dict[str, Stamp], path: str, entry: os.DirEntry[str]) -> None:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return  # gone meanwhile
    if facts.st_size <= LARGEST:
        files[path] = stamp_of(facts)


def _can_be_shown(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
