"""What was done to facts, kept in the user's home: by it a change is taken back, byte for byte where it can be."""

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from ogcode.agent.durable import append_line, make_folder

Act = Literal["added", "changed", "forgotten", "undone"]

LONGEST = 8_000_000
"""Bytes that are read, from the end."""


@dataclass(frozen=True, slots=True)
class Done:
    """One change; a forgotten fact's is its tombstone."""

    act: Act
    id: str
    at: str
    file: str
    before: str = ""
    """The item, or the whole of a topic note, as it was; empty where there was none."""
    after: str = ""
    place: int = -1
    """Of what was forgotten: where in the file it stood."""
    whole: str = ""
    """And the hash of the file with it."""


class Log:
    """Appended to by whoever holds the lock of the facts; out of reach of what a repository ships."""

    def __init__(self, home: Path, root: Path | None) -> None:
        """Open that of a project, or, without one, that of the facts about the user."""
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16] if root else "global"
        self.path = home / "facts-log" / f"{name}.jsonl"

    def add(self, done: Done) -> None:
        """Keep what is about to be done, before it is.

        Raises:
            OSError: it can't be kept.
        """
        make_folder(self.path.parent)
        append_line(self.path, json.dumps(asdict(done)).encode(), sync=True)

    def all(self) -> list[Done]:
        """List what was done, oldest first; a line that is torn costs itself alone."""
        found = list[Done]()
        with contextlib.suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LONGEST))
            for line in file.read(LONGEST).splitlines():
                with contextlib.suppress(ValueError, TypeError, RecursionError):
                    done = Done(**json.loads(line))
                    found += [done] if done.act in get_args(Act) else []
        return found

    def undoable(self) -> list[Done]:
        """List what can be taken back, oldest first: of each fact what was not taken back yet."""
        left = list[Done]()
        for done in self.all():
            if done.act != "undone":
                left.append(done)
                continue
            last = next((place for place in reversed(range(len(left))) if left[place].id == done.id), None)
            if last is not None:
                left.pop(last)
        return left


def whole(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
