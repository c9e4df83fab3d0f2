"""A tool is an async function that returns a string: its signature is its schema, its docstring its description."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import isfinite
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from ogcode.agent.arguments import Unreadable, kind, read, signature, value_of
from ogcode.agent.model import ToolSpec
from ogcode.agent.nearest import nearest
from ogcode.agent.turn import Image

Effect = Literal["read", "write", "run"]
"""What a call can do at most: look, change files in the workspace, or anything."""

_NAMED = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


class Pictured(str):
    """A result that is more than its words: a picture comes with it."""

    image: Image

    @classmethod
    def of(cls, words: str, image: Image) -> "Pictured":
        made = cls(words)
        made.image = image
        return made


class ToolError(Exception):
    """A failure that the model reads and can act on: what happened, to what, what to do next."""


class Malformed(ToolError):
    """The call itself makes no sense: no such tool, or arguments that it does not take."""


@dataclass(frozen=True, slots=True)
class Tool:
    spec: ToolSpec
    effect: Effect
    function: Callable[..., Awaitable[str]]
    hints: dict[str, object]

    @property
    def name(self) -> str:
        return self.spec.name

    def arguments(self, text: str) -> dict[str, object]:
        """Check JSON text against the signature.

        Raises:
            Malformed: it is not JSON, not an object, or does not fit.
        """
        try:
            given = read(text)
        except Unreadable as error:
            raise self._malformed(
                f"the arguments of {self.name} are not JSON ({error}); send one JSON object"
            ) from error
        for key in given.keys() - self.hints.keys():
            near = nearest(key, self.hints)
            raise self._malformed(
                f"{self.name} has no parameter '{key}'" + (f"; did you mean '{near}'?" if near else "")
            )
        required = self.spec.parameters.get("required", [])
        needed = required if isinstance(required, list) else []
        given = {key: value for key, value in given.items() if value is not None or key in needed}
        if missing := [key for key in needed if given.get(key) is None]:
            raise self._malformed(f"{self.name} needs {', '.join(missing)}")
        return {key: self._fit(key, value) for key, value in given.items()}

    def _fit(self, key: str, value: object) -> object:
        hint = self.hints[key]
        if get_origin(hint) is Literal:
            if value not in get_args(hint):
                raise self._malformed(f"{key} must be one of {', '.join(map(str, get_args(hint)))}")
            return value
        if get_origin(hint) is list:
            try:
                return records(value, get_args(hint)[0])
            except ValueError as error:
                raise self._malformed(f"{key} must be {error}") from error
        if isinstance(hint, type) and isinstance(value, str):
            value = _read_as(hint, value.strip()) if hint is not str else value
        if hint is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if hint is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        wanted = hint if isinstance(hint, type) else object
        if not isinstance(value, wanted) or (hint is int and isinstance(value, bool)):
            raise self._malformed(f"{key} must be {_NAMED.get(wanted, wanted.__name__)}, not {kind(value)}")
        return value

    def _malformed(self, said: str) -> "Malformed":
        return Malformed(f"{said}: {signature(self.spec)}")


def records(value: object, each: type) -> list[dict[str, str]]:
    """Read a list of objects of strings; it may have come as text, and a single one without the list.

    Raises:
        ValueError: it is none; the text says what it should be.
    """
    keys = sorted(get_type_hints(each))
    wanted = f"a list of objects with {' and '.join(keys)}, each a string"
    if isinstance(value, str):
        try:
            value = value_of(value) if value.strip() else []
        except Unreadable as error:
            raise ValueError(f"{wanted}; it is no JSON ({error})") from error
    found = [value] if isinstance(value, dict) else value
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and sorted(one) == keys and all(isinstance(text, str) for text in one.values())
        for one in found
    ):
        raise ValueError(wanted)
    return found


def _read_as(hint: type, text: str) -> object:
    """Read a number or a truth that came as text; what is none stays text."""
    if hint is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        number = float(text) if hint is float or "." in text else int(text)
    except ValueError:
        return text
    return number if isfinite(number) else text


def tool(*, effect: Effect) -> Callable[[Callable[..., Awaitable[str]]], Tool]:
    """Make a tool of a function whose parameters are `str`, `int`, `float`, `bool`, a `Literal` or a list.

    A list is one of objects, given as a `TypedDict` of strings.
    `Annotated[str, "what it is"]` describes a parameter; a default makes it optional.
    """

    def build(function: Callable[..., Awaitable[str]]) -> Tool:
        described = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
        hints = {name: _plain(described[name]) for name in parameters}
        schema: dict[str, object] = {
            "type": "object",
            "properties": {name: _property(described[name]) for name in parameters},
        }
        required = [name for name, each in parameters.items() if each.default is inspect.Parameter.empty]
        schema |= {"required": required} if required else {}
        description = " ".join((inspect.getdoc(function) or "").split())
        return Tool(ToolSpec(function.__name__, description, schema), effect, function, hints)

    return build


def _plain(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _property(hint: object) -> dict[str, object]:
    inner = _plain(hint)
    if get_origin(inner) in (Union, UnionType):
        raise TypeError(f"a tool's parameter can't be {inner}")
    kind: dict[str, object]
    if get_origin(inner) is Literal:
        kind = {"enum": list(get_args(inner))}
    elif get_origin(inner) is list:
        keys = {name: {"type": "string"} for name in get_type_hints(get_args(inner)[0])}
        kind = {"type": "array", "items": {"type": "object", "properties": keys}}
    else:
        kind = {"type": _TYPES[inner]}  # type: ignore[index]  # a KeyError here is a fault of the tool's author
    return kind | ({"description": get_args(hint)[1]} if get_origin(hint) is Annotated else {})
