"""Dates as words of their own kind, so that a day can be asked for and no number in a text is taken for one."""

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from itertools import islice

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_NAMED = "january february march april may june july august september october november december".split()
_NAME = "|".join([*_NAMED, "sept", *(short for short in _MONTHS if short != "may")])
_DAY = r"(?P<day{0}>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year{0}>(?:19|20)\d\d)"
_DATE = re.compile(
    "|".join(
        (
            r"(?<![\w-])(?P<year0>(?:19|20)\d\d)-(?P<month0>0[1-9]|1[0-2])(?:-(?P<day0>0[1-9]|[12]\d|3[01]))?(?![\d-])(?:T[\d:.]+Z?)?",
            rf"\b{_DAY.format(1)}(?: of)? (?P<name1>{_NAME})\.?(?:,? {_YEAR.format(1)})?\b",
            rf"\b(?P<name2>{_NAME})\.? {_DAY.format(2)}\b(?:,? {_YEAR.format(2)}\b)?",
            rf"\b(?P<name3>{_NAME})\.?,? {_YEAR.format(3)}\b",
            rf"\b(?:in|of|last|since|during) (?P<name4>{_NAME})\b(?!,? (?:19|20)\d\d)",
        )
    ),
    re.IGNORECASE,
)

DAYS = 14
"""Days and months that the relative dates of a question stand for at most."""

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = "no a two three four five six seven eight nine ten eleven twelve".split()
_RELATIVE = re.compile(
    rf"""\b(?: (?P<before>day\ before\ )? yesterday | (?P<today>today | this\ (?:morning|afternoon|evening))
    | last\ night
    | (?P<number>\d{{1,3}}|an|{"|".join(_NUMBERS[1:])}|a\ couple\ of)\ (?P<unit>day|week|month)s?\ ago
    | (?P<which>this|last|past|previous)\ (?P<span>week|month|year)
    | (?:on|last|past|since|this)\ (?P<weekday>{"|".join(_WEEKDAYS)}) )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def date_words(moment: str) -> str:
    """Give the words that a note of a moment (ISO 8601) is found by: its day and month, with and without the year."""
    year, month, day = moment[:4], moment[5:7], moment[8:10]
    return f"d{year}{month}{day} d{year}{month} on{month}{day} in{month}"


def take_dates(query: str) -> tuple[tuple[str, ...], str]:
    """Take the dates out of a question: the words that they are found by, and the question without them."""
    found = dict[str, None]()

    def taken(match: re.Match[str]) -> str:
        given = {name.rstrip("0123456789"): value for name, value in match.groupdict().items() if value}
        month = given.get("month") or f"{_MONTHS.index(given['name'][:3].lower()) + 1:02}"
        day = f"{int(given['day']):02}" if "day" in given else ""
        if year := given.get("year"):
            found[f"d{year}{month}{day}"] = None
        else:
            found[f"on{month}{day}" if day else f"in{month}"] = None
        if day:
            written = match[0][:10] if match["day0"] else match[0]
            found[" ".join(re.findall(r"[a-z\d]+", written.lower()))] = None  # as a text may have it
        return given.get("name", " ")  # numbers alone would match anything

    rest = _DATE.sub(taken, query)
    return tuple(found), rest


def with_days(query: str, now: datetime) -> str:
    """Put before a question the days or months that it means: `yesterday`, `last week`, `two months ago`, `on Monday`.

    Days are those of the asker's clock; notes are dated in UTC, so that a day can be two of theirs.
    """
    named = (each for match in _RELATIVE.finditer(query) for each in _meant(match, now))
    return " ".join([*islice(dict.fromkeys(named), DAYS), query])


def _meant(match: re.Match[str], now: datetime) -> Iterator[str]:
    today = now.date()
    unit = (match["unit"] or match["span"] or "day").lower()
    if match["weekday"]:
        back = (today.weekday() - _WEEKDAYS.index(match["weekday"].lower()) - 1) % 7 + 1
    elif match["unit"]:
        back = _number(match["number"].lower())
    else:
        back = 0 if match["today"] or (match["which"] or "").lower() == "this" else 2 if match["before"] else 1
    try:
        match unit:
            case "day":
                yield from _days(today - timedelta(back), 1, now)
            case "week":
                yield from _days(today - timedelta(today.weekday() + 7 * back), 7, now)
            case "month":
                yield _month(today.year * 12 + today.month - 1 - back)
            case "year":
                yield from (_month((today.year - back) * 12 + month) for month in range(12))
    except (OverflowError, ValueError):  # before there were dates
        return


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else {"an": 1, "a couple of": 2}.get(text) or _NUMBERS.index(text)


def _days(first: date, count: int, now: datetime) -> Iterator[str]:
    """Name the days, in UTC, in which so many days of the clock of `now` lie."""
    offset = now.utcoffset() or timedelta()
    start = datetime.combine(first, time()) - offset
    end = start + timedelta(count) - timedelta(seconds=1)
    yield from (f"{start.date() + timedelta(day)}" for day in range((end.date() - start.date()).days + 1))


def _month(number: int) -> str:
    return f"{number // 12:04}-{number % 12 + 1:02}"
