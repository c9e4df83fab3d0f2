"""The events of an Anthropic message, put together."""

import json
from collections.abc import Mapping

from ogcode.agent.model import Broken, Delta, Finished, Reasoning, Refused, Text
from ogcode.agent.models.chunks import count
from ogcode.agent.turn import ToolCall, Usage

_THOUGHTS = ("thinking", "redacted_thinking")


class Blocks:
    """One answer, from its events. Text comes out at once, calls only at a proper end."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._blocks = dict[int, dict[str, object]]()
        self._inputs = dict[int, str]()
        self._usage = dict[str, object]()
        self._open = set[int]()
        self.reason = ""
        """Why the answer ended; empty while it may go on."""
        self.ended = False

    def add(self, event: Mapping[str, object]) -> list[Delta]:
        place = event.get("index")
        place = place if isinstance(place, int) else len(self._blocks)
        match event:
            case {"type": "message_start", "message": {"usage": dict(usage)}}:
                self._count(usage)
            case {"type": "content_block_start", "content_block": dict(block)}:
                self._blocks[place] = dict(block)
                self._open.add(place)
                return _shown(block.get("text"), block.get("thinking"))
            case {"type": "content_block_delta", "delta": dict(delta)} if place in self._blocks:
                return self._grow(place, delta)
            case {"type": "content_block_stop"}:
                self._open.discard(place)
            case {"type": "message_delta", "delta": dict(delta)}:
                self.reason = str(delta.get("stop_reason") or self.reason)
                if isinstance(told := event.get("usage"), dict):
                    self._count(told)
            case {"type": "message_stop"}:
                self.ended = True
        return []

    def end(self) -> list[Delta]:
        """Give what a proper end brings.

        Raises:
            Refused: the model or its provider will not answer this.
            Broken: the provider paused, or a call is not whole.
        """
        match self.reason:
            case "refusal":
                raise Refused(f"{self._model}: the model refused to answer this; put it differently")
            case "pause_turn":
                raise Broken(f"{self._model}: the provider paused within its answer; try again")
            case "max_tokens" | "model_context_window_exceeded":
                return [Finished("length", self._used())]
        uses = [(place, block) for place, block in sorted(self._blocks.items()) if block.get("type") == "tool_use"]
        if any(place in self._open or not block.get("name") for place, block in uses):
            raise Broken(f"{self._model}: a tool call came without its name or its end; try again")
        calls = [ToolCall(str(block.get("id") or ""), str(block["name"]), self._input(place)) for place, block in uses]
        return [*calls, Finished("stop", self._used(), self._thought() if calls else "")]

    def _grow(self, place: int, delta: Mapping[str, object]) -> list[Delta]:
        block = self._blocks[place]
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                block["text"] = f"{block.get('text') or ''}{text}"
                return _shown(text, None)
            case {"type": "thinking_delta", "thinking": str(text)}:
                block["thinking"] = f"{block.get('thinking') or ''}{text}"
                return _shown(None, text)
            case {"type": "signature_delta", "signature": str(signature)}:
                block["signature"] = f"{block.get('signature') or ''}{signature}"
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._inputs[place] = self._inputs.get(place, "") + piece
        return []

    def _input(self, place: int) -> str:
        whole = self._blocks[place].get("input")
        return self._inputs.get(place, "").strip() or json.dumps(whole or {}, ensure_ascii=False)

    def _thought(self) -> str:
        """Keep the thoughts with their signatures, and where they stood among text and calls."""
        blocks = [block for _, block in sorted(self._blocks.items())]
        if not any(block.get("type") in _THOUGHTS for block in blocks):
            return ""
        kept = [
            {"type": "tool_use", "id": block.get("id")} if block.get("type") == "tool_use" else block
            for block in blocks
            if block.get("type") in (*_THOUGHTS, "text", "tool_use")
        ]
        return json.dumps(kept, ensure_ascii=False)

    def _count(self, usage: Mapping[str, object]) -> None:
        """Take what is said of the tokens; a later word on them is the whole sum and goes before an earlier one."""
        self._usage |= {key: value for key, value in usage.items() if value is not None}

    def _used(self) -> Usage:
        read, written = (count(self._usage.get(f"cache_{way}_input_tokens")) for way in ("read", "creation"))
        details = self._usage.get("output_tokens_details")
        return Usage(
            count(self._usage.get("input_tokens")) + read + written,
            count(self._usage.get("output_tokens")),
            read,
            cache_creation_input_tokens=written,
            reasoning_tokens=count(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
        )


def _shown(text: object, thought: object) -> list[Delta]:
    said = list[Delta]()
    if isinstance(thought, str) and thought:
        said.append(Reasoning(thought))
    if isinstance(text, str) and text:
        said.append(Text(text))
    return said
