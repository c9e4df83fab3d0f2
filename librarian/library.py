"""What one recall may open: the notes and facts in its scope, and a handle for everything that it opened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ogcode.agent.facts.fact import Fact
from ogcode.agent.index.reading import Entry, Notes
from ogcode.agent.memory.verbatim import verbatim
from ogcode.agent.memory.worked import file_digest
from ogcode.agent.rights.seal import Seal
from ogcode.agent.sensitive.secrets import scrub
from ogcode.agent.transcript import is_own
from ogcode.librarian.fence import plain

VERBATIM = "Verbatim"
SAID = 100_000
"""Characters of a request, and of an answer, that are given word for word."""

STALE = 40
"""Files of a note that are looked at."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A section of a note, or with an empty name all of it, that was shown to the model."""

    entry: Entry
    section: str

    @property
    def heading(self) -> str:
        return plain(self.section)

    @property
    def link(self) -> str:
        """What it is cited by; a name or a heading can't make it another link."""
        note = plain(self.entry.id).replace("#", "")
        return f"[[{note}#{self.heading}]]" if self.section else f"[[{note}]]"

    def is_called(self, name: str, section: str) -> bool:
        """Tell whether a model that wrote this name and heading means this one."""
        stem = name.removesuffix(".md").strip()
        names = (plain(self.entry.id), plain(self.entry.name.removesuffix(".md")))
        headings = ("", self.heading.casefold(), plain(self.entry.title).casefold() if not self.section else "")
        return stem in names and section.casefold() in headings


@dataclass(slots=True)
class Library:
    """Read-only: notes in scope, the user's own transcripts of their turns, and the hashes of the files they name."""

    notes: Notes
    sessions: Path
    top: Path
    seal: Seal
    known_secrets: tuple[str, ...] = ()
    find_facts: Callable[[], Sequence[Fact]] = tuple
    """Those in scope; read when they are first asked for."""
    opened: list[Opened] = field(default_factory=list)
    _facts: Sequence[Fact] | None = None

    @property
    def facts(self) -> Sequence[Fact]:
        if self._facts is None:
            self._facts = self.find_facts()
        return self._facts

    def open(self, entry: Entry, section: str) -> int:
        """Give what is shown a handle, the same for the same section."""
        shown = Opened(entry, section)
        if shown not in self.opened:
            self.opened.append(shown)
        return self.opened.index(shown) + 1

    def words_of(self, entry: Entry) -> str:
        """Give a turn word for word; empty where its transcript is gone, or somebody else wrote it."""
        if not entry.session_id.isalnum() or not is_own(self.sessions / f"{entry.session_id}.jsonl", self.seal):
            return ""
        said = verbatim(self.sessions, entry.session_id, entry.turn)
        if said is None:
            return ""
        return scrub(f"Request:\n{said[0][:SAID]}\n\nAnswer:\n{said[1][:SAID]}", self.known_secrets)

    def stale(self, entry: Entry) -> tuple[str, ...]:
        """Name the files that have changed since a note named them."""
        named = list(entry.files.items())[:STALE]
        return tuple(path for path, digest in named if digest and self._digest(path) != digest)

    def _digest(self, path: str) -> str:
        try:
            place = (self.top / path).resolve()
            return file_digest(place) if place.is_relative_to(self.top.resolve()) else ""
        except (OSError, ValueError, RuntimeError):  # NUL bytes; loops of links
            return ""


def marks(cited: Sequence[tuple[Entry, tuple[str, ...]]]) -> list[str]:
    """Say of each note that is cited what speaks against it."""
    told = list[str]()
    for entry, stale in cited:
        note = plain(entry.id)
        if entry.origin != "own" and not entry.fact:
            told.append(f"{note} is {entry.origin}: not, or not only, what this user's ogcode wrote")
        if entry.rewound:
            told.append(f"{note} is rewound: the user has taken that turn back")
        if stale:
            more = f" and {len(stale) - 4} more" if len(stale) > 4 else ""
            told.append(f"changed since {note}: {', '.join(map(plain, stale[:4]))}{more}")
    return told
