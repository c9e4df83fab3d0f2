"""A tool is an async function that returns a string: its signature is its schema, its docstring its description."""

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from ogcode.agent.model import ToolSpec
from ogcode.agent.nearest import nearest

Effect = Literal["read", "write", "run"]
"""What a call can do at most: look, change files in the workspace, or anything."""

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


class ToolError(Exception):
    """A failure that the model reads and can act on: what happened, to what, what to do next."""


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
            ToolError: it is not JSON, not an object, or does not fit.
        """
        try:
            given = json.loads(text or "{}")
        except (ValueError, RecursionError) as error:
            raise ToolError(f"the arguments of {self.name} are not JSON ({error}); send one JSON object") from error
        if not isinstance(given, dict):
            raise ToolError(f"the arguments of {self.name} must be a JSON object, not {type(given).__name__}")
        for key in given.keys() - self.hints.keys():
            near = nearest(key, self.hints)
            raise ToolError(
                f"{self.name} has no parameter '{key}'"
                + (f"; did you mean '{near}'?" if near else f"; it takes {', '.join(self.hints) or 'none'}")
            )
        required = self.spec.parameters.get("required", [])
        missing = [key for key in required if key not in given] if isinstance(required, list) else []
        if missing:
            raise ToolError(f"{self.name} needs {', '.join(missing)}")
        return {key: self._fit(key, value) for key, value in given.items()}

    def _fit(self, key: str, value: object) -> object:
        hint = self.hints[key]
        if get_origin(hint) is Literal:
            if value not in get_args(hint):
                raise ToolError(f"{key} must be one of {', '.join(map(str, get_args(hint)))}")
            return value
        if hint is int and isinstance(value, str) and value.strip().lstrip("-").isdigit():
            return int(value)
        if hint is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if hint is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if hint is bool and isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        wanted = hint if isinstance(hint, type) else object
        if not isinstance(value, wanted) or (hint is int and isinstance(value, bool)):
            raise ToolError(f"{key} must be a {_TYPES.get(wanted, wanted.__name__)}, not {type(value).__name__}")
        return value


def tool(*, effect: Effect) -> Callable[[Callable[..., Awaitable[str]]], Tool]:
    """Make a tool of a function whose parameters are `str`, `int`, `float`, `bool` or a `Literal`.

    `Annotated[str, "what it is"]` describes a parameter; a default makes it optional.
    """

    def build(function: Callable[..., Awaitable[str]]) -> Tool:
        described = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
        hints = {name: _plain(described[name]) for name in parameters}
        schema: dict[str, object] = {
            "type": "object",
            "properties": {name: _property(described[name]) for name in parameters},
            "required": [name for name, each in parameters.items() if each.default is inspect.Parameter.empty],
        }
        description = " ".join((inspect.getdoc(function) or "").split())
        return Tool(ToolSpec(function.__name__, description, schema), effect, function, hints)

    return build


def _plain(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _property(hint: object) -> dict[str, object]:
    inner = _plain(hint)
    if get_origin(inner) in (Union, UnionType):
        raise TypeError(f"a tool's parameter can't be {inner}")
    kind: dict[str, object] = (
        {"enum": list(get_args(inner))} if get_origin(inner) is Literal else {"type": _TYPES[inner]}  # type: ignore[index]  # a KeyError here is a fault of the tool's author
    )
    return kind | ({"description": get_args(hint)[1]} if get_origin(hint) is Annotated else {})
