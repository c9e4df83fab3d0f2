"""Tool calls that arrive as text: found when they are the whole answer, and never shown as prose."""

import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence

from ogcode.agent.fit import size
from ogcode.agent.model import Delta, Finished, Options, Restarted, Text, ToolSpec
from ogcode.agent.models.around import Around
from ogcode.agent.turn import Message, ToolCall, Usage

_Found = tuple[list[tuple[str, dict[str, object]]], str]
"""Calls at the start of a text, and the text after them."""

_FENCE = re.compile(r"```(?:json|tool_call|xml)?[ \t]*\n\s*", re.IGNORECASE)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>\s*(?=<parameter=|\Z)", re.DOTALL)
_KEYS = ("name", "arguments", "parameters", "function", "type", "id")
_STARTS = ("```json", "```tool_call", "```xml", "```\n", "<tool_call", "<function=")
_DECODER = json.JSONDecoder(strict=False)  # small models put line feeds into strings


class Recovering(Around):
    """A model whose calls are calls, also when it writes them as text."""

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        held, holding, native = "", bool(tools), False
        async for delta in self._model.stream(messages, tools, options=options):
            match delta:
                case Text(piece) if holding:
                    held += piece
                    if "\n" in piece and (repeated := before_repeat(held, tools)):
                        # A small model that writes calls may never stop; what it repeats was already said.
                        for call in repeated:
                            yield call
                        yield Finished("stop", Usage(size(messages, tools), len(held) // 4))
                        return
                    if may_be_calls(held):
                        continue
                    delta, held, holding = Text(held), "", False
                case ToolCall():
                    native = True
                case Restarted():
                    held, holding, native = "", bool(tools), False
                case Finished(reason, _) if held:
                    found = calls_in(held, tools) if reason == "stop" and not native else ()
                    for call in found:
                        yield call
                    if not found:
                        yield Text(held)
            yield delta


def calls_in(text: str, tools: Sequence[ToolSpec]) -> tuple[ToolCall, ...]:
    """Read a text that is nothing but calls of tools that were offered; anything else gives none."""
    found, rest = _leading(text)
    return () if rest else _offered(found, tools)


def before_repeat(text: str, tools: Sequence[ToolSpec]) -> tuple[ToolCall, ...]:
    """Read the calls at the start of a text up to the first that is there twice; none where none is."""
    found, _ = _leading(text)
    place = next((place for place, each in enumerate(found) if each in found[:place]), 0)
    return _offered(found[:place], tools)


def _leading(text: str) -> _Found:
    found, rest = list[tuple[str, dict[str, object]]](), text.strip()
    while rest and (part := _any(rest)):
        found += part[0]
        rest = part[1].lstrip()
    return found, rest


def _offered(found: Sequence[tuple[str, dict[str, object]]], tools: Sequence[ToolSpec]) -> tuple[ToolCall, ...]:
    names = {spec.name for spec in tools}
    if any(name not in names for name, _ in found):
        return ()
    return tuple(
        ToolCall(f"call_{place}", name, json.dumps(arguments, ensure_ascii=False))
        for place, (name, arguments) in enumerate(found, 1)
    )


def may_be_calls(text: str) -> bool:
    """Tell whether what has come so far may still turn out to be nothing but calls."""
    start = text.lstrip()
    if fence := _FENCE.match(start):
        return not (inner := start[fence.end() :]) or may_be_calls(inner)
    if start[:1] == "[":
        return not (inner := start[1:].lstrip()) or (inner[0] == "{" and may_be_calls(inner))
    if start[:1] == "{":
        key = start[1:].lstrip()
        return any(f'"{known}"'.startswith(key[: len(known) + 2]) for known in _KEYS)
    return any(known.startswith(start[: len(known)]) for known in _STARTS)


def _any(text: str) -> _Found | None:
    for shape in SHAPES:
        if found := shape(text):
            return found
    return None


def _json(text: str) -> _Found | None:
    """`{"name": …, "arguments": {…}}`, or a list of them."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    calls = [_call(each) for each in (value if isinstance(value, list) else [value])]
    known = [call for call in calls if call]
    return (known, text[end:]) if known and len(known) == len(calls) else None


def _call(value: object) -> tuple[str, dict[str, object]] | None:
    if (
        isinstance(value, dict)
        and isinstance(value.get("function"), dict)
        and value.keys() <= {"function", "type", "id"}
    ):
        value = value["function"]
    if not isinstance(value, dict) or not value.keys() <= set(_KEYS) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = _DECODER.decode(arguments)
        except (ValueError, RecursionError):
            return None
    return (value["name"], arguments) if isinstance(arguments, dict) else None


def _fenced(text: str) -> _Found | None:
    """Calls between three backticks."""
    opened = _FENCE.match(text)
    return _wrapped(text[opened.end() :], "```") if opened else None


def _tagged(text: str) -> _Found | None:
    """Calls between `<tool_call>` and `</tool_call>`."""
    return _wrapped(text[len("<tool_call>") :], "</tool_call>") if text.startswith("<tool_call>") else None


def _wrapped(text: str, closer: str) -> _Found | None:
    """Read calls up to `closer`, which a model may leave out at its very end."""
    found, rest = list[tuple[str, dict[str, object]]](), text.lstrip()
    while rest and not rest.startswith(closer):
        part = _any(rest)
        if part is None:
            return None
        found += part[0]
        rest = part[1].lstrip()
    return (found, rest.removeprefix(closer)) if found else None


def _function(text: str) -> _Found | None:
    """`<function=name><parameter=key>value</parameter></function>`."""
    whole = _FUNCTION.match(text)
    if not whole:
        return None
    body = whole[2].strip()
    if body and not (body.startswith("<parameter=") and body.endswith("</parameter>")):
        return None
    given = {part[1]: part[2].removeprefix("\n").removesuffix("\n") for part in _PARAMETER.finditer(body)}
    return [(whole[1], dict[str, object](given))], text[whole.end() :]


SHAPES: tuple[Callable[[str], _Found | None], ...] = (_json, _fenced, _tagged, _function)
"""Each reads calls at the very start of a text, or gives None."""
