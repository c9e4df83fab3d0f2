"""Find tokens that stand alone: those whose prefix says what they are, and those that only chance can have made."""

import re
from collections.abc import Iterator
from functools import cache

from ogcode.agent.sensitive.chance import RANDOM, surprise
from ogcode.agent.sensitive.finding import Finding
from ogcode.agent.sensitive.prefixes import prefixed

LONGEST = 300
"""Characters of a token that chance alone may condemn; longer ones are files."""

_CANDIDATE = r"(?<![\w~%+/=.:|-])[\w~%+/=.:|-]{14,}+"
_ODD = r"\d|[a-z][A-Z]|[A-Z]{2}[a-z]"
"""What words have not: digits, or capitals elsewhere than in front."""

_ELSEWHERE = r"""(?xm)
    ^ [ \t]* [A-Za-z0-9+/]{60,}+ \r?\n (?: [ \t]* [A-Za-z0-9+/]{60,}+ \r?\n )*+ [ \t]* [A-Za-z0-9+/]*={0,2}
  | -----BEGIN\ (?: [A-Z ]*CERTIFICATE | [A-Z ]*PUBLIC\ KEY | PGP\ MESSAGE | PGP\ SIGNATURE ) [^-]* ----- [^-]*
  | :// [^\s"'<>`)\]]* | base64, [A-Za-z0-9+/=]* | ENC\[ [^\]\n]*
"""
"""Where chance proves nothing: blocks of Base64, certificates, addresses, pictures, ciphertext."""

_HARMLESS = r"""(?x)
    (?: (?:srv)?toolu | call | msg | req | chatcmpl | cmpl | resp | run | thread | asst | file | item | step | evt | gen
      | session | sess | cus | sub | price | prod | acct | seti? | ch | in | il | batch ) [_-]
  | (?: css | jsx | jss | sc | svelte | emotion ) -
  | 0[1-9A-TV-Z][0-9A-HJKMNP-TV-Z]{24} (?![A-Za-z0-9])
  | sha\d+[-:=] | h1: | SHA256: | MD5: | AAAA[BCE][0-9A-Za-z]N | iVBORw0KGgo | /9j/ | R0lGOD | UklGR | PHN2Z
  | (?i:xn--) | _Z
"""
"""Tokens that chance made and that open nothing: ids, classes of styles, ULIDs, checksums, public keys, pictures."""

_FILE = r"(?i).*\.[a-z]{1,5}\d?"
_FOLDERS = r"(?:.*/)?[A-Z]?[a-z]{3,}(?:/.*)?"
_BASE64 = r"[A-Za-z0-9+/]{24,}={0,2}"
_PART = r"[^:=|]+=*"
_QUOTED_JOINT = r"%3[ADad]"
_SOLID = r"[A-Za-z0-9]{10}"


@cache
def _rule(shape: str) -> re.Pattern[str]:
    return re.compile(shape, re.ASCII)


def tokens(text: str) -> Iterator[Finding]:
    """Find tokens by their prefix, or because nobody can have written them."""
    stretches = _rule(_ELSEWHERE).finditer(text)
    elsewhere = next(stretches, None)
    for match in _rule(_CANDIDATE).finditer(text):
        token = match[0]
        if not _rule(_ODD).search(token):
            continue
        end = match.start() + len(token.rstrip(".:=%|"))
        if known := prefixed(token):
            yield Finding(known[0], match.start() + known[1], end)
            continue
        while elsewhere and elsewhere.end() <= match.start():
            elsewhere = next(stretches, None)
        if not (elsewhere and elsewhere.start() < match.end()) and (start := _by_chance(token)) is not None:
            yield Finding("token", match.start() + start, max(end, match.end() if token.endswith("=") else end))


def _by_chance(token: str) -> int | None:
    """Tell where in a token begins what only chance can have made."""
    if "://" in token or _rule(_HARMLESS).match(token) or _rule(_FILE).fullmatch(token):
        return None
    parts = list(_rule(_PART).finditer(_rule(_QUOTED_JOINT).sub("===", token)))
    if len(parts) > 1 and surprise(parts[0][0]) >= 6 and _is_random(token):
        return 0
    return next((part.start() for part in parts if _is_random(part[0])), None)


def _is_random(part: str) -> bool:
    if not 14 <= len(part) <= LONGEST or not _rule(_SOLID).search(part) or _rule(_HARMLESS).match(part):
        return False
    return surprise(part) >= (RANDOM if any(map(str.isdigit, part)) else 1.5 * RANDOM) and not _is_path(part)


def _is_path(part: str) -> bool:
    if "/" not in part:
        return False
    return bool(_rule(_FOLDERS).fullmatch(part)) or not ("+" in part or _rule(_BASE64).fullmatch(part))
