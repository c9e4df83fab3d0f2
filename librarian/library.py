"""What one recall may open: the notes in its scope, and a handle for everything that it opened."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ogcode.agent.memory.search import Entry, Notes
from ogcode.agent.memory.verbatim import verbatim
from ogcode.agent.secrets import scrub

VERBATIM = "Verbatim"
SAID = 100_000
"""Characters of a request, and of an answer, that are given word for word."""

STALE = 40
"""Files of a note that are looked at."""
_HANDLE = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_LINK = re.compile(r"\[\[([^\]\[#]+)(?:#([^\]\[]*))?\]\]")


@dataclass(frozen=True, slots=True)
class Opened:
    entry: Entry
    section: str

    @property
    def link(self) -> str:
        return f"[[{self.entry.id}#{self.section}]]" if self.section else f"[[{self.entry.id}]]"


@dataclass(slots=True)
class Library:
    """Read-only: notes in scope, the transcripts of their turns, and the hashes of the files that they name."""

    notes: Notes
    sessions: Path
    top: Path
    known_secrets: tuple[str, ...] = ()
    opened: list[Opened] = field(default_factory=list)

    def open(self, entry: Entry, section: str) -> int:
        """Give what is shown a handle, the same for the same section."""
        shown = Opened(entry, section)
        if shown not in self.opened:
            self.opened.append(shown)
        return self.opened.index(shown) + 1

    def words_of(self, entry: Entry) -> str:
        """Give a turn word for word; empty where its transcript is gone."""
        said = verbatim(self.sessions, entry.session_id, entry.turn)
        if said is None:
            return ""
        return scrub(f"Request:\n{said[0][:SAID]}\n\nAnswer:\n{said[1][:SAID]}", self.known_secrets)

    def cite(self, answer: str) -> tuple[str, list[Entry]]:
        """Expand handles to links, mark what was never opened, and give the notes that are cited."""
        cited = list[Entry]()

        def expand(match: re.Match[str]) -> str:
            numbers = [int(number) for number in re.findall(r"\d+", match[1])]
            return " ".join(self._link(number, cited) for number in numbers)

        def check(match: re.Match[str]) -> str:
            name, section = match[1].strip().removesuffix(".md"), (match[2] or "").strip()
            for each in self.opened:
                if name in (each.entry.id, each.entry.name.removesuffix(".md")) and section in ("", each.section):
                    cited.append(each.entry)
                    return each.link
            return f"[unverified: {name}]"

        pieces = _LINK.split(answer)
        # split() leaves text, name, section, text, …: links are checked, handles only looked for between them
        checked = [_HANDLE.sub(expand, pieces[0])]
        for link, rest in zip(_LINK.finditer(answer), pieces[3::3], strict=True):
            checked += [check(link), _HANDLE.sub(expand, rest)]
        return "".join(checked), list({entry.id: entry for entry in cited}.values())

    def _link(self, number: int, cited: list[Entry]) -> str:
        if not 1 <= number <= len(self.opened):
            return f"[unverified: {number}]"
        cited.append(self.opened[number - 1].entry)
        return self.opened[number - 1].link

    def stale(self, entries: Iterable[Entry]) -> list[str]:
        """Name the files that have changed since a note named them, a line a note."""
        lines = list[str]()
        for entry in entries:
            named = list(entry.files.items())[:STALE]
            changed = [path for path, digest in named if digest and self._digest(path) != digest]
            if changed:
                more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
                lines.append(f"changed since {entry.id}: {', '.join(changed[:4])}{more}")
        return lines

    def _digest(self, path: str) -> str:
        try:
            place = (self.top / path).resolve()
            if not place.is_relative_to(self.top.resolve()) or not place.is_file():
                return "gone"
            with place.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()[:12]
        except (OSError, ValueError, RuntimeError):  # not to be read; NUL bytes; loops of links
            return "gone"
