"""MEMORY.md as the user last accepted it: what changed outside ogcode is not believed until a person has seen it."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.files.durable import make_folder, replace_file
from ogcode.agent.rules import Written


class Accepted:
    """The accepted copies of one checkout, kept in the user's home folder.

    What was accepted in one checkout of a repository is so in all that hold the same: `main` is what they share.
    """

    def __init__(self, home: Path, top: Path, main: Path | None = None) -> None:
        self._shared = home / "accepted" / _hash(os.fsencode(main or top))
        """The copies of the main checkout; below it are those of the worktrees."""
        self._folder = self._shared / _hash(os.fsencode(top)) if main and main != top else self._shared

    def accept(self, files: Iterable[Written]) -> None:
        """Believe files as they are now.

        Raises:
            OSError: the copies can't be written.
        """
        for file in files:
            if file.theirs and self.text(file.name) != file.text:
                make_folder(self._folder)
                replace_file(self._copy(file.name), file.text.encode("utf-8", "surrogatepass"))

    def text(self, name: str, now: str | None = None) -> str | None:
        """Give what was accepted of a file that holds `now`: here, or just that elsewhere; None where nothing was."""
        own = _text(self._copy(name))
        if now is None or own == now:
            return own
        same = self._copy(name).name
        there = (self._shared / same, *self._shared.glob(f"*/{same}"))
        return now if any(_text(copy) == now for copy in there) else own

    def believed(self, files: Iterable[Written], notices: list[str]) -> Iterator[Written]:
        """Give files as they were accepted, and tell of each that is not so any more."""
        for file in files:
            text = self.text(file.name, file.text) if file.theirs else file.text
            if text != file.text:
                used = "the accepted version is used" if text else "it is not used"
                changed = f"{clean(file.name)} is new or was changed outside ogcode"
                notices.append(f"{changed}: {used}; --trust accepts it as it is now")
            if text:
                yield replace(file, text=text)

    def difference(self, file: Written) -> str:
        """Show what changed since a file was accepted, for a person."""
        before = (self.text(file.name) or "").splitlines()
        return clean(
            "\n".join(unified_diff(before, file.text.splitlines(), "accepted", "now", lineterm="")), prose=True
        )

    def _copy(self, name: str) -> Path:
        return self._folder / f"{_hash(name.encode('utf-8', 'surrogatepass'))}.md"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _text(copy: Path) -> str | None:
    try:
        return copy.read_bytes().decode("utf-8", "surrogatepass")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
