"""Reading memory: what is in scope, ranked. Holds a connection that can't write."""

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from ogcode.agent.index.begun import begun, citing
from ogcode.agent.index.cache import ROTTEN, Index
from ogcode.agent.index.conversations import LAST, VISIBLE, Conversation, conversations, latest_of_all, topics
from ogcode.agent.index.dates import with_days
from ogcode.agent.index.passages import best_parts
from ogcode.agent.index.ranking import Seen, ranked
from ogcode.agent.index.rows import FOREIGN
from ogcode.agent.memory.beneath import read_beneath
from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.notes import LARGEST
from ogcode.agent.memory.spool import open_job

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which turns may be recalled."""

    sessions: Mapping[str, int] | None = None
    """Session ids and the last turn of each that belongs; None is the whole workspace."""
    rewound: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Turns that were taken out of their conversations: outside of these, and last in the workspace."""


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
    rewound: bool = False
    """The user has taken the turn out of its conversation."""
    fact: bool = False
    """It is no note but a fact; its origin is the file that it stands in."""
    pinned: bool = False

    @property
    def name(self) -> str:
        """The file's name, as `memory_map` shows it; of a fact its id."""
        if self.fact:
            return self.id
        return f"{self.id}.md" if self.pending else self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Passage:
    """A section of a note that speaks to a question."""

    entry: Entry
    section: str
    """Its heading, of a short note that of its best section; empty for a note without sections."""
    text: str
    """What the section says, around the words of the question; of a short note all that it says."""


_LAST = 1e-6
"""What the score of a turn that is out of its conversation counts."""

_COLUMNS = (
    "path, id, title, topics, session_id, created_at, turn, outcome, scribe, origin, pending, files, malformed, pinned"
)
_OF_SESSIONS = "(origin = 'own' or (origin = 'edited' and id like '%--' || substr(session_id, 1, 8)))"
"""Nobody else's note is a turn of this user's conversations, whatever it claims."""


def _sound(ask: Callable[Concatenate["Notes", P], R]) -> Callable[Concatenate["Notes", P], R]:
    """Ask again, of an index made anew, where the one on the disk turns out to be rotten; what fails twice is not."""

    @wraps(ask)
    def asked(notes: "Notes", /, *given: P.args, **named: P.kwargs) -> R:
        try:
            return ask(notes, *given, **named)
        except ROTTEN as error:
            notes.index.renew(error)
        return ask(notes, *given, **named)

    return asked


class Notes:
    """The notes that one reader may see: in scope, and of others only in a trusted folder."""

    def __init__(
        self,
        index: Index,
        store: Path,
        scope: Scope,
        *,
        trusted: bool,
        now: Callable[[], datetime] | None = None,  # without it `yesterday` is a word like others
    ) -> None:
        self.index = index
        self._now = now
        self._store = store
        self._trusted = trusted
        self._scope = scope

    @_sound
    def count(self) -> int:
        """Count the notes."""
        where, values = self._where()
        query = f"select count(*) from notes where {where}"  # noqa: S608  # constants
        return int(self.index.connection.execute(query, values).fetchone()[0])

    @_sound
    def entries(self, *, session: str | None = None, limit: int = -1) -> list[Entry]:
        """List the notes, of one conversation or of all, newest first."""
        condition = "" if session is None else "session_id = :session"
        return self._entries(condition, {"session": session}, limit=limit)

    @_sound
    def find(self, query: str, *, session: str | None = None, limit: int = 20) -> list[Entry]:
        """List the notes, of one conversation or of all, that speak to a query, best first."""
        return [entry for entry, _ in self._found(query, limit, session)]

    @_sound
    def begun(self, query: str, *, limit: int = 200) -> list[Entry]:
        """List the notes that hold all words of a query, the last of which may still be typed, best first."""
        where, values = self._where()
        query = with_days(query, self._now()) if self._now else query
        return self._of_keys(begun(self.index.connection, query, Seen(where, values), limit))

    @_sound
    def citing(self, note: str, *, limit: int = 50) -> list[Entry]:
        """List the notes whose text has the id of a note, newest first."""
        where, values = self._where()
        return self._of_keys(citing(self.index.connection, note, Seen(where, values), limit))

    @_sound
    def named(self, name: str) -> list[Entry]:
        """List the notes that a name, an id or the unique start of one could mean; an exact name wins."""
        wanted = (
            name.strip().removeprefix("[[").removesuffix("]]").partition("#")[0].rpartition("/")[2].removesuffix(".md")
        )
        wanted = wanted.encode("utf-8", "replace").decode()  # SQLite takes no lone surrogates
        if not wanted:
            return []
        near = self._entries("name >= :wanted and name < :behind", {"wanted": wanted, "behind": f"{wanted}{LAST}"})
        exact = [each for each in near if wanted in (each.id, each.name.removesuffix(".md"))]
        return exact or near

    @_sound
    def oddly_named(self) -> list[Entry]:
        """List the notes whose names may be shown otherwise: not of letters, digits and dashes alone, or long."""
        return self._entries("(name glob '*[^-._0-9A-Za-z]*' or length(name) > 100)")

    def text(self, entry: Entry) -> str:
        """Read a note; of a waiting turn, the note that it would get without a model.

        Raises:
            OSError: it is gone, or something that is no note stands in its place.
        """
        path = entry.path
        try:
            content = read_beneath(self._store, path, LARGEST)
        except FileNotFoundError:
            written = next((self._store / "memory").glob(f"{entry.id}--*.md"), None) if entry.pending else None
            if written is None:
                raise
            path = f"memory/{written.name}"  # the scribe has written the note meanwhile
            content = read_beneath(self._store, path, LARGEST)
        if path.endswith(".json"):
            job, _ = open_job(entry.id, content)
            if not isinstance(job, Job):
                raise FileNotFoundError(str(job))
            return extract_note(job)
        return content.decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n")

    @_sound
    def passages(self, query: str, *, notes: int = 24, characters: int) -> list[Passage]:
        """Pick the sections of the best notes that best answer a query, within a bound."""
        found = list[tuple[Entry, str, float]]()
        for entry, score in self._found(query, notes):
            with contextlib.suppress(OSError):
                found.append((entry, self.text(entry), score))
        parts = best_parts(query, [(text, score) for _, text, score in found], characters)
        return [Passage(found[part.note][0], part.section, part.text) for part in parts]

    def conversations(self, *, limit: int = -1) -> list[Conversation]:
        """List the conversations, the last active first."""
        return self.latest_conversations(limit)[0]

    @_sound
    def latest_conversations(self, limit: int) -> tuple[list[Conversation], int]:
        """List the last active conversations, and count them all."""
        where, values = self._where()
        if self._scope.sessions is None:
            return latest_of_all(self.index.connection, where, values, limit)
        return conversations(self.index.connection, where, values, limit=limit)

    @_sound
    def tagged(self, tag: str) -> list[Conversation]:
        """List the conversations that a tag or the start of one could mean; one's own win, then an exact one."""
        wanted = tag.strip().strip("/").encode("utf-8", "replace").decode()
        if not wanted:
            return []
        where, values = self._where()
        named = "(session_id = :unnamed or (session_id >= :wanted and session_id < :behind))"
        given = {"wanted": wanted, "behind": f"{wanted}{LAST}", "unnamed": "" if wanted == "unnamed" else wanted}
        near, _ = conversations(self.index.connection, where, {**values, **given}, condition=named)
        near = [each for each in near if not each.foreign] or near
        exact = [each for each in near if wanted in (each.session_id, each.tag)]
        return exact or near

    @_sound
    def topics(self, session: str) -> tuple[str, ...]:
        """Name what the newest notes of a conversation are about."""
        where, values = self._where()
        return topics(self.index.connection, session, where, values)

    def _found(self, query: str, limit: int, session: str | None = None) -> list[tuple[Entry, float]]:
        where, values = self._where()
        sessions = tuple(self._scope.sessions or ())
        if session is not None:
            where, values, sessions = f"session_id = :session and {where}", {**values, "session": session}, (session,)
        query = with_days(query, self._now()) if self._now else query
        best = ranked(self.index.connection, query, Seen(where, values, sessions, FOREIGN if self._trusted else 0))
        if self._scope.rewound:
            taken = self.index.connection.execute(f"select key from notes where {self._out}")  # noqa: S608  # constants
            out = {key for (key,) in taken}
            best = [(key, _LAST * score if key in out else score) for key, score in best]
            best.sort(key=lambda each: each[0] in out)
        best = best[: None if limit < 0 else limit]
        entries = self._of_keys([key for key, _ in best])
        return list(zip(entries, (score for _, score in best), strict=True))

    def _of_keys(self, keys: Sequence[int]) -> list[Entry]:
        given = ", ".join(map(str, keys))
        rows = self.index.connection.execute(f"select key, {_COLUMNS} from notes where key in ({given})")  # noqa: S608
        entries = {row[0]: self._entry(row[1:]) for row in rows}
        return [entries[key] for key in keys]

    def _entries(
        self, condition: str = "", given: Mapping[str, object] | None = None, *, limit: int = -1
    ) -> list[Entry]:
        """List notes in the order of their keys; where a condition has an index, that is what narrows them down."""
        where, values = self._where()
        narrow = f"{condition} and {where} order by +key desc" if condition else f"{where} order by key desc"
        if self._scope.rewound:
            narrow = narrow.replace(" order by ", f" order by {self._out}, ")
        query = f"select {_COLUMNS} from notes where {narrow} limit :limit"  # noqa: S608  # constants
        rows = self.index.connection.execute(query, {**values, **(given or {}), "limit": limit})
        found = [self._entry(row) for row in rows]
        found.sort(key=lambda entry: (entry.origin != "foreign", entry.created_at, entry.turn, entry.id), reverse=True)
        found.sort(key=lambda entry: entry.rewound)
        return found

    def _where(self) -> tuple[str, dict[str, object]]:
        values: dict[str, object] = {"trusted": self._trusted}
        if self._scope.sessions is None:
            return VISIBLE, values
        parts = list[str]()
        for number, (session, last) in enumerate(self._scope.sessions.items()):
            parts.append(f"(session_id = :session{number} and turn <= :turn{number})")
            values |= {f"session{number}": session, f"turn{number}": last}
        return f"{VISIBLE} and {_OF_SESSIONS} and ({' or '.join(parts) or '0'}) and not {self._out}", values

    @property
    def _out(self) -> str:
        """Give the condition for a turn that is out of its conversation; nobody else's note is one."""
        named = [
            f"(session_id = '{session}' and turn in ({', '.join(map(str, sorted(turns)))}))"
            for session, turns in self._scope.rewound.items()
            if session.isalnum()
        ]
        return f"({_OF_SESSIONS} and ({' or '.join(named)}))" if named else "0"

    def _entry(self, row: tuple[object, ...]) -> Entry:
        entry = _entry(row)
        out = entry.turn in self._scope.rewound.get(entry.session_id, ()) and entry.origin != "foreign"
        return replace(entry, rewound=True) if out else entry


def _entry(row: tuple[object, ...]) -> Entry:
    path, note, title, topics, session, created, turn, outcome, scribe, origin, pending, files, malformed, pinned = row
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
        pinned=bool(pinned),
    )
