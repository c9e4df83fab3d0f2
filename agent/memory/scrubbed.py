"""Text on its way to disk: cut with some overlap, scrubbed, then cut to its size: no half of a secret is left."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ogcode.agent.memory.markdown import cut, left_out
from ogcode.agent.sensitive.secrets import scrub

OVERLAP = 300
"""Characters beyond a cut that are looked at: enough to know a secret by."""

_APART = " \n-\n"
"""Between texts: no rule of the scrubber reads over it, so none is excused by what stands in another text."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_HALF_AT_END = re.compile(r"\S+\Z")
_HALF_AT_START = re.compile(rf"\A(?:[A-Za-z0-9+/=_~.-]{{{OVERLAP},}}|\S{{1,{OVERLAP}}})")


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Cuts and scrubs texts; `known` are secrets that no shape tells."""

    known: tuple[str, ...] = ()
    harmless: frozenset[str] = frozenset()
    """Texts that are known to hold none."""

    @property
    def overlap(self) -> int:
        return max(OVERLAP, *map(len, self.known)) if self.known else OVERLAP

    def whole(self, text: str) -> str:
        """Scrub all of a text, as it can be stored: whole UTF-8, one kind of line end, no control characters."""
        plain = _plain(text)
        return plain if plain in self.harmless else scrub(plain, self.known)

    def all_at_once(self, texts: Iterable[str]) -> "Scrubber":
        """Give a scrubber that has looked at these texts already."""
        trial = Trial(self.known)
        for text in texts:
            trial.whole(text)
        return trial.scrubber()

    def line(self, text: str, limit: int) -> str:
        """Give the start of a text on one line, at most `limit` characters of it."""
        near = text[: 4 * (limit + self.overlap)]
        flat = " ".join(near.split())
        more = len(near) < len(text) or len(flat) > limit + self.overlap
        return cut(self._start(flat[: limit + self.overlap], more=more) + (" …" if more else ""), limit)

    def ends(self, text: str, limit: int) -> str:
        """Give a text, or its start and its end where it is longer than `limit` characters."""
        if len(text) <= limit + self.overlap:
            clean = self.whole(text)
            return clean if len(clean) <= limit else left_out(clean[: limit * 2 // 3], clean[-limit // 3 :], len(clean))
        head, tail = limit * 2 // 3, limit // 3
        start = self._start(text[: head + self.overlap], more=True)
        end = self.whole(text[-tail - self.overlap :])
        return left_out(start[:head], _HALF_AT_START.sub("", end)[-tail:], len(text))

    def _start(self, near: str, *, more: bool) -> str:
        clean = self.whole(near)
        zone = self.overlap
        return clean[:-zone] + _HALF_AT_END.sub("", clean[-zone:]) if more else clean


@dataclass(frozen=True, slots=True)
class Trial(Scrubber):
    """Cuts as a scrubber does and takes nothing out, but keeps all that would have to be looked at.

    Many short texts together take half the time that they take one by one; and most turns hold no secret.
    """

    seen: list[str] = field(default_factory=list)

    def whole(self, text: str) -> str:
        self.seen.append(_plain(text))
        return self.seen[-1]

    def scrubber(self) -> Scrubber:
        """Give a scrubber that looks again only at the texts in which there is something."""
        every = _APART.join(self.seen)
        pieces = scrub(every, self.known).split(_APART)
        same = zip(self.seen, pieces, strict=True) if len(pieces) == len(self.seen) else ()
        return Scrubber(self.known, frozenset(text for text, piece in same if text == piece))


def _plain(text: str) -> str:
    whole = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub(" ", whole)
