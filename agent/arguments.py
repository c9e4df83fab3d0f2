"""The arguments of a tool call as a model wrote them: mended where they mean one thing only, else told as broken."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from ogcode.agent.model import ToolSpec
from ogcode.agent.turn import ToolCall

BROKEN = "INVALID_JSON"
"""The key under which a model sees arguments of its own that are no JSON; a server takes nothing but an object."""
_SHOWN = 300
"""Characters of broken arguments that are shown again, of their beginning and of their end."""

_PIECE = (
    r"""(?s)(?P<blank>\s+)|(?P<double>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<single>'[^'\\]*+(?:\\.[^'\\]*+)*+')"""
    r"""|(?P<mark>[{}\[\]:,])|(?P<number>-?\d[\w.+-]*+)|(?P<word>[A-Za-z_$][\w$-]*+)"""
)
_WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_ESCAPE = r"(?s)\\(.)"
_ESCAPE_OR_QUOTE = r'(?s)\\.|"'
_OF_PATTERNS = frozenset(r"dswDSWBAZ.()[]{}|+*?^")
"""After a backslash these mean nothing to JSON, and to those who write them but one thing: a regular expression."""


class Unreadable(ValueError):
    """The text is no JSON, or could be meant in more than one way."""


def read(text: str) -> dict[str, object]:
    """Read one JSON object.

    Mended is what has one meaning only: trailing commas, line feeds in strings, single quotes, the constants of Python,
    keys without quotes, a backslash of a regular expression, closing brackets too many, an object inside a string.
    A missing end never is: nobody knows what else was to come.

    Raises:
        Unreadable: with what is wrong, and where.
    """
    value = value_of(text) if text.strip() else {}
    if isinstance(value, str):
        value = value_of(value)
    if not isinstance(value, dict):
        raise Unreadable(f"{kind(value)} instead of an object")
    return value


def value_of(text: str) -> object:
    """Read any JSON value, mended as `read` says."""
    try:
        return _decoded(text)
    except Unreadable as error:
        if (mended := _mended(text)) is None:
            raise
        try:
            return _decoded(mended)
        except Unreadable:
            raise error from None


def mended(call: ToolCall) -> ToolCall:
    """Give a call arguments that are JSON if they can be read at all; what is JSON stays as it is."""
    try:
        return _with(call, read(call.arguments))
    except Unreadable:
        return call


def sendable(call: ToolCall) -> ToolCall:
    """Give a call as it goes into a history: nothing malformed is ever sent again."""
    return _with(call, shown(call.arguments))


def shown(text: str) -> dict[str, object]:
    """Give arguments as a model sees its own again: always an object, and broken ones never as if they were none."""
    try:
        return read(text)
    except Unreadable:
        return {BROKEN: f"{text[:_SHOWN]} […] {text[-_SHOWN:]}" if len(text) > 2 * _SHOWN else text}


def kind(value: object) -> str:
    """Say what a JSON value is, with its article."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def fits(given: Mapping[str, object], spec: ToolSpec) -> bool:
    """Tell whether a tool takes arguments of these names, and needs no others."""
    known, needed = spec.parameters.get("properties"), spec.parameters.get("required")
    lacking = set(needed if isinstance(needed, list) else ()) - given.keys()
    return not lacking and isinstance(known, dict) and given.keys() <= known.keys()


def fitting(given: Mapping[str, object], specs: Iterable[ToolSpec]) -> list[str]:
    """Name the tools that take arguments of these names; nothing fits none."""
    return [spec.name for spec in specs if given and fits(given, spec)]


def no_such_tool(call: ToolCall, specs: Sequence[ToolSpec]) -> str:
    """Tell a model that a tool is not there, which ones are, and which of them take what it gave."""
    try:
        meant = fitting(read(call.arguments), specs)
    except Unreadable:
        meant = []
    hint = f"; {' and '.join(meant)} take{'s' if len(meant) == 1 else ''} these arguments" if meant else ""
    return f"there is no tool named {call.name}{hint}; there are {', '.join(spec.name for spec in specs)}"


def signature(spec: ToolSpec) -> str:
    """Write what a tool takes on one line: `read(path: string, start_line?: integer)`."""
    properties, required = spec.parameters.get("properties"), spec.parameters.get("required")
    needed = required if isinstance(required, list) else []
    parts = [
        f"{name}{'' if name in needed else '?'}: {_type(each)}"
        for name, each in (properties.items() if isinstance(properties, dict) else ())
    ]
    return f"{spec.name}({', '.join(parts)})"


def _with(call: ToolCall, given: dict[str, object]) -> ToolCall:
    try:
        same = json.loads(call.arguments) == given
    except (ValueError, RecursionError):
        same = False
    return call if same else replace(call, arguments=json.dumps(given, ensure_ascii=False))


def _type(schema: object) -> str:
    if not isinstance(schema, dict):
        return "any"
    choices = schema.get("enum")
    kind = "|".join(map(str, choices)) if isinstance(choices, list) else str(schema.get("type") or "any")
    return f"{kind} = {schema['description']}" if schema.get("description") else kind


def _decoded(text: str) -> object:
    start = len(text) - len(text.lstrip())
    try:
        value, end = LENIENT.raw_decode(text, start)
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip())
        what = "it ends before it is complete" if cut else f"{error.msg} in line {error.lineno}, column {error.colno}"
        raise Unreadable(what) from error
    except RecursionError as error:
        raise Unreadable("it is nested too deeply") from error
    if rest := text[end:].strip(" \t\r\n}]"):
        raise Unreadable(f"there is more after its end: {rest[:40]!r}")
    return value


def _mended(text: str) -> str | None:
    """Write tolerable JSON as strict JSON; None where a part of it could be meant in several ways."""
    written, place, pattern = list[str](), 0, re.compile(_PIECE)
    while place < len(text):
        token = pattern.match(text, place)
        if token is None:
            return None
        place = token.end()
        piece: str | None = token[0]
        match token.lastgroup:
            case "blank":
                continue
            case "double":
                piece = _escaped(token[0])
            case "single":
                piece = _escaped(re.sub(_ESCAPE_OR_QUOTE, _requoted, token[0][1:-1]).join('""'))
            case "word":
                key = written[-1:] in (["{"], [","]) and re.compile(r"\s*:").match(text, place)
                piece = f'"{token[0]}"' if key else _WORDS.get(token[0])
            case "mark" if token[0] in "}]" and written[-1:] == [","] and written[-2:-1] not in (["{"], ["["], [","]):
                written.pop()
        if piece is None:
            return None
        written.append(piece)
    return " ".join(written)


def _requoted(found: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(found[0], found[0])


def _escaped(string: str) -> str | None:
    """Double the backslashes of a string whose only escapes are those of a regular expression."""
    escapes = set(re.findall(_ESCAPE, string)) - {'"'}
    if not escapes & _OF_PATTERNS:
        return string
    if not escapes <= _OF_PATTERNS:
        return None
    return re.sub(_ESCAPE, lambda found: found[0] if found[1] == '"' else f"\\{found[0]}", string)


def _unlike(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict[str, object]()
    for key, value in pairs:
        if key in made and made[key] != value:
            raise Unreadable(f"'{key}' is given twice")
        made[key] = value
    return made


def _no_number(word: str) -> NoReturn:
    raise Unreadable(f"{word} is no JSON")


LENIENT = json.JSONDecoder(strict=False, object_pairs_hook=_unlike, parse_constant=_no_number)
"""Takes line feeds in strings, but neither a key with two values nor a number that is none."""
