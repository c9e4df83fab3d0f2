"""Ollama's own chat API: the one that honours the size of the context."""

import json
import re
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

from ogcode.agent.arguments import shown
from ogcode.agent.model import (
    Broken,
    Delayed,
    Delta,
    Effort,
    Finished,
    ModelError,
    NoSuchModel,
    NoToolSupport,
    Options,
    Overloaded,
    Prices,
    Reasoning,
    Refused,
    Text,
    ToolSpec,
    Truncated,
)
from ogcode.agent.models.chunks import count, said_apart, tools_of
from ogcode.agent.models.installed import Ability, Thinking, ability, context_in, loaded, missing
from ogcode.agent.models.wire import Wire
from ogcode.agent.turn import Message, ToolCall, Usage

LOADED_LEAST = 8192
"""A context that is loaded and at least this large is used as it is: changing it reloads the model."""
DEFAULT = 16_384
KEEP = "30m"
FRESH = 60.0
"""Seconds after an answer in which the model is taken to be loaded still."""
UNREADABLE = 3
"""Calls of a model that Ollama could not read, one after the other, until it is asked for text instead."""

_CUTS = (2048, 4096, 8192, 16_384, 32_768, 65_536)
"""Contexts that servers are set to; a prompt counted as exactly that was cut."""
_MISREAD = re.compile(r"error parsing tool call|failed to parse tool call|invalid character .{0,80}tool", re.IGNORECASE)
_NO_MEMORY = re.compile(r"more system memory|out of memory|unable to allocate|insufficient memory", re.IGNORECASE)


class Ollama:
    prices: Prices | None = None
    enforces = True

    def __init__(
        self,
        name: str,
        wire: Wire,
        *,
        id: str,  # noqa: A002  # its name on the wire
        num_ctx: int,
        able: Ability = Ability(),  # noqa: B008  # frozen
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.window = num_ctx
        """What Ollama has loaded, where that is less than what it was asked for."""
        self._num_ctx = num_ctx
        self._wire = wire
        self._id = id
        self._able = able
        self.sees = able.vision is True
        self._now = now
        self._answered = -FRESH
        self._misread = 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        if tools and (self._able.tools is False or self._misread >= UNREADABLE):
            raise NoToolSupport(f"{self.name} can't call tools; choose a model that can with --model")
        if self._able.vision is False and any(message.images for message in messages):
            raise Refused(f"{self.name} can't see images; choose a model with vision (ogcode models)")
        if cold := self._now() - self._answered >= FRESH and await self._loaded() != self._num_ctx:
            yield Delayed(f"loading {self.name}")
        body = self._body(messages, tools, options)
        calls = list[ToolCall]()
        try:
            async with aclosing(self._wire.lines("/api/chat", body)) as lines:
                async for line in lines:
                    if not line.strip():
                        continue
                    piece = self._piece(line)
                    for delta in _said(piece):
                        if isinstance(delta, ToolCall):
                            calls.append(delta)
                        else:
                            yield delta
                    if piece.get("done"):
                        break
                else:
                    raise Broken(f"{self.name}: the answer from {self._wire.place} broke off before its end; try again")
        except ModelError as error:
            raise self._meant(error) from error
        self._answered = self._now()
        if tools:
            self._misread = 0
        if cold:
            self.window = min(await self._loaded() or self._num_ctx, self._num_ctx)
        sent = _bytes(messages, tools)
        evaluated = count(piece.get("prompt_eval_count"))
        self._check_uncut(sent, evaluated)
        usage = Usage(evaluated or sent // 4, count(piece.get("eval_count")))
        if piece.get("done_reason") == "length":
            yield Finished("length", usage)
            return
        for place, call in enumerate(calls, 1):
            yield ToolCall(f"call_{place}", call.name, call.arguments)
        yield Finished("stop", usage)

    def _body(self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: Options) -> dict[str, object]:
        chosen: dict[str, object] = {"num_ctx": self._num_ctx}
        if options.max_output is not None:
            chosen["num_predict"] = options.max_output
        if options.temperature is not None or self._misread:  # the same again would be misread again
            chosen["temperature"] = round((options.temperature or 0.0) + 0.3 * self._misread, 2)
        body: dict[str, object] = {
            "model": self._id,
            "messages": [_message(message) for message in said_apart(messages)],
            "stream": True,
            "keep_alive": KEEP,
            "options": chosen,
        }
        if tools:
            body["tools"] = tools_of(tools)
        if options.schema is not None:
            body["format"] = dict(options.schema)
        # What helpers write is short: thoughts would use it up.
        think = thought(self._able.thinking, options.effort or (None if options.role == "agent" else "none"))
        return body if think is None else body | {"think": think}

    async def _loaded(self) -> int | None:
        """Tell the context that the model is loaded with, None where it is not; what is not said counts as right."""
        try:
            found = context_in(await loaded(self._wire, seconds=5), self._id)
        except ModelError:  # the request itself will tell what is wrong
            return self._num_ctx
        return self._num_ctx if found == 0 else found

    def _piece(self, line: str) -> dict[str, object]:
        piece = self._wire.read(line)
        for key, value in piece.items():
            if key.startswith("error"):  # Ollama has put the text into the key
                said = value if key == "error" else f"{key}: {value}"
                raise self._wire.complaint(said)
        return piece

    def _meant(self, error: ModelError) -> ModelError:
        """Name what only Ollama says."""
        if isinstance(error, NoSuchModel):
            return missing(self.name, self._id)
        if not isinstance(error, Overloaded | Broken):
            return error
        if _NO_MEMORY.search(str(error)):
            return Refused(f"{error}; it does not fit into memory: choose a smaller model, or a smaller num_ctx")
        if not _MISREAD.search(str(error)):
            return error
        self._misread += 1
        if self._misread >= UNREADABLE:
            return NoToolSupport(f"{self.name}: Ollama could not read its tool calls {self._misread} times ({error})")
        return Broken(str(error))

    def _check_uncut(self, sent: int, evaluated: int) -> None:
        """Notice that Ollama dropped part of the request, which it does without a word.

        A prompt that it had cached may be counted as less, so only what can't be explained by that is reported.
        """
        least, likely = sent // 5, sent // 4
        if not evaluated:
            return
        full = least > evaluated and (least > self.window or evaluated >= self.window * 0.95)
        if full or (evaluated in _CUTS and evaluated < self.window and likely > evaluated):
            raise Truncated(
                f"{self.name}: Ollama cut the request (about {likely:,} tokens) to {evaluated:,}; num_ctx is "
                f"{self._num_ctx}: give it a larger one, or raise OLLAMA_CONTEXT_LENGTH where Ollama runs"
            )


async def open_ollama(name: str, wire: Wire, *, id: str, num_ctx: int = 0) -> Ollama:  # noqa: A002  # its name on the wire
    """Ask Ollama what the model can do, and settle its context for good.

    Raises:
        ModelError: Ollama does not answer, or does not have the model.
    """
    able = await ability(wire, id, seconds=20)
    wanted = num_ctx or await _kept(wire, id) or min(able.largest or DEFAULT, DEFAULT)
    return Ollama(name, wire, id=id, num_ctx=min(wanted, able.largest) if able.largest else wanted, able=able)


def thought(values: Sequence[Thinking], effort: Effort | None) -> Thinking | None:
    """Choose the `think` that comes closest to an effort; None leaves it out."""
    match effort:
        case _ if not values:
            return None
        case None:  # said, so that no version leaves the thoughts in the answer
            return True if True in values else None
        case "none":
            return False if False in values else values[0]
        case _:
            return effort if effort in values else (True if True in values else None)


async def _kept(wire: Wire, id: str) -> int:  # noqa: A002  # its name on the wire
    """Return the context that the model is loaded with, 0 where it is not loaded or is too small."""
    try:
        size = context_in(await loaded(wire, seconds=5), id) or 0
    except ModelError:
        return 0
    return size if size >= LOADED_LEAST else 0


def _message(message: Message) -> dict[str, object]:
    said: dict[str, object] = {"role": message.role, "content": message.content}
    if message.images:
        said["images"] = [b64encode(image.content).decode() for image in message.images]
    if message.role == "tool":
        return said | {"tool_name": message.name, "tool_call_id": message.call_id}
    return said | {"tool_calls": _calls(message)} if message.calls else said


def _bytes(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
    """Count what a model gets to read; images are no text."""
    shapes = [tools_of(tools), *(_calls(message) for message in messages)]
    texts = [*(message.content for message in messages), json.dumps(shapes, ensure_ascii=False)]
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _calls(message: Message) -> list[dict[str, object]]:
    return [
        {"id": call.id, "function": {"name": call.name, "arguments": shown(call.arguments)}} for call in message.calls
    ]


def _said(piece: Mapping[str, object]) -> list[Delta]:
    message = piece.get("message")
    if not isinstance(message, dict):
        return []
    said = list[Delta]()
    if isinstance(thoughts := message.get("thinking"), str) and thoughts:
        said.append(Reasoning(thoughts))
    if isinstance(text := message.get("content"), str) and text:
        said.append(Text(text))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments") or {}
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            said.append(ToolCall("", str(function.get("name") or ""), text))
    return said
