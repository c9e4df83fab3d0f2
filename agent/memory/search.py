"""Reading memory: what is in scope, ranked. Holds a connection that can't write."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.markdown import Section, head_lines, sections
from ogcode.agent.memory.notes import LARGEST
from ogcode.agent.memory.spool import open_job
from ogcode.agent.memory.words import query_terms, searchable

WEIGHTS = (2.0, 1.5, 1.5, 1.0)
"""Of title, topics, files and body in BM25."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which turns may be recalled."""

    sessions: Mapping[str, int] | None = None
    """Session ids and the last turn of each that belongs; None is the whole workspace."""


@dataclass(frozen=True, slots=True)
class Entry:
    path: str
    """From `.ogcode`; of a turn that waits for its note, its spool file."""
    id: str
    title: str
    topics: tuple[str, ...]
    session_id: str
    created_at: str
    turn: int
    outcome: str
    scribe: str
    origin: str
    pending: bool
    files: Mapping[str, str] = field(default_factory=dict)
    malformed: str = ""

    @property
    def name(self) -> str:
        """The file's name, as `memory_map` shows it."""
        return f"{self.id}.md" if self.pending else self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Passage:
    """A section of a note that speaks to a question."""

    entry: Entry
    section: str
    """Its heading; empty for a note without sections."""
    text: str


_COLUMNS = "path, id, title, topics, session_id, created_at, turn, outcome, scribe, origin, pending, files, malformed"
_VISIBLE = """(pending = 0 or (pending = 1 and id not in (select id from notes where pending = 0)))
    and (origin = 'own' or :trusted)"""
_NEWEST = "created_at desc, turn desc, id desc"


class Notes:
    """The notes that one reader may see: in scope, and of others only in a trusted folder."""

    def __init__(self, connection: sqlite3.Connection, store: Path, scope: Scope, *, trusted: bool) -> None:
        self._connection = connection
        self._store = store
        self._trusted = trusted
        self._scope = scope

    def entries(self, *, limit: int = -1) -> list[Entry]:
        """List the notes, newest first."""
        where, values = self._where()
        query = f"select {_COLUMNS} from notes where {where} order by {_NEWEST} limit :limit"  # noqa: S608  # constants
        return [_entry(row) for row in self._connection.execute(query, {**values, "limit": limit})]

    def find(self, query: str, *, limit: int = 20) -> list[Entry]:
        """List the notes that speak to a query, best first."""
        terms = query_terms(query)
        if not terms:
            return []
        where, values = self._where()
        weights = ", ".join(map(str, WEIGHTS))
        statement = (
            f"select {_COLUMNS} from notes_fts join notes on notes.key = notes_fts.rowid "  # noqa: S608  # constants
            f"where notes_fts match :match and {where} order by bm25(notes_fts, {weights}), {_NEWEST} limit :limit"
        )
        match = " OR ".join(f'"{term}"' for term in terms)
        return [_entry(row) for row in self._connection.execute(statement, {**values, "match": match, "limit": limit})]

    def named(self, name: str) -> list[Entry]:
        """List the notes that a name, an id or the unique start of one could mean; an exact name wins."""
        wanted = (
            name.strip().removeprefix("[[").removesuffix("]]").partition("#")[0].rpartition("/")[2].removesuffix(".md")
        )
        if not wanted:
            return []
        near = [each for each in self.entries() if each.name.startswith(wanted) or each.id.startswith(wanted)]
        exact = [each for each in near if wanted in (each.id, each.name.removesuffix(".md"))]
        return exact or near

    def text(self, entry: Entry) -> str:
        """Read a note; of a waiting turn, the note that it would get without a model.

        Raises:
            OSError: it is gone, or lies outside the memory folder.
        """
        folder = self._store / ("spool" if entry.pending else "memory")
        path = (self._store / entry.path).resolve()
        if entry.pending and not path.exists():  # the scribe has written its note meanwhile
            folder = self._store / "memory"
            path = next(folder.glob(f"{entry.id}--*.md"), path).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise FileNotFoundError(f"{entry.path} lies outside the memory folder")
        with path.open("rb") as file:
            content = file.read(LARGEST)
        if path.suffix == ".json":
            job, _ = open_job(entry.id, content)
            if not isinstance(job, Job):
                raise FileNotFoundError(str(job))
            return extract_note(job)
        return content.decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n")

    def passages(self, query: str, *, notes: int, characters: int) -> list[Passage]:
        """Pick the sections that best answer a query, within a bound."""
        terms = query_terms(query)
        ranked = [
            (place, -score, passage)
            for place, entry in enumerate(self.find(query, limit=notes))
            for score, passage in self._scored(entry, terms)
        ]
        ranked.sort(key=lambda each: (each[0] // 2, each[1]))
        kept, room = list[Passage](), characters
        for _, _, passage in ranked:
            if len(passage.text) <= room:
                kept.append(passage)
                room -= len(passage.text)
        return kept

    def _scored(self, entry: Entry, terms: tuple[str, ...]) -> list[tuple[float, Passage]]:
        try:
            lines = self.text(entry).split("\n")
        except OSError:
            return []
        parts = [part for part in sections("\n".join(lines)) if part.level == 2] or [
            Section("", 1, head_lines(lines) + 1, len(lines))
        ]
        found = list[tuple[float, Passage]]()
        for part in parts:
            text = "\n".join(lines[part.start - (0 if part.title else 1) : part.end]).strip()
            folded = searchable(text).casefold()
            score = sum(1 + min(folded.count(term[:6]), 4) / 8 for term in terms if term[:6] in folded)
            if text and (score or part.title == "Outcome"):
                found.append((score, Passage(entry, part.title, text[:1_800])))
        return found

    def _where(self) -> tuple[str, dict[str, object]]:
        values: dict[str, object] = {"trusted": self._trusted}
        if self._scope.sessions is None:
            return _VISIBLE, values
        parts = list[str]()
        for number, (session, last) in enumerate(self._scope.sessions.items()):
            parts.append(f"(session_id = :session{number} and turn <= :turn{number})")
            values |= {f"session{number}": session, f"turn{number}": last}
        return f"{_VISIBLE} and ({' or '.join(parts) or '0'})", values


def _entry(row: tuple[object, ...]) -> Entry:
    path, note, title, topics, session, created, turn, outcome, scribe, origin, pending, files, malformed = row
    return Entry(
        path=str(path),
        id=str(note),
        title=str(title),
        topics=tuple(json.loads(str(topics))),
        session_id=str(session),
        created_at=str(created),
        turn=int(str(turn)),
        outcome=str(outcome),
        scribe=str(scribe),
        origin=str(origin),
        pending=bool(pending),
        files=json.loads(str(files)),
        malformed=str(malformed),
    )
