"""Which folders the user believes: asked once, kept outside the folder, tied to its path and inode."""

import fcntl
import json
import os
import sys
from datetime import datetime
from pathlib import Path

from ogcode.agent.durable import make_folder, replace_file
from ogcode.agent.root import Root

_GET_GENERATION = 0x80087601
"""FS_IOC_GETVERSION of 64-bit Linux."""


class TrustBroken(Exception):
    """A folder can't be trusted, or `trust.json` can't be read; the text says what to do."""


class Trust:
    def __init__(self, home: Path) -> None:
        self._path = home / "trust.json"

    def holds(self, root: Root) -> bool:
        """Tell whether the user trusts the folder that is there now.

        Raises:
            TrustBroken: the file is there but is not what it should be.
        """
        given = self._read().get(str(root.path), {})
        return root.sound and all(given.get(key) == value for key, value in _identity(root).items())

    def give(self, root: Root, now: datetime) -> None:
        """Trust a folder from now on.

        Raises:
            TrustBroken: the folder can't be trusted.
            OSError: the user's home can't be written; nothing was changed.
        """
        if not root.sound:
            raise TrustBroken(
                f"{root.top} can't be trusted: its .git file points at a repository that does not know this worktree"
            )
        known = self._read()
        known[str(root.path)] = {**_identity(root), "since": now.isoformat(timespec="seconds")}
        make_folder(self._path.parent)
        replace_file(self._path, json.dumps(known, indent=1).encode())

    def _read(self) -> dict[str, dict[str, object]]:
        try:
            known = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise TrustBroken(f"{self._path}: can't be read ({error}); mend or remove it") from error
        if not isinstance(known, dict) or not all(isinstance(each, dict) for each in known.values()):
            raise TrustBroken(f"{self._path}: not a table of folders; mend or remove it")
        return known


def _identity(root: Root) -> dict[str, object]:
    facts = root.path.stat()
    return {"device": facts.st_dev, "inode": facts.st_ino, "generation": _generation(root.path)}


def _generation(folder: Path) -> int:
    """Tell a folder from the next one that gets its inode (ext4 gives it away at once); 0 where that can't be told."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(descriptor, _GET_GENERATION, bytes(8))[:4], sys.byteorder)
    except OSError:
        return 0
    finally:
        os.close(descriptor)
