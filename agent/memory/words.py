"""The words of a text, as they are searched for."""

import re
import unicodedata

STOP_WORDS = frozenset(
    """a about all also am an and any are as at be been but by can could did do does doing for from get got had has have
    he her here him his how i if in into is it its just let like me more most my no not now of on one only or our out
    please she should so some than that the their them then there these they this those to too up us use very was we
    were what when where which who why will with would you your""".split()
)

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"[a-z][A-Z]")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def searchable(text: str) -> str:
    """Fold a text for the index: NFC, identifiers also in parts, CJK runs as pairs."""
    text = unicodedata.normalize("NFC", text)
    parts = [
        " ".join(pieces)
        for word in set(_WORD.findall(text))
        if _HUMP.search(word) and len(pieces := split_identifier(word)) > 1
    ]
    pairs = [" ".join(_pairs(run)) for run in _CJK_RUN.findall(text)]
    return "\n".join([text, *parts, *pairs]) if parts or pairs else text


def query_terms(query: str) -> tuple[str, ...]:
    """Pick the words of a question that are worth searching for."""
    text = unicodedata.normalize("NFC", query)[:4_000]
    plain = [word for word in re.findall(r"\w+", _CJK_RUN.sub(" ", text).replace("_", " ")) if word]
    parts = [piece for word in plain if len(pieces := split_identifier(word)) > 1 for piece in pieces]
    pairs = [pair for run in _CJK_RUN.findall(text) for pair in _pairs(run)]
    folded = dict.fromkeys(word.casefold() for word in [*plain, *parts, *pairs])
    telling = [word for word in folded if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]
    return tuple(telling or folded)[:64]


def split_identifier(word: str) -> list[str]:
    """Split `retryBackoff` and `retry_backoff` into their words, lower case."""
    return [piece.lower() for piece in _CAMEL.findall(word)] if word.isascii() else [word]


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run) - 1)] or [run]
