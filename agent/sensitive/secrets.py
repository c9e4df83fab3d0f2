"""Take secrets out of a text before it is written anywhere."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from ogcode.agent.sensitive.assigned import assigned
from ogcode.agent.sensitive.finding import Finding, mark
from ogcode.agent.sensitive.names import telling
from ogcode.agent.sensitive.shapes import shapes
from ogcode.agent.sensitive.tokens import tokens

KNOWN = "environment"
"""The kind of a secret that is known by its value."""

SHORTEST = 8
"""Characters of a value below which it is no secret to look for: it would be found in words."""


def scrub(text: str, known: Iterable[str] = ()) -> str:
    """Replace what looks like a secret, and every known one, by its kind: `[secret: github token]`.

    Scrubbing again changes nothing: what a replacement brings to light is replaced as well. Cut a text with some
    overlap, scrub it, then cut it to its size: half a secret is not recognised.
    """
    known = tuple(known)
    while found := findings(text, known):
        pieces, at = list[str](), 0
        for each in found:
            pieces += [text[at : each.start], f"[secret: {each.kind}]"]
            at = each.end
        text = "".join([*pieces, text[at:]])
    return text


def findings(text: str, known: Iterable[str] = ()) -> Sequence[Finding]:
    """Find secrets, in order and apart from each other. What is a replacement already is none."""
    found = [each for source in (_known(text, known), shapes(text), tokens(text), assigned(text)) for each in source]
    marks = mark().finditer(text)
    done = next(marks, None)
    apart = list[Finding]()
    for each in sorted(found, key=lambda each: (each.start, each.kind == "token")):
        while done and done.end() <= each.start:
            done = next(marks, None)
        if done and done.start() <= each.start:
            continue
        if apart and each.start < apart[-1].end:
            apart[-1] = Finding(apart[-1].kind, apart[-1].start, max(apart[-1].end, each.end))
        else:
            apart.append(each)
    return apart


def known_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Pick the values of an environment that are secret, in every form they are written in, longest first."""
    picked = {part for name, value in environ.items() for part in _secret_parts(name, value)}
    return tuple(sorted({form for value in picked for form in _forms(value)}, key=lambda form: (-len(form), form)))


def env_file_values(text: str) -> tuple[str, ...]:
    """Pick the secret values of a `.env` file, as `known_secrets` does those of an environment."""
    entries = dict[str, str]()
    for match in _entry().finditer(text):
        double = re.sub(r"\\(.)", lambda escaped: _ESCAPES.get(escaped[1], escaped[1]), match["double"] or "")
        entries[match["name"]] = match["single"] or double or (match["bare"] or "").rstrip()
    return known_secrets(entries)


def _secret_parts(name: str, value: str) -> Iterator[str]:
    """Give a value if it is one to be kept, line by line, and the password of an address with the whole address."""
    for match in re.finditer(r"://[^\s:/@]*:([^\s/@]+)@", value):
        yield from (part for part in (match[1], value) if len(part) >= SHORTEST)
    if telling(name) and not _is_ordinary(value):
        lines = [line.strip() for line in value.splitlines()]
        yield from (line for line in lines if len(line) >= (SHORTEST if len(lines) == 1 else 2 * SHORTEST))


def _is_ordinary(value: str) -> bool:
    """Tell words, short numbers, paths, addresses and switches from a secret."""
    if len(value) < SHORTEST or len(set(value)) < 4:
        return True
    return bool(re.fullmatch(_PLACE, value) or re.fullmatch(_WORDS, value) or (len(value) < 12 and value.isdecimal()))


def _forms(value: str) -> Iterator[str]:
    """Give a secret as it is, as an address and as JSON quote it, and in Base64 wherever in a text it begins."""
    raw = value.encode("utf-8", "replace")
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield re.sub(rb"[^\w.~-]", lambda byte: b"%" + byte[0].hex().upper().encode(), raw).decode()
    for ahead in range(3):
        coded = b64encode(b"\0" * ahead + raw).decode().rstrip("=")
        own = coded[(0, 2, 3)[ahead] : len(coded) - ((ahead + len(raw)) % 3 > 0)]
        yield from (own, own.replace("+", "-").replace("/", "_"))


def _known(text: str, known: Iterable[str]) -> Iterator[Finding]:
    for value in filter(None, known):
        start = text.find(value)
        while start >= 0:
            yield Finding(KNOWN, start, start + len(value))
            start = text.find(value, start + len(value))


@cache
def _entry() -> re.Pattern[str]:
    return re.compile(
        r"""(?mx) ^ [ \t]* (?: export [ \t]+ )? (?P<name> [A-Za-z_][\w.-]* ) [ \t]* [=:] [ \t]*
        (?: '(?P<single> [^']* )' | "(?P<double> (?: [^"\\] | \\. )* )" | (?P<bare> (?: (?! [ \t]\# ) [^\n\r] )* ) )
        """,
        re.DOTALL,
    )


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_PLACE = r"(?:[a-z][a-z0-9+.-]*://|[~.]{0,2}/|[A-Za-z]:\\)[^\n]*"
_WORDS = r"[^\W\d_]{1,11}|[^\W\d_]+(?:[-_. /,:]+[^\W\d_]+)+"
