"""Tools for models that have none of their own: offered, called and answered in text."""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

from ogcode.agent.arguments import shown, signature
from ogcode.agent.model import Delayed, Delta, Finished, Model, NoToolSupport, Options, Restarted, Text, ToolSpec
from ogcode.agent.models.around import Around
from ogcode.agent.turn import Message, ToolCall

_ANSWER = r'\s*\{\s*"answer"\s*:\s*"'
_CODE = r"\\u[0-9a-fA-F]{4}"
_FIRST_HALF = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_READABLE = rf'(?:[^"\\]|{_FIRST_HALF}{_CODE}|(?!{_FIRST_HALF}){_CODE}|\\[^u])*+'
"""What of a JSON string can be read although more of it will come."""
_REST = rf'(?:[^"\\]|{_CODE}|\\[^u])*+'


class Textual(Around):
    """A model that is told of its tools in the system text, and calls them in text of its own.

    Where its server can make an answer follow a schema (the model says so: `enforces`), that is asked for; else what it
    writes is for `Recovering` to read. What is written of the tools stays the same for as long as they do.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._enforced = self.enforces

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        enforced = self._enforced and bool(tools) and options.schema is None
        if enforced:
            options = replace(options, schema=schema_of(tools))
        answer = _Answer()
        async for delta in self._model.stream(written(messages, tools, enforced=enforced), (), options=options):
            match delta:
                case Text(piece) if enforced:
                    if said := answer.add(piece):
                        yield Text(said)
                    continue
                case Restarted():
                    answer = _Answer()
                case Finished(reason, _) if enforced:
                    for last in answer.end(whole=reason == "stop"):
                        yield last
            yield delta


class Fallback(Around):
    """Asks a model with tools until it turns out that it can't be, and from then on in text."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._textual = Textual(model)
        self._unable = False

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        begun, why = False, ""
        if not self._unable:
            try:
                async for delta in self._model.stream(messages, tools, options=options):
                    begun = begun or not isinstance(delta, Delayed)
                    yield delta
            except NoToolSupport as error:
                if not tools:
                    raise
                self._unable, why = True, str(error)
            else:
                return
        if begun:
            yield Restarted(why, 0.0)
        async for delta in self._textual.stream(messages, tools, options=options):
            yield delta


def written(messages: Sequence[Message], tools: Sequence[ToolSpec], *, enforced: bool = False) -> tuple[Message, ...]:
    """Write a turn so that it needs no tools: calls and results as text, user and assistant by turns."""
    told = list[Message]()
    if tools and not any(message.role == "system" for message in messages[:1]):
        messages = (Message("system", ""), *messages)
    for message in messages:
        said = _plain(message, enforced=enforced)
        if said.role == "system" and tools:
            said = replace(said, content=f"{said.content}\n\n{_offer(tools, enforced=enforced)}".lstrip())
        if told and told[-1].role == said.role:  # many templates refuse two in a row
            before = told.pop()
            joined = f"{before.content}\n\n{said.content}"
            said = replace(before, content=joined, images=(*before.images, *said.images))
        told.append(said)
    return tuple(told)


def schema_of(tools: Sequence[ToolSpec]) -> dict[str, object]:
    """Say in a schema: one call of one of the tools, or an answer."""
    calls = [
        _object(name={"const": spec.name}, arguments=spec.parameters | {"additionalProperties": False})
        for spec in tools
    ]
    return {"anyOf": [_object(call={"anyOf": calls}), _object(answer={"type": "string"})]}


def _object(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _offer(tools: Sequence[ToolSpec], *, enforced: bool) -> str:
    lines = [f"- {signature(spec)}: {spec.description}" for spec in tools]
    text = Path(__file__).with_name("enforced.md" if enforced else "textual.md").read_text("utf-8").strip()
    return text.replace("{tools}", "\n".join(lines))


def _plain(message: Message, *, enforced: bool) -> Message:
    if message.role == "tool":
        result = message.content.replace("</tool_response", "<\\/tool_response")
        return Message("user", f"<tool_response>\n{result}\n</tool_response>", images=message.images)
    if not message.calls:
        return message
    calls = [_call(call, enforced=enforced) for call in message.calls]
    return Message("assistant", "\n".join([*([message.content] if message.content.strip() else []), *calls]))


def _call(call: ToolCall, *, enforced: bool) -> str:
    given = {"name": call.name, "arguments": shown(call.arguments)}
    if enforced:
        return json.dumps({"call": given}, ensure_ascii=False)
    return f"<tool_call>\n{json.dumps(given, ensure_ascii=False)}\n</tool_call>"


class _Answer:
    """An answer that follows the schema: its words come out as they come in, a call at the end."""

    def __init__(self) -> None:
        self._text = ""
        self._place = 0
        """Up to where the words have come out; 0 while it is not known whether there are any."""

    def add(self, piece: str) -> str:
        self._text += piece
        if not self._place:
            self._place = len(_at(_ANSWER, self._text, 0))
        return self._words(_READABLE) if self._place else ""

    def end(self, *, whole: bool) -> list[Delta]:
        if self._place:
            return [Text(rest)] if (rest := self._words(_REST)) else []
        try:
            found = json.loads(self._text, strict=False)
        except (ValueError, RecursionError):
            found = None
        call = found.get("call") if isinstance(found, dict) else None
        if whole and isinstance(call, dict) and isinstance(call.get("name"), str):
            return [ToolCall("call_1", call["name"], json.dumps(call.get("arguments", {}), ensure_ascii=False))]
        return [Text(self._text)] if self._text and (whole or not self._text.lstrip().startswith("{")) else []

    def _words(self, known: str) -> str:
        words = _at(known, self._text, self._place)
        self._place += len(words)
        return str(json.loads(f'"{words}"', strict=False))


def _at(pattern: str, text: str, place: int) -> str:
    found = re.compile(pattern).match(text, place)
    return found[0] if found else ""
