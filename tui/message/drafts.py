"""What was typed and not sent yet, kept for the case of a crash: one private file for each running session."""

import contextlib
import hashlib
import os
from pathlib import Path

from ogcode.agent.files.durable import born, make_folder, replace_file

LARGEST = 2_000_000
"""Bytes of a draft that are kept."""


class Drafts:
    """A file's name tells whose it is; where that process is gone, the draft is anyone's."""

    def __init__(self, home: Path, root: Path) -> None:
        self._folder = home / "drafts"
        self._root = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        self._own = self._folder / f"{self._root}-{os.getpid()}-{born(os.getpid())}"
        self._kept = ""

    def keep(self, text: str) -> None:
        """Keep a draft in the place of the last one; an empty one is forgotten.

        Raises:
            OSError: it can't be kept; the last one stands.
        """
        if text == self._kept:
            return
        if text.strip():
            make_folder(self._folder)
            replace_file(self._own, text.encode("utf-8", "replace")[:LARGEST])
        else:
            self._own.unlink(missing_ok=True)
        self._kept = text

    def take(self) -> str:
        """Take over the latest draft of a session of this project that did not come to its end."""
        for path in self._left():
            with contextlib.suppress(OSError):
                path.replace(self._own)  # of two that start at once one gets it
                self._kept = self._own.read_text("utf-8", "replace")
                return self._kept
        return ""

    def _left(self) -> list[Path]:
        found = list[tuple[float, Path]]()
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"{self._root}-*"):
                match path.name.split("-"):
                    case [_, pid, since] if pid.isdecimal() and born(int(pid)) != since:
                        found.append((path.lstat().st_mtime, path))
        return [path for _, path in sorted(found, reverse=True)]
