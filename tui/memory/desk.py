"""What the memory view needs of the rest of ogcode, and the values it shows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from ogcode.agent.facts.fact import Fact
from ogcode.agent.index.reading import Entry


class NotDone(Exception):
    """Something could not be done; one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A note, or a turn that waits for its own."""

    entry: Entry
    trouble: str = ""
    """Why there is no better note yet."""
    excerpt: str = ""
    """The line that speaks to what is searched for."""


@dataclass(frozen=True, slots=True)
class Ruled:
    """A file that people wrote: read, and never changed from here."""

    name: str
    """As people name it: `AGENTS.md`, `~/.ogcode/AGENTS.md`."""
    path: Path
    text: str
    theirs: bool
    """It stands in the repository."""


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A file in the spool that is no turn."""

    name: str
    why: str


Item = Noted | Fact | Ruled | Spoiled


def key_of(item: Item) -> str:
    """Tell items apart, also after they were read again."""
    match item:
        case Noted(entry):
            return f"note {entry.id} {'' if entry.origin != 'foreign' else entry.path}"
        case Fact(id=identity, scope=scope):
            return f"fact {scope} {identity}"
        case Ruled(name=name):
            return f"file {name}"
        case Spoiled(name=name):
            return f"spool {name}"


@dataclass(frozen=True, slots=True)
class Lead:
    """Where a note or a fact leads."""

    kind: Literal["file", "cites", "cited by", "from"]
    name: str
    """What a person reads: a path, a title."""
    note: str = ""
    """The id of a note."""
    fact: str = ""
    """The key of a fact."""
    mark: str = ""
    """`gone`, or `changed since`."""


@dataclass(frozen=True, slots=True)
class Overview:
    """All that there is."""

    notes: Sequence[Noted] = ()
    """Newest first, those of others last."""
    facts: Sequence[Fact] = ()
    rules: Sequence[Ruled] = ()
    spoiled: Sequence[Spoiled] = ()
    days: Mapping[str, int] = field(default_factory=dict)
    """Turns of each day, `2026-09-12`."""
    today: str = ""
    left: int = 0
    """Notes that are there and not listed."""
    notices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Found:
    items: Sequence[Item]
    nearest: bool = False
    """None has all the words; these have some."""


@dataclass(frozen=True, slots=True)
class Saving:
    """What was sent to the model, and what it had been with every earlier turn sent again: tokens."""

    sent: int = 0
    replay: int = 0


@lru_cache(32)
def words_of(query: str) -> re.Pattern[str] | None:
    """Make what finds the words of a query in a text: each where a word begins."""
    words = sorted({re.escape(word) for word in re.findall(r"[^\W_]+", query)}, key=len, reverse=True)
    return (
        re.compile(rf"(?<![^\W_])(?:{'|'.join(words)})|(?<=[a-z])(?:{'|'.join(words)})", re.IGNORECASE)
        if words
        else None
    )


class MemoryDesk(Protocol):
    """Where the memory view's requests go; what takes long is awaited and runs beside the screen."""

    def state(self) -> str:
        """Say what memory does: a sentence."""

    def changed(self) -> bool:
        """Tell, at once, whether files have come or gone since the overview was made."""

    async def newest(self) -> Overview:
        """Give the newest notes only, as soon as may be."""

    async def overview(self) -> Overview: ...

    async def saving(self) -> Saving: ...

    async def find(self, query: str) -> Found:
        """Search notes and facts for a query whose last word may still be typed."""

    async def text(self, item: Item) -> str:
        """Give the whole text behind an item.

        Raises:
            NotDone: it is gone, or can't be read.
        """

    async def leads(self, item: Item) -> Sequence[Lead]:
        """Name the files and notes that an item leads to, and what cites it."""

    async def note(self, name: str) -> Noted | None:
        """Find a note by its id, the start of one, or a link."""

    async def pin(self, items: Sequence[Item], *, pinned: bool) -> str:
        """Pin notes or unpin them, and say so.

        Raises:
            NotDone: not all of them.
        """

    async def forget(self, items: Sequence[Item]) -> str:
        """Put notes and facts where `undo` finds them, and say so. Raises as `pin`."""

    async def undo(self) -> str:
        """Take back what was done last, and say so. Raises as `pin`."""

    async def rescribe(self, items: Sequence[Item]) -> str:
        """Have notes written anew, or turns tried again, and say so. Raises as `pin`."""

    async def ask(self, question: str) -> str:
        """Give the librarian's answer, with links to what it rests on. Raises as `pin`."""

    def path(self, item: Item) -> Path:
        """Give the file of an item."""

    def edit(self, item: Item) -> str:
        """Have a person edit an item in their editor, on the terminal, and say what came of it. Raises as `pin`."""

    def visit(self, lead: Lead | Item) -> str:
        """Open a file itself in the user's editor, on the terminal; say what could not be done, or nothing."""

    def close(self) -> None: ...
