"""Picking the sections of notes that best answer a question, within a bound."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, log

from ogcode.agent.memory.markdown import head_lines, sections
from ogcode.agent.memory.words import query_terms, searchable

WHOLE = 900
"""Characters of a note without its heading up to which it is one passage: a short exchange says little in halves."""

LONG = 700
"""Characters of one passage at most: the lines of a long section that hold the words."""

ENDS = ("Outcome", "Decisions & why")
"""Sections that answer what the words of a question find elsewhere in the note."""

_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[^\n]{1,240}(?=\s|$)\s?|[^\n]{1,240}|\n")
_STEM = 6
"""Characters by which words are taken for the same here: close enough to choose between sections."""


@dataclass(frozen=True, slots=True)
class Part:
    """A section of a note, or all of a short one."""

    note: int
    """Its place among the notes that were given."""
    section: str
    """Its heading; of all of a note, that of the section which says most."""
    text: str
    score: float


def best_parts(query: str, notes: Sequence[tuple[str, float]], characters: int) -> list[Part]:
    """Pick passages of notes (text and score, best first), at most so many characters together, best first."""
    wanted = {word[:_STEM] for term in query_terms(query)[0] for word in term.split()}
    told = [_sections(note) for note, _ in notes]
    held = [[_stems(text) for _, text in parts] for parts in told]
    every = [counted for parts in held for counted in parts]
    spread = Counter(stem for counted in every for stem in wanted & counted.keys())
    weights = {stem: log(1 + len(every) / number) for stem, number in spread.items()}
    picked = list[Part]()  # fsum below: a sum that depended on the order of a set would decide between equals by chance
    for place, ((_, score), parts) in enumerate(zip(notes, told, strict=True)):
        worth = [
            fsum(weights[stem] * counted[stem] / (counted[stem] + 1.2) for stem in weights.keys() & counted.keys())
            for counted in held[place]
        ]
        most = max(worth, default=0.0)
        if sum(len(text) for _, text in parts) <= WHOLE:
            whole = "\n\n".join(f"## {title}\n{text}" if title else text for title, text in parts if text)
            picked.append(Part(place, parts[worth.index(most)][0], whole, score))
            continue
        for (title, text), value in zip(parts, worth, strict=True):
            if share := max(value / (most or 1.0), 0.5 if title in ENDS else 0.0):
                picked.append(Part(place, title, text, score * share))
    picked.sort(key=lambda part: (-part.score, part.note))
    return list(_fitting(picked, weights, characters))


def _fitting(parts: Iterable[Part], weights: Mapping[str, float], characters: int) -> Iterator[Part]:
    """Take what fits, each text once."""
    room, seen = characters, set[str]()
    for part in parts:
        text = _around(part.text, weights)
        if text and len(text) <= room and text not in seen:
            seen.add(text)
            room -= len(text)
            yield replace(part, text=text)


def _around(text: str, weights: Mapping[str, float]) -> str:
    """Cut a long text to the lines that hold most of the words."""
    if len(text) <= (limit := LONG):
        return text
    spans = [match.span() for match in _PIECE.finditer(text, 0, 30 * LONG)]
    held = [_stems(text[start:end]).keys() & weights.keys() for start, end in spans]
    best, chosen = -1.0, (0, limit)
    for first, (start, _) in enumerate(spans):
        within = [place for place in range(first, min(first + 40, len(spans))) if spans[place][1] - start <= limit]
        worth = fsum(weights[stem] for stem in set[str]().union(*(held[place] for place in within)))
        if held[first] and worth > best:
            best, chosen = worth, (start, spans[within[-1]][1])
    start, end = chosen
    return f"{'… ' if start else ''}{text[start:end].strip()}{' …' if end < len(text) else ''}"


def _stems(text: str) -> Counter[str]:
    return Counter(word[:_STEM] for word in _WORD.findall(searchable(text).lower()))


def _sections(note: str) -> list[tuple[str, str]]:
    """List the sections of a note; what has none is one without a title."""
    lines = note.split("\n")
    found = [part for part in sections(note) if part.level == 2]
    if not found:
        return [("", "\n".join(lines[head_lines(lines) :]).strip())]
    return [(part.title, "\n".join(lines[part.start : part.end]).strip()) for part in found]
