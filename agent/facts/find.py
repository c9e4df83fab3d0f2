"""Facts that speak to a few words, found by the words themselves."""

import re
from collections import Counter
from collections.abc import Iterable
from math import log

from ogcode.agent.facts.fact import Fact
from ogcode.agent.memory.words import query_terms, searchable

STEM = 6
"""Characters by which words are taken for the same."""

_WORD = re.compile(r"[^\W_]+")


def speaking(words: str, facts: Iterable[Fact]) -> list[tuple[float, Fact]]:
    """Give the facts that hold any of the words, the best first, each with the share of their weight that it holds.

    A word weighs the more, the fewer facts hold it; of facts that say as much, the last changed goes first.
    """
    wanted = {word[:STEM] for term in query_terms(words)[0] for word in term.split()}
    held = [(fact, wanted & _stems(f"{fact.title} {fact.given} {fact.text}")) for fact in facts]
    spread = Counter(stem for _, stems in held for stem in stems)
    weights = {stem: log(1 + len(held) / max(1, spread[stem])) for stem in wanted}
    whole = sum(sorted(weights.values())) or 1.0
    told = [(sum(sorted(weights[stem] for stem in stems)) / whole, fact) for fact, stems in held if stems]
    return sorted(told, key=lambda pair: (pair[0], pair[1].updated), reverse=True)


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in _WORD.findall(searchable(text).lower())}
