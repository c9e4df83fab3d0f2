"""An answer that a program reads: JSON that follows a schema of the user's."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.loop import Form
from ogcode.tui.headless.asked import BadInput, text_of

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_TOLD = 5
"""Errors of an answer that are told at most."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer held against the schema."""

    value: object
    wrong: str = ""
    """What is wrong with it; empty where the value is what was asked for."""


class Structure:
    """What `--json-schema` asks for."""

    def __init__(self, given: str, folder: Path) -> None:
        """Take a schema, or the name of a file with one.

        Raises:
            BadInput: it is none.
        """
        name = "--json-schema" if given.lstrip().startswith("{") else given
        self._schema = _schema(given if name != given else text_of(given, folder), name)
        self._validator = _validator(self._schema, name)

    @property
    def instructions(self) -> str:
        text = Path(__file__).with_name("structured.md").read_text("utf-8").strip()
        return text.replace("{schema}", json.dumps(self._schema, ensure_ascii=False))

    @property
    def form(self) -> Form:
        return Form(self._schema, self._complaint)

    def check(self, answer: str) -> Checked:
        """Read an answer and hold it against the schema."""
        from referencing.exceptions import Unresolvable

        try:
            value = _value(answer)
        except (ValueError, RecursionError) as error:
            return Checked(None, f"it is not one JSON value ({error})")
        try:
            errors = sorted(self._validator.iter_errors(value), key=lambda error: (len(error.path), error.json_path))
        except Unresolvable as error:
            return Checked(None, f"the schema itself refers to what is not in it ({error})")
        except RecursionError:
            return Checked(None, "it is nested too deeply")
        told = [f"{error.json_path}: {error.message[:300]}" for error in errors[:_TOLD]]
        left = [f"and {len(errors) - _TOLD} more"] if len(errors) > _TOLD else []
        return Checked(None if told else value, "; ".join([*told, *left]))

    def _complaint(self, answer: str) -> str:
        wrong = self.check(answer).wrong
        if not wrong:
            return ""
        return (
            f"Your answer does not follow the schema: {wrong}. Give the whole answer again as one JSON value that "
            "follows it, and nothing else."
        )


def _schema(text: str, name: str) -> dict[str, object]:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name}: the schema is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise BadInput(f"{name}: the schema is not a JSON object")
    return schema


def _validator(schema: dict[str, object], name: str) -> "Validator":
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    if far := next((each for each in _references(schema) if not each.startswith("#")), ""):
        raise BadInput(f"{name}: '$ref': '{far}' leads out of the schema; put what it means under '$defs'")
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise BadInput(f"{name}: it is no JSON schema: {error.json_path}: {error.message[:300]}") from error
    return kind(schema, registry=Registry())


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (value for key, value in schema.items() if key == "$ref" and isinstance(value, str))
    if isinstance(schema, dict | list):
        for inner in schema.values() if isinstance(schema, dict) else schema:
            yield from _references(inner)


def _value(answer: str) -> object:
    """Read the answer as JSON, or where it is none the last code block that it holds."""

    def refused(name: str) -> object:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(answer, parse_constant=refused)
    except ValueError:
        blocks = _FENCED.findall(answer)
        if not blocks:
            raise
        return json.loads(blocks[-1], parse_constant=refused)
