"""The chunks of a chat completion, put together; messages and tools in the shape that goes with them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ogcode.agent.model import Broken, Delta, Finished, Reasoning, Refused, Text, ToolSpec
from ogcode.agent.turn import Message, ToolCall, Usage


@dataclass(slots=True)
class _Open:
    """A call of which more may come."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        return bool(object_of(self.arguments)) or self.arguments.strip() == "{}"


class Assembly:
    """One answer, from its chunks. Text comes out at once, calls only at a proper end."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls: list[_Open] = []
        self._usage = Usage()
        self.reason = ""
        """Why the answer ended; empty while it may go on."""

    def add(self, chunk: dict[str, object]) -> list[Delta]:
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = _usage(usage)
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return []
        if reason := choice.get("finish_reason"):
            self.reason = str(reason)
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            return []
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._merge(piece)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        text = delta.get("content")
        said = [Reasoning(thought)] if isinstance(thought, str) and thought else []
        return [*said, Text(text)] if isinstance(text, str) and text else [*said]

    def end(self) -> list[Delta]:
        """Give what a proper end brings.

        Raises:
            Refused: a filter stopped the answer.
            Broken: the provider gave up, or a call has no name.
        """
        match self.reason:
            case "content_filter":
                raise Refused(f"{self._model}: the provider's content filter stopped the answer; put it differently")
            case "error":
                raise Broken(f"{self._model}: the provider gave up within its answer; try again")
            case "length":
                return [Finished("length", self._usage)]
        if not all(call.name for call in self._calls):
            raise Broken(f"{self._model}: a tool call came without a name; try again")
        return [*_named(self._calls), Finished("stop", self._usage)]

    def _merge(self, piece: dict[str, object]) -> None:
        function = piece.get("function")
        if not isinstance(function, dict):
            function = {}
        name, arguments = function.get("name") or "", function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        index = piece.get("index")
        call = self._find(index if isinstance(index, int) else None, str(piece.get("id") or ""), str(name), arguments)
        if not call.arguments and name != call.name:
            call.name += str(name)
        call.arguments += arguments

    def _find(self, index: int | None, identity: str, name: str, arguments: str) -> _Open:
        """Find the call that a piece belongs to, whatever of index and id the server leaves out or repeats."""
        known = [call for call in self._calls if index is None or call.index in (None, index)]
        if not name and known and identity not in {call.id for call in known}:
            identity = ""  # some servers invent an id for every piece
        if identity:
            known = [call for call in known if call.id == identity or (not call.id and index is not None)]
        call = known[-1] if known else None
        again = call is not None and name and arguments and call.whole and (not identity or call.id != identity)
        if call is None or again or (index is None and not identity and name and call.arguments):
            call = _Open(index)
            self._calls.append(call)
        call.id = call.id or identity
        return call


def _named(calls: Sequence[_Open]) -> list[ToolCall]:
    """Close the calls, each with an id of its own."""
    closed = dict[str, ToolCall]()
    for number, call in enumerate(calls, 1):
        identity, place = call.id, number
        while not identity or identity in closed:
            identity, place = f"call_{place}", place + len(calls)
        closed[identity] = ToolCall(identity, call.name, call.arguments.strip() or "{}")
    return list(closed.values())


def _usage(given: dict[str, object]) -> Usage:
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else given.get("prompt_cache_hit_tokens")
    return Usage(count(given.get("prompt_tokens")), count(given.get("completion_tokens")), count(cached))


def count(value: object) -> int:
    """Read a number of tokens; 0 where there is none."""
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def object_of(text: str) -> dict[str, object]:
    """Read a JSON object; empty where it is none: servers refuse a history with broken arguments in it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def messages_of(messages: Sequence[Message]) -> list[dict[str, object]]:
    return [_message(message) for message in messages]


def _message(message: Message) -> dict[str, object]:
    said: dict[str, object] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        return said | {"tool_call_id": message.call_id}
    if not message.calls:
        return said
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(object_of(call.arguments), ensure_ascii=False)},
        }
        for call in message.calls
    ]
    return said | {"content": message.content or None, "tool_calls": calls}


def tools_of(tools: Sequence[ToolSpec]) -> list[dict[str, object]]:
    return [
        {
            "type": "function",
            "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
        }
        for spec in tools
    ]
