"""What was done to facts, kept in the user's home: by it a change is taken back, byte for byte where it can be."""

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from ogcode.agent.files.durable import append_line, make_folder, replace_file

Act = Literal["added", "changed", "forgotten", "undone", "erased"]

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
    """And the hash of the file with it; of what was erased, hashes of what it said."""
    batch: str = ""
    """What was done at once bears the same name, and is taken back at once."""


class Log:
    """Appended to by whoever holds the lock of the facts; out of reach of what a repository ships."""

    def __init__(self, home: Path, root: Path | None) -> None:
        """Open that of a project, or, without one, that of the facts about the user."""
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16] if root else "global"
        self.path = home / "facts-log" / f"{name}.jsonl"

    def add(self, *done: Done) -> None:
        """Keep what is about to be done, before it is.

        Raises:
            OSError: it can't be kept.
        """
        make_folder(self.path.parent)
        append_line(self.path, "\n".join(json.dumps(asdict(each)) for each in done).encode(), sync=True)

    def erase(self, identity: str, stone: Done) -> None:
        """Leave nothing of a fact but its tombstone.

        Raises:
            OSError: it can't be written.
        """
        kept = [done for done in self.all() if done.id != identity]
        make_folder(self.path.parent)
        replace_file(self.path, "".join(f"{json.dumps(asdict(each))}\n" for each in [*kept, stone]).encode())

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
                left += [done] if done.act != "erased" else []
                continue
            last = next((place for place in reversed(range(len(left))) if left[place].id == done.id), None)
            if last is not None:
                left.pop(last)
        return left


def whole(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
