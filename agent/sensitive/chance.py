"""Tell what chance made from what people wrote: by how unlikely its pairs of neighbouring characters are."""

import re
import string
from functools import cache
from itertools import pairwise

RANDOM = 20.0
"""Surprise from which a bare token counts as made by chance; one name of ten thousand in source code has it."""

_FOLLOWERS = (
    "abcdgilmnprstuvy baelou caehiklortu dadeiors eacdefglmnpqrstvxy faefior geirs haeiot iacdefglmnoprstvz keis "
    "ladeilostu mabeimops nacdefgikostv oabcdgklmnoprstuvw paeiloprtu qu racdegikmnorstvy sacehilopstuy tacehioprstuy "
    "ueilmnprst vaei wei xt yp zen"
)
"""A letter, then the letters that follow it in the 200 commonest pairs of names in source code and documentation."""

_HEX = re.compile(r"(?<![A-Za-z0-9])(?:0x)?[0-9a-fA-F]{4,}(?![A-Za-z0-9])")


def surprise(token: str) -> float:
    """Weigh the most unlikely stretch of a token, in bits. Numbers, commit ids, UUIDs and hashes weigh nothing."""
    weights, most, stretch = _weights(), 0.0, 0.0
    plain = _HEX.sub("-", token)
    for pair in map("".join, pairwise(plain)):
        stretch = max(0.0, stretch + weights.get(pair, -1.0))
        most = max(most, stretch)
    return most


@cache
def _weights() -> dict[str, float]:
    common = {group[0] + letter for group in _FOLLOWERS.split() for letter in group[1:]}
    every = string.ascii_letters + string.digits
    return {one + two: _weight(one, two, common) for one in every for two in every}


def _weight(one: str, two: str, pairs: set[str]) -> float:
    """Say how much likelier a pair is where chance made it: log2, measured and rounded. `xx` and `ef` are typed."""
    common = (one + two).lower() in pairs
    match one.isalpha(), two.isalpha():
        case _ if ord(two) - ord(one) in (0, 1, 32, -32):
            return -2.5 if one.isalpha() else 0.0
        case True, True if one.islower() == two.islower():
            return -2.5 if common else 2.0
        case True, True if one.islower():
            return 1.0 if common else 3.0
        case True, True:
            return 0.0 if common else 4.0
        case False, False:
            return 0.3
        case _:
            return 3.0
