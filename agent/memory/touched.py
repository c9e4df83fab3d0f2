"""The definitions that an edit touched, found without parsing all of a file."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

NAMES = 12
"""Definitions that are named of one file."""

PLACES = 6
"""Edits of one file that are looked for."""

HEAD = 4_000
"""Characters of a new file whose definitions are named."""

NEAR = 1_500
"""Lines before and after an edit among which what stands around it is looked for."""

_ASIDE = re.compile(r"#(?!\w+ *\()|//|\w+:$")
"""Comments, directives and labels: they may stand further left than what they are in."""


@dataclass(slots=True)
class Names:
    """Names definitions as long as there is `room`: bytes that may still be parsed, at seven or so a microsecond."""

    room: int

    def of(self, path: str, text: str, written: Iterable[str]) -> tuple[str, ...]:
        """Name the definitions of a file that now hold what was written, or its first ones if that is all of it."""
        plain = [new.replace("\r\n", "\n") for new in dict.fromkeys(written)]
        whole = text.strip()
        if any(new.strip() == whole for new in plain):
            head = text if len(text) <= HEAD else text[:HEAD].rpartition("\n")[0]
            names = dict.fromkeys(self._all(path, head))
        else:
            places = (lines for new in plain if (lines := _lines(new, text)))
            names = dict.fromkeys(self._at(path, text, list(islice(places, PLACES))))
        return tuple(" ".join(name.split()) for name in islice(names, NAMES))

    def _all(self, path: str, text: str) -> list[str]:
        from ogcode.agent.grammars import definitions  # only where something was written

        return [each.name for each in islice(definitions(path, text), NAMES)] if self._pays(text) else []

    def _at(self, path: str, text: str, places: Sequence[range]) -> Iterator[str]:
        """Name the innermost definitions that hold some lines; where their surroundings make no sense, of the whole."""
        lines = text.split("\n") if places else []
        kept = sorted({line for place in places for line in (*place, *_around(lines, place))})
        frame = "\n".join(lines[line] for line in kept)
        shifted = [range(bisect(kept, place[0]), bisect(kept, place[-1]) + 1) for place in places]
        found = self._touched(path, frame, shifted)
        if any(not names and lines[place[0]][:1] in (" ", "\t") for names, place in zip(found, places, strict=True)):
            found = self._touched(path, text, [range(place[0] + 1, place[-1] + 2) for place in places]) or found
        return chain.from_iterable(found)

    def _touched(self, path: str, text: str, places: Sequence[range]) -> list[tuple[str, ...]]:
        from ogcode.agent.grammars import definitions, touched

        known = tuple(definitions(path, text, places)) if places and self._pays(text) else ()
        return [touched(known, place) for place in places]

    def _pays(self, text: str) -> bool:
        if len(text) > self.room:
            return False
        self.room -= len(text)
        return True


def _lines(new: str, text: str) -> range:
    """Tell which lines of a file, from 0, an edit has put there; none where it stands no more."""
    bare = new.strip()
    at = text.find(new) if bare else -1
    if at < 0:
        return range(0)
    first = text.count("\n", 0, at + new.index(bare[0]))
    return range(first, first + bare.count("\n") + 1)


def _around(lines: Sequence[str], place: range) -> Iterator[int]:
    """Tell which lines are the heads of what stands around a place, and which close it again.

    Sources are indented as they are nested. Lines that are deeper than one nearer to the place belong to something
    else, and are not needed to make sense of the rest.
    """
    limit, last = _depth(lines[place[0]]), lines[place[0]].lstrip()
    for line in range(place[0] - 1, max(-1, place[0] - NEAR), -1):
        bare = lines[line].lstrip()
        if not bare:
            if not limit and last[0] not in ")]}{":  # their other ends are further up
                break
        elif (depth := len(lines[line]) - len(bare)) <= limit and not _ASIDE.match(bare):
            limit, last = depth, bare
            yield line
    limit = _depth(lines[place[-1]])
    for line in range(place[-1] + 1, min(len(lines), place[-1] + NEAR)):
        bare = lines[line].lstrip()
        if bare and (depth := len(lines[line]) - len(bare)) <= limit and not _ASIDE.match(bare):
            if not depth and bare[0] not in ")]}{":
                break
            limit = depth
            yield line


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
