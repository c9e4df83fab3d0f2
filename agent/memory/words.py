"""The words of a text, as they are searched for."""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from ogcode.agent.index.dates import take_dates

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing don down during each else few for from further had has have having he her
    here hers him his how i if in into is it its just ll me might more most must my myself no nor not now of off on once
    only or other our ours out over own please re same shall she should so some such than that the their them then there
    these they this those through to too under until up us ve very was we were what when where which while who whom why
    will with would you your yours""".split()
)

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
"""Marks belong to their letters: without them most Indic words would fall apart."""

LONGEST = 4_000
"""Characters of a question that are looked at."""

TERMS = 48
"""Words, and pairs of words, that are searched for at most."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Scripts that write no spaces, or whose words take endings without end: Thai to Khmer, Chinese, Japanese, Korean."""

_RUN = re.compile(f"[{_UNSPACED}]+")
_HUMP = re.compile(r"[a-z][A-Z]")
_IDENTIFIER = re.compile(r"[A-Za-z0-9]+")
_SHAPE = bytes(
    65 if chr(code).isupper() else 97 if chr(code).islower() else 48 if chr(code).isdigit() else 32
    for code in (*range(128), *[0] * 128)
)
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def searchable(text: str) -> str:
    """Fold a text for the index: NFC, no case, and pairs of letters where no spaces are written."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    pairs = [" ".join(_pairs(run)) for run in _RUN.findall(text)]
    return "\n".join([text, *pairs]) if pairs else text


def parts(text: str) -> str:
    """List the words inside the identifiers of a text; what `_`, `/` and `.` separate is apart anyway."""
    shape = text.encode("ascii", "replace").translate(_SHAPE)  # a byte for a letter: to look for humps at C's speed
    whole, at = dict[str, None](), shape.find(b"aA")
    while at >= 0:
        end = shape.find(b" ", at)
        end = len(text) if end < 0 else end
        whole[text[shape.rfind(b" ", 0, at) + 1 : end]] = None
        at = shape.find(b"aA", end)
    return " ".join(map(_apart, whole))


def query_terms(query: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Pick what is worth searching for: telling words, and pairs of them that stand side by side.

    All of them are FTS5 strings without their quotes: words that the tokenizer leaves whole, or phrases of those.
    """
    dates, text = take_dates(unicodedata.normalize("NFC", query[:LONGEST]))
    spaced = _words(_RUN.sub(" ", text))
    pieces = [piece for word in spaced if _HUMP.search(word) for piece in split_identifier(word)]
    pairs = [pair for run in _RUN.findall(text.casefold()) for pair in _pairs(run)]
    folded = [_fold(word) for word in spaced]
    every = dict.fromkeys([*dates, *folded, *pieces, *pairs])
    telling = [word for word in every if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    phrases = [f"{first} {second}" for first, second in pairwise(folded) if STOP_WORDS.isdisjoint((first, second))]
    return tuple(telling or every)[:TERMS], tuple(dict.fromkeys(phrases))[:TERMS]


def split_identifier(word: str) -> list[str]:
    """Split `retryBackoff` and `retry_backoff` into their words, lower case."""
    return [piece.lower() for piece in _CAMEL.findall(word)] if word.isascii() else [word]


@lru_cache(4_096)
def _apart(word: str) -> str:
    return " ".join(split_identifier(word))


def _words(text: str) -> list[str]:
    """Split a text as the tokenizer does: into runs of letters, digits and their marks."""
    if text.isascii():
        return _IDENTIFIER.findall(text)
    return "".join(letter if unicodedata.category(letter)[0] in "LNM" else " " for letter in text).split()


def _fold(word: str) -> str:
    return unicodedata.normalize("NFC", word.casefold())


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]
