"""MEMORY.md as the user last accepted it: what changed outside ogcode is not believed until a person has seen it."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.durable import make_folder, replace_file
from ogcode.agent.rules import Written


class Accepted:
    """The accepted copies of one checkout, kept in the user's home folder."""

    def __init__(self, home: Path, top: Path) -> None:
        self._folder = home / "accepted" / hashlib.sha256(os.fsencode(top)).hexdigest()[:16]

    def accept(self, files: Iterable[Written]) -> None:
        """Believe files as they are now.

        Raises:
            OSError: the copies can't be written.
        """
        for file in files:
            if file.theirs and self.text(file.name) != file.text:
                make_folder(self._folder)
                replace_file(self._copy(file.name), file.text.encode("utf-8", "surrogatepass"))

    def text(self, name: str) -> str | None:
        """Give what was accepted of a file; None where nothing was."""
        try:
            return self._copy(name).read_bytes().decode("utf-8", "surrogatepass")
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def believed(self, files: Iterable[Written], notices: list[str]) -> Iterator[Written]:
        """Give files as they were accepted, and tell of each that is not so any more."""
        for file in files:
            text = self.text(file.name) if file.theirs else file.text
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
        return self._folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.md"
