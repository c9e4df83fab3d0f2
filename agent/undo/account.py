"""The account of a session: what became of which file, a sealed line each, only ever added to."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from ogcode.agent.files.durable import append_line
from ogcode.agent.rights.seal import Seal
from ogcode.agent.undo.kept import prepare

Act = Literal["change", "undo", "redo", "ran"]
"""`change` and `redo` are written before files change, `undo` after all of it is done: each can die at any point."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one file held before and after; an empty hash is no file."""

    path: str
    """Its real path."""
    before: str
    after: str
    mode: int | None = None
    """Of the file before."""
    folders: int = 0
    """How many of the folders that it lies in were made for it."""


@dataclass(frozen=True, slots=True)
class Entry:
    act: Act
    id: str
    session: str
    turn: int
    at: str
    changes: tuple[Change, ...] = ()
    of: tuple[str, ...] = ()
    """The changes that an undo took back; the undo that a redo took back."""
    left: tuple[str, ...] = ()
    """The changes that an undo could not take back."""
    turns: tuple[int, ...] = ()
    """The turns that went out of the conversation with it, or came back."""


@dataclass(slots=True)
class History:
    """An account, read to its end."""

    changes: list[Entry] = field(default_factory=list)
    """All of them, oldest first."""
    gone: set[str] = field(default_factory=set)
    """Those that were taken back."""
    left: set[str] = field(default_factory=set)
    """Those that could not be: a plain undo passes over them."""
    undos: list[Entry] = field(default_factory=list)
    """All of them, whatever came of them."""
    undone: list[Entry] = field(default_factory=list)
    """What can be done again, the last one last."""
    ran: set[int] = field(default_factory=set)
    """Turns in which commands ran."""

    def of_path(self, path: str) -> list[Change]:
        return [each for entry in (*self.changes, *self.undos) for each in entry.changes if each.path == path]

    def standing(self) -> list[Entry]:
        return [each for each in self.changes if each.id not in self.gone]

    def add(self, entry: Entry) -> None:
        match entry.act:
            case "change":
                self.changes.append(entry)
                self.undone.clear()
            case "undo":
                self.gone.update(entry.of)
                self.left.update(entry.left)
                self.undos.append(entry)
                self.undone.append(entry)
            case "redo" if self.undone and entry.of == (self.undone[-1].id,):
                taken = self.undone.pop()
                self.gone.difference_update(taken.of)
                self.left.difference_update(taken.left)
            case "ran":
                self.ran.add(entry.turn)


@dataclass(frozen=True, slots=True)
class Account:
    folder: Path
    session: str
    seal: Seal

    @property
    def path(self) -> Path:
        return self.folder / f"{self.session}.jsonl"

    def add(self, entry: Entry, *, sync: bool = True) -> None:
        """Write an entry; durable when this returns.

        Raises:
            OSError: it is not there.
        """
        prepare(self.folder)
        append_line(self.path, sealed(asdict(entry), self.seal), sync=sync)

    def history(self) -> History:
        """Read it all; lines that were torn, or that somebody else wrote, are passed over."""
        found = History()
        for entry in self._entries():
            found.add(entry)
        return found

    def _entries(self) -> Iterator[Entry]:
        for row in sealed_rows(self.path, self.seal):
            try:
                entry = _entry(row)
            except (KeyError, TypeError, ValueError):
                continue
            if entry.session == self.session:
                yield entry


def sealed(row: Mapping[str, object], seal: Seal) -> bytes:
    text = json.dumps(row, separators=(",", ":"))
    return json.dumps({"row": text, "seal": seal.sign(text.encode())}).encode()


def sealed_rows(path: Path, seal: Seal) -> Iterator[Mapping[str, object]]:
    """Yield the lines of a file that this user's ogcode wrote; none where it is a link, gone, or closed to the user."""
    try:
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            return
        lines: Sequence[bytes] = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            outer = json.loads(line)
            text, mark = outer["row"], outer["seal"]
            row = json.loads(text) if seal.knows(text.encode(), mark) else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def _entry(row: Mapping[str, object]) -> Entry:
    given = dict[str, object](row)
    [act] = [each for each in get_args(Act) if each == given["act"]]
    changes = given["changes"]
    return Entry(
        act,
        str(given["id"]),
        str(given["session"]),
        int(str(given["turn"])),
        str(given["at"]),
        tuple(Change(**each) for each in changes) if isinstance(changes, list) else (),
        tuple(_words(given["of"])),
        tuple(_words(given["left"])),
        tuple(int(each) for each in _words(given["turns"])),
    )


def _words(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
