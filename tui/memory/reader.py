"""The notes of one place, kept open to be read."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ogcode.agent.facts.fact import Fact
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Entry, Notes, Scope
from ogcode.agent.undo.rewound import rewound
from ogcode.tui.memory.desk import NotDone, Noted
from ogcode.tui.place import Here


class Reader:
    """Belongs to one thread, as an index does; only `changed` may be asked by others."""

    def __init__(self, here: Here, memory: Memory) -> None:
        self.here = here
        self.facts: Sequence[Fact] = ()
        """Those that were known when all was looked at last."""
        self.memory = memory
        self._notes: Notes | None = None
        self._stamps: Sequence[int] = ()
        self._read: tuple[Path, int] | None = None
        """The file that is looked at, as it was read: who edits in place leaves no trace in the folder."""

    def notes(self, *, afresh: bool = False) -> Notes:
        """Give the notes as they were when they were opened, or as they are now."""
        if self._notes is None or afresh:
            self._stamps = self._stamped()
            scope = Scope(rewound=rewound(self.here.root.store / "undo", self.here.seal))
            index, store = open_index(self.memory), self.here.root.store
            if self._notes:
                self._notes.index.close()
            self._notes = Notes(index, store, scope, trusted=self.here.trusted, now=self.here.now)
        return self._notes

    def shown(self, entry: Entry) -> str:
        """Read a note that is looked at from now on: whether it changes counts. Raises as `text`."""
        path = self.here.root.store / entry.path
        self._read = path, _stamp(path)
        return self.text(entry)

    def text(self, entry: Entry) -> str:
        """Read a note.

        Raises:
            NotDone: it is gone, or can't be read.
        """
        with suppress(OSError):
            return self.notes().text(entry)
        try:  # it may have been moved, or got its note, since it was listed
            notes = self.notes(afresh=True)
            return next(notes.text(each) for each in notes.named(entry.id))
        except (OSError, StopIteration) as error:
            raise NotDone(f"{entry.id} is gone, or can't be read") from error

    def named(self, name: str) -> Noted | None:
        """Find a note by its id, the start of one, or a link; one's own comes first."""
        near = self.notes().named(name) or self.notes(afresh=True).named(name)
        own = [entry for entry in near if entry.origin == "own"]
        return next(map(Noted, own or near), None)

    def changed(self) -> bool:
        """Tell whether files have come, gone or changed since the notes were opened."""
        return self._stamps != self._stamped() or bool(self._read and _stamp(self._read[0]) != self._read[1])

    def _stamped(self) -> Sequence[int]:
        root, home = self.here.root, self.here.home
        known = [place / name for place in (root.top, home) for name in ("MEMORY.md", "AGENTS.md")]
        return [*map(_stamp, (root.memory, root.spool, root.store / "facts", home / "facts", *known))]


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
