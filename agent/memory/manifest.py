"""Which notes are this user's own: kept outside the repository, one line a note."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ogcode.agent.durable import append_line, make_folder

Origin = Literal["own", "edited", "foreign"]


class Manifest:
    def __init__(self, home: Path, root: Path) -> None:
        self.path = home / "manifests" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.jsonl"
        self._known: dict[str, set[str]] = {}
        self._stamp = ""

    def add(self, note: str, content: bytes) -> None:
        """Claim a note, before it gets its name: a claim without a note does no harm.

        Raises:
            OSError: the home can't be written; the note will count as foreign.
        """
        make_folder(self.path.parent)
        row = {"note": note, "sha256": hashlib.sha256(content).hexdigest()}
        append_line(self.path, json.dumps(row).encode(), sync=True)

    def stamp(self) -> str:
        """Tell the state of the file, to see whether it has changed."""
        try:
            facts = self.path.stat()
        except OSError:
            return "none"
        return f"{facts.st_size}:{facts.st_mtime_ns}"

    def origin(self, note: str, sha256: str) -> Origin:
        """Tell whose a note is: ours as written, ours and edited since, or someone else's."""
        if self._stamp != (stamp := self.stamp()):
            self._known = {}
            for row in self._rows():
                self._known.setdefault(str(row.get("note")), set()).add(str(row.get("sha256")))
            self._stamp = stamp
        if note not in self._known:
            return "foreign"
        return "own" if sha256 in self._known[note] else "edited"

    def _rows(self) -> Iterator[dict[str, object]]:
        try:
            lines = self.path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                continue  # a line that a crash tore
            if isinstance(row, dict):
                yield row
