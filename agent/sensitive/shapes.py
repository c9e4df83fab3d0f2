"""Find secrets by the form that they are written in: key blocks, addresses with a password, headers, manifests."""

import re
from collections.abc import Iterator
from functools import cache

from ogcode.agent.sensitive.chance import surprise
from ogcode.agent.sensitive.finding import Finding

_ALWAYS = (
    ("jwt", r"()ey(?<![A-Za-z0-9]ey)[A-Za-z0-9_-]{8,}+\.ey[A-Za-z0-9_/\\-]{8,}+(?:\.[A-Za-z0-9_/\\=-]*+)*"),
    ("jwt", r"()ZXlK[A-Za-z0-9+/]{60,}+={0,2}"),
    ("password hash", r"()\$(?:2[abxy]|5|6|y|argon2id?|apr1)\$[./A-Za-z0-9$=,+-]{20,}+"),
    ("password", r"(machine\s{1,9}\S{1,200}\s{1,9}login\s{1,9}\S{1,200}\s{1,9}password\s{1,9})\S{1,200}"),
    ("password", r"(BUNDLE_[A-Z0-9_]{2,60}+[\"']?\s{0,3}[:=]\s{0,3}[\"']?)[^\s\"';&:]{1,60}:[^\s\"';&]{3,}"),
)
"""What is found whole, but for its first group."""

_ADDRESS = r"://([^\s:/@\"'<>`]{0,100}+):([^\s/\"'<>`]{3,200})@"
_BEARER_ADDRESS = r"://([\w-]{20,100})(?::x-oauth-basic)?@"
_HOOK = r"://[^\s\"'<>`)/]{1,100}+(/[^\s\"'<>`)]+)"
_USER = r"\s(?:-u|--user)[ =]{0,3}(?:\"([^\"\n]{3,200})\"|'([^'\n]{3,200})'|([^\s\"';|&]{3,200}))"
_COOKIE = r"ookie(?<=[Cc]ookie)[\"']?\s{0,3}:\s{0,3}[\"']?([^\n\"']{12,8000})"
_CRUMB = r"=([^;\s\"']{12,4000})"
_MANIFEST = r"(?im)^[ \t]*[\"']?kind[\"']?:[ \t]*[\"']?secret[\"']?[ \t\r]*$"
_HELD = r"(?m)^([ \t]*)(?:data|stringData):[ \t\r]*\n((?:\1[ \t]+[^\n]*(?:\n|\Z)|[ \t\r]*\n)+)"
_ENTRY = r"""(?xm)
    ^ [ \t]+ [\w.-]{1,100} : [ \t]+ (?: [|>] [+-]? [ \t\r]* \n [ \t]+ )? ["']?
    ([A-Za-z0-9+/]{11,}={0,2}) (?= ["']? [ \t\r]* $ )
"""
_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"
_KEY_LINES = r"(?:(?:\s|\\[nr]|[\"'+,])*[A-Za-z0-9+/=]{16,}+)*"
_KEY_LINE, _LAST_KEY_LINE = r"[A-Za-z0-9+/=]{16,}\s*", r"[A-Za-z0-9+/=]{4,}\s*"
_BLOCK = 20_000

_DEFAULTS = frozenset(
    """admin changeme example guest mysql name pass passwd password passphrase postgres pwd root secret test token user
    username xxx""".split()
)
_PLACE = r"[$%{<\[(*]|.*(?:\.\.\.|…|\*{3}|[xX]{4}|\$\{|\{\{)|(?i:your|my)[-_]|.*\(.*\)"


@cache
def _rule(shape: str) -> re.Pattern[str]:
    return re.compile(shape, re.ASCII)


def shapes(text: str) -> Iterator[Finding]:
    """Find what its form gives away."""
    yield from _key_blocks(text)
    for kind, shape in _ALWAYS:
        for match in _rule(shape).finditer(text):
            if kind != "password" or _meant(text[match.end(1) : match.end()]):
                yield Finding(kind, match.end(1), match.end())
    for match in _rule(_ADDRESS).finditer(text):
        if _meant(match[2]) and match[2] != match[1]:
            yield Finding("password", match.start(2), match.end(2))
    for match in _rule(_BEARER_ADDRESS).finditer(text):
        if any(map(str.isdigit, match[1])):
            yield Finding("token", match.start(1), match.end(1))
    if "hook" in text:
        yield from _hooks(text)
    if "curl" in text:
        yield from _users(text)
    for match in _rule(_COOKIE).finditer(text):
        for crumb in _rule(_CRUMB).finditer(text, match.start(1), match.end(1)):
            if surprise(crumb[1]) >= 8 or re.search(r"[0-9a-f]{16}", crumb[1]):
                yield Finding("cookie", crumb.start(1), crumb.end(1))
    if "ecret" in text and _rule(_MANIFEST).search(text):
        for held in _rule(_HELD).finditer(text):
            for entry in _rule(_ENTRY).finditer(text, held.start(2), held.end(2)):
                if not entry[1].islower() or "=" in entry[1]:
                    yield Finding("kubernetes secret", entry.start(1), entry.end(1))


def _key_blocks(text: str) -> Iterator[Finding]:
    """Find private keys, also those whose head or tail was cut away."""
    at = 0
    while begin := _rule(_BEGIN).search(text, at):
        end = _rule(_END).search(text, begin.end(), begin.end() + _BLOCK)
        at = end.end() if end else begin.end()
        lines = _rule(_KEY_LINES).match(text, begin.end())
        if lines and lines[0]:
            yield Finding("private key", begin.start(), max(at, lines.end()))
    at = 0
    for end in _rule(_END).finditer(text):
        start, before = end.start(), max(at, end.start() - _BLOCK)
        at = end.end()
        for piece in reversed(re.findall(r"\S+\s*", text[before:start])):
            if not re.fullmatch(_KEY_LINE if start < end.start() else _LAST_KEY_LINE, piece):
                break
            start -= len(piece)
        if start < end.start():
            yield Finding("private key", start, end.end())


def _hooks(text: str) -> Iterator[Finding]:
    """Find the paths of addresses that whoever knows them may post to."""
    for match in _rule(_HOOK).finditer(text):
        if "hook" in match[0] and any(map(_is_hook_secret, re.split(r"[/?&=@]", match[1]))):
            yield Finding("webhook", match.start(1), match.end(1))


def _is_hook_secret(part: str) -> bool:
    if re.fullmatch(r"[0-9a-f-]{32,}", part):
        return True
    return len(part) >= 16 and any(map(str.isdigit, part)) and surprise(part) >= 3


def _users(text: str) -> Iterator[Finding]:
    """Find what is given to curl as user and password."""
    for match in _rule(_USER).finditer(text):
        group = match.lastindex or 1
        user, colon, password = match[group].partition(":")
        if not _meant(match[group]):
            continue
        if colon and password and _meant(password) and password != user and not password.isdecimal():
            yield Finding("password", match.end(group) - len(password), match.end(group))
        elif colon and not password and _meant(user) and not user.isalpha():
            yield Finding("token", match.start(group), match.start(group) + len(user))


def _meant(password: str) -> bool:
    """Tell a password from a place for one, and from what everybody has."""
    return password.lower() not in _DEFAULTS and not _rule(_PLACE).match(password)
