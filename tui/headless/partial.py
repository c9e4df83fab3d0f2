"""A message while it is being written, told by the events of the Messages API, as scripts know them."""

from collections.abc import Callable, Iterator

from ogcode.agent.events import Answered, Event, ReasoningDelta, Retrying, TextDelta
from ogcode.agent.turn import ToolCall, Usage

Told = dict[str, object]


class Partial:
    """Tells one message after the other; one that is begun anew before its `message_stop` is void."""

    def __init__(self, model: str, new_id: Callable[[], str]) -> None:
        self._model, self._new_id = model, new_id
        self._begun = False
        self._index = 0
        """Of the block that is open, or comes next."""
        self._kind = ""
        """Of the block that is open; empty where none is."""

    def told(self, event: Event) -> Iterator[Told]:
        """Give what an event of the turn comes to."""
        match event:
            case TextDelta(text):
                yield from self._open("text", {"text": ""})
                yield self._delta({"type": "text_delta", "text": text})
            case ReasoningDelta(text):
                yield from self._open("thinking", {"thinking": "", "signature": ""})
                yield self._delta({"type": "thinking_delta", "thinking": text})
            case Retrying():
                self._begun, self._index, self._kind = False, 0, ""
            case Answered(_, calls, usage, cut):
                for call in calls:
                    yield from self._call(call)
                yield from self._end("max_tokens" if cut else "tool_use" if calls else "end_turn", usage)

    def _open(self, kind: str, content: Told) -> Iterator[Told]:
        """Make sure that a block of this kind is open."""
        yield from self._begin()
        if self._kind != kind:
            yield from self._close()
            self._kind = kind
            yield {"type": "content_block_start", "index": self._index, "content_block": {"type": kind, **content}}

    def _begin(self) -> Iterator[Told]:
        if self._begun:
            return
        self._begun = True
        message: Told = {
            "id": f"msg_{self._new_id()}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _counts(Usage()),
        }
        yield {"type": "message_start", "message": message}

    def _delta(self, delta: Told) -> Told:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _call(self, call: ToolCall) -> Iterator[Told]:
        yield from self._close()
        yield from self._open("tool_use", {"id": call.id, "name": call.name, "input": {}})
        yield self._delta({"type": "input_json_delta", "partial_json": call.arguments or "{}"})
        yield from self._close()

    def _close(self) -> Iterator[Told]:
        if self._kind:
            yield {"type": "content_block_stop", "index": self._index}
            self._index, self._kind = self._index + 1, ""

    def _end(self, reason: str, usage: Usage) -> Iterator[Told]:
        yield from self._begin()
        yield from self._close()
        stop = {"stop_reason": reason, "stop_sequence": None}
        yield {"type": "message_delta", "delta": stop, "usage": _counts(usage)}
        yield {"type": "message_stop"}
        self._begun, self._index = False, 0


def _counts(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
    }
