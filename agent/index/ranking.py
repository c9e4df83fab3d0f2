"""Ranking notes for a question: BM25, with a bonus for phrases, for busy conversations, and for shared files."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from ogcode.agent.index.rows import FOREIGN, WEIGHTS
from ogcode.agent.memory.words import query_terms

PHRASE, SESSION, SHARED = 0.3, 0.3, 0.1
"""What a phrase adds, a conversation that says much about the question, and a file shared with the best notes."""

DEPTH = 400
"""Notes that get all of this; what BM25 puts behind them is not looked at."""

MANY = 2_000
"""Notes that BM25 scores at most for one set of words: it takes a microsecond or two for each."""

FEW = 20
"""Where the rarer words find no more than this, the newest notes with the common ones follow."""

Hit = tuple[int, float, str, str]
"""Key, score, session and files (JSON) of a note."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Which rows of `notes` a reader may see: a condition with its values, and what narrows the search to them."""

    where: str
    values: Mapping[str, object]
    sessions: Sequence[str] = ()
    """The conversations that it is about; empty for all."""
    oldest: int = FOREIGN
    """The smallest key that it is about."""


def ranked(connection: sqlite3.Connection, query: str, seen: Seen) -> list[tuple[int, float]]:
    """Give the keys of the notes that speak to a question, best first, with their scores."""
    words, phrases = query_terms(query)
    search = _Search(connection, seen)
    hits = {hit[0]: hit for hit in search.words(words)} if words else {}
    if not hits:
        return []
    scores = {key: score for key, score, _, _ in hits.values()}
    for key, score, _, _ in search.phrases(phrases):
        if key in scores:
            scores[key] += PHRASE * score
    best = max(scores.values())
    busy = _busy(connection, hits.values(), scores)
    for key, _, session, _ in hits.values():
        scores[key] += SESSION * best * busy.get(session, 0.0)
    for key, bonus in list(_shared(hits, scores)):
        scores[key] += SHARED * bonus
    return sorted(scores.items(), key=lambda each: (-each[1], -each[0]))


class _Search:
    """One question to one index. A word that thousands of notes hold tells little, and would cost much."""

    def __init__(self, connection: sqlite3.Connection, seen: Seen) -> None:
        self._connection = connection
        self._seen = seen
        self._common = frozenset[str]()
        sessions = [f'"{session.replace(chr(34), "")}"' for session in seen.sessions if session]
        self._within = f"session : ({' OR '.join(sessions)}) AND " if sessions else ""
        self._scoring = (
            "select key, score, session_id, files from (select rowid as number, "  # noqa: S608  # constants
            f"-bm25(words, {', '.join(map(str, WEIGHTS))}) as score from words where words match :match "
            "and rowid >= :oldest order by score desc, number desc limit :depth) "
            f"join notes on key = number where {seen.where}"
        )

    def words(self, words: Sequence[str]) -> list[Hit]:
        """Score the notes that hold any of the words.

        Where those are too many, the notes with one of the rarer words are scored, by all words; if all are common, the
        newest with all of them; and only if those are few, the newest of the others.
        """
        if self._count(_any(words)) <= MANY:
            return self._scored(_any(words))
        counts = sorted((self._count(f'"{word}"'), place, word) for place, word in enumerate(words))
        rare, room = list[str](), MANY
        for count, _, word in counts:
            if count > room:
                break
            rare.append(word)
            room -= count
        common = [word for _, _, word in counts[len(rare) :]]
        self._common = frozenset(common)
        if rare:
            found = {hit[0]: hit for hit in self._scored(_any(rare))}
            found |= {hit[0]: hit for hit in self._scored(f"({_any(rare)}) AND ({_any(common)})")}
        else:
            found = {hit[0]: hit for hit in self._newest(" AND ".join(f'"{word}"' for word in common))}
        if len(found) <= FEW:
            found = {hit[0]: hit for hit in self._newest(_any(common))} | found
        return list(found.values())

    def phrases(self, phrases: Sequence[str]) -> list[Hit]:
        """Score the notes that hold any of the phrases; those of common words alone would cost too much."""
        telling = [phrase for phrase in phrases if not self._common.issuperset(phrase.split())]
        return self._scored(_any(telling)) if telling else []

    def _newest(self, match: str) -> list[Hit]:
        nth = "select rowid from words where words match ? order by rowid desc limit 1 offset ?"
        row = self._connection.execute(nth, (self._matching(match), MANY)).fetchone()
        return self._scored(match, oldest=row[0] if row else FOREIGN)

    def _scored(self, match: str, *, oldest: int = FOREIGN) -> list[Hit]:
        narrow = {"match": self._matching(match), "oldest": max(oldest, self._seen.oldest), "depth": DEPTH}
        return self._connection.execute(self._scoring, {**self._seen.values, **narrow}).fetchall()

    def _count(self, match: str) -> int:
        """Count the notes that hold something, as far as it matters."""
        counted = "select count(*) from (select 1 from words where words match ? limit ?)"
        return int(self._connection.execute(counted, (self._matching(match), MANY + 1)).fetchone()[0])

    def _matching(self, match: str) -> str:
        return f"{self._within}({match})" if self._within else match


def _any(terms: Iterable[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


def _busy(connection: sqlite3.Connection, hits: Iterable[Hit], scores: Mapping[int, float]) -> dict[str, float]:
    """Tell how much of each conversation is about the question, from 0 to 1."""
    sums = defaultdict[str, float](float)
    for key, _, session, _ in hits:
        if session:
            sums[session] += scores[key]
    counted = (
        f"select session_id, count(*) from notes where session_id in ({', '.join('?' * len(sums))}) "  # noqa: S608
        "and pending < 2 group by session_id"
    )
    busy = {session: sums[session] / sqrt(number) for session, number in connection.execute(counted, list(sums))}
    most = max(busy.values(), default=0.0) or 1.0
    return {session: value / most for session, value in busy.items()}


def _shared(hits: Mapping[int, Hit], scores: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    """Let the five best notes speak for those that worked on the same files; a file of many notes says less."""
    best = sorted(scores, key=lambda key: (-scores[key], -key))[:5]
    for key in best:
        for file in list(json.loads(hits[key][3]))[:8]:
            named = json.dumps(file, ensure_ascii=False)
            holders = [other for other, _, _, files in hits.values() if named in files]
            yield from ((other, scores[key] / sqrt(len(holders))) for other in holders if other != key)
