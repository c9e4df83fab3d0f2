"""Dates as words of their own kind, so that a day can be asked for and no number in a text is taken for one."""

import re

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
