"""Find secrets by the name they are kept under: `API_KEY=…`, `"password": "…"`, `--token …`, `<secret>…</secret>`."""

import re
from collections.abc import Iterator
from functools import cache

from ogcode.agent.sensitive.chance import surprise
from ogcode.agent.sensitive.finding import Finding, mark
from ogcode.agent.sensitive.names import Telling, is_password, kind, telling

_NAME = r"(?<![\w.-])[\w.-]{2,64}+(?=[\\\"'`*\])]{0,4}\s{0,30}(?:[:=>,%.|?+：＝]|[sS]tr))"
_FLAG = r"--([\w-]{2,40}+) {1,3}(?=[^\s-])"
_SAID = r" (?:is|was) "
_BETWEEN = r"""(?x)
    [\\"'`*\])]{0,4}
    (?: \s{0,3} \??: \s{0,3} [A-Za-z][\w.<>|?\[\] ]{0,40}? \s{0,3} = \s{0,3} (?=["'`])
      | \s{1,3} (?: [sS]tring | str ) \s{0,3} = \s{0,3} (?=["'`])
      | \s{0,30} (?: => | [:?|.+]{0,2} ={1,3} | [:：＝] | %3[ADad] ) \*{0,2} [ \t]{0,20}
        (?: [|>][+-]? [ \t]* \n \s{0,40} )?
      | (?<=["']) \s{0,3} , \s{0,3} (?=["'])
      | (?P<element> > ) \s{0,40} )
    (?: (?: [Bb]earer | [Bb]asic | [Dd]igest | [Tt]oken | [Aa]pi[Kk]ey | SSWS | OAuth | [Kk]ey ) \  (?=[\w"']) )?
"""
_VALUE = r"""(?x)
    [bBrRuU@]{0,2}
    (?: "{1,3} (?P<double> (?: [^"\\\n] | \\. ){1,2000}+ )
      | '{1,3} (?P<single> (?: [^'\\\n] | \\. ){1,2000}+ )
      | ` (?P<back> [^`\n]{1,2000}+ )
      | \\" (?P<escaped> [^"\\\n]{1,2000}+ ) )
  | (?P<bare> (?: (?!\[secret:\ ) (?: [^\s"'`,;<>&\\] | \\(?![nrt"']) ) ){1,200}+ )
"""
_REST = r"[\w+/=.~%-]*+"
"""What is left of a value of which only the beginning was looked at."""

_SCHEME = r"[A-Z][A-Za-z-]{2,12} (?=\S{8,}$)"
_MORE_LINES = r"(?:(?:\\n|\\?\r?\n)[ \t]*[A-Za-z0-9+/]{20,}={0,2}(?![\w.-]))+"
_CALLED = (
    r"(?i)(?:name|key|id)[\\\"']{0,2}\s{0,3}[:=]\s{0,3}[\\\"']{0,2}([\w.-]{2,64})[\\\"']{0,2}[\s,]{0,40}[\\\"']{0,2}$"
)

_PLACE = r"""(?x)
    [$%<{\[(*] | \\?\{ | .{0,40} (?: \.\.\. | … | \*{3} | [xX]{4} | ([xX0-9a*.])\1{7} | <\w+> | \$\{ | \{\{ )
  | .{0,72} (?i: (?<![a-z]) (?: your | example | placeholder | change.?me | redacted | dummy | replace.?me | insert
      | todo | sample | fake ) (?![a-z]) )
"""
_CODE = r"[\w.]*[A-Za-z_]\w*\(.*|.*[\w\])]\[.*|[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+|.*\)|@[\w/.-]+"
_PATH = r"(?:[a-z][a-z0-9+.-]*://|[~.]{0,2}/|[A-Za-z]:\\).*|(?:[\w.@-]+/)+[\w.@-]*"
_WORDS = r"[-_.:/]*[^\W\d]+(?:[-_.:/+%]+[^\W\d]+)*[-_.:!?%]*"
_NUMBERED = r"(?i)(?<![a-z])(?:aes|base|ed|es|hs|http|ipv|k|md|oauth|p|rs|s|sha|tls|utf|v|x)-?\d{1,5}(?!\d)"
"""Words with a number in their name: `base64`, `sha256`."""

_NUMBER = r"[-+]?[\d_]*\.\d+(?:[eE][-+]?\d+)?|\d{1,8}"
_MADE = r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:0x)?[0-9a-f]{16,}|[0-9a-f]{8,}:[0-9a-f]{8,}"
_KINDS_OF_PASSWORD = frozenset(
    """authentication confirmation confirmed credential credentials current disabled enabled encrypted forgotten hidden
    incorrect invalid optional password passwords plaintext protected required returned undefined unchanged username
    """.split()
)


@cache
def _rule(shape: str) -> re.Pattern[str]:
    return re.compile(shape)


def assigned(text: str) -> Iterator[Finding]:
    """Find what stands behind a telling name."""
    done = 0
    for match in _rule(_NAME).finditer(text):
        name = _full_name(text, match)
        told = telling(name)
        if told and match.start() >= done and (between := _rule(_BETWEEN).match(text, match.end())):
            before = text[match.start() - 1 : match.start()]
            if (between["element"] and before != "<") or (before == "[" and mark().match(text, match.start() - 1)):
                continue
            for found in _value(text, between.end(), name, "perhaps" if "," in between[0] else told):
                done = found.end
                yield found
    for match in _rule(_FLAG).finditer(text):
        if told := telling(match[1]):
            yield from _value(text, match.end(), match[1], told)
    for match in _rule(_SAID).finditer(text):
        word = text[max(0, match.start() - 40) : match.start()].rpartition(" ")[2]
        if telling(word):
            yield from _value(text, match.end(), word, "perhaps")


def _full_name(text: str, match: re.Match[str]) -> str:
    """Add the word that a lone `key` needs, and look up whose `value` it is."""
    match match[0].lower():
        case "key" | "keys" if text[match.start() - 1 : match.start()] in (" ", "-"):
            return f"{text[max(0, match.start() - 20) : match.start() - 1].rpartition(' ')[2].lstrip('*')}_key"
        case "value":
            called = _rule(_CALLED).search(text, max(0, match.start() - 140), match.start())
            return called[1] if called else ""
    return match[0]


def _value(text: str, at: int, name: str, told: Telling) -> Iterator[Finding]:
    match = _rule(_VALUE).match(text, at)
    if match is None or match.lastgroup is None:
        return
    start, end = match.span(match.lastgroup)
    quoted = match.lastgroup != "bare"
    if quoted and (scheme := _rule(_SCHEME).match(text, start, end)):
        start = scheme.end()
    value = text[start:end] if quoted else text[start:end].rstrip(").:!?]}")
    if not _is_secret(name, value, told, quoted=quoted):
        return
    end = start + len(value)
    if len(value) >= 180 and (rest := _rule(_REST).match(text, end)):
        end = rest.end()
    if len(value) >= 40 and (more := _rule(_MORE_LINES).match(text, end)):
        end = more.end()
    yield Finding(kind(name), start, end)


def _is_secret(name: str, value: str, told: Telling, *, quoted: bool) -> bool:
    thought_up = is_password(name)
    if len(value) < (6 if thought_up else 8) or " " in value or len(set(value)) < 4 or _rule(_PLACE).match(value[:80]):
        return False
    chosen = thought_up and quoted
    ours, theirs = _letters(name), _letters(value[:80])
    same = ours == theirs or (not chosen and (ours in theirs or theirs in ours))
    unlikely = surprise(value[:100])
    if told == "perhaps":
        return not same and _is_made(value, unlikely, alone=name.lower() in ("key", "keys"))
    if unlikely < 12 and (_rule(_PATH).fullmatch(value) or (same and not value.isdecimal())):
        return False
    if unlikely < 12 and _rule(_CODE).fullmatch(value) and not chosen:
        return False
    if _rule(_WORDS).fullmatch(_rule(_NUMBERED).sub("", value)):
        return unlikely >= 12 or (chosen and value.lower() not in _KINDS_OF_PASSWORD)
    return not _rule(_NUMBER).fullmatch(value)


def _is_made(value: str, unlikely: float, *, alone: bool) -> bool:
    """Tell a value that a machine made."""
    if unlikely >= (14 if alone else 10) and (unlikely >= 20 or any(map(str.isdigit, value))):
        return len(value) >= 12 and not _rule(_PATH).fullmatch(value)
    return not alone and bool(_rule(_MADE).fullmatch(value))


def _letters(text: str) -> str:
    return _rule(r"[\W_]+").sub("", text).lower()
