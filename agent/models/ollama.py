"""Ollama's own chat API: the one that honours the size of the context."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from urllib.parse import urlsplit

from ogcode.agent.model import (
    Broken,
    ContextOverflow,
    Delta,
    Finished,
    ModelError,
    NoSuchModel,
    NoToolSupport,
    Options,
    Prices,
    Reasoning,
    Refused,
    Text,
    ToolSpec,
)
from ogcode.agent.models.chunks import count, object_of, tools_of
from ogcode.agent.models.refusal import complaint, quoted
from ogcode.agent.models.wire import Wire
from ogcode.agent.turn import Message, ToolCall, Usage

PORT = 11434
LOADED_LEAST = 8192
"""A context that is loaded and at least this large is used as it is: changing it reloads the model."""
DEFAULT = 16_384
KEEP = "30m"
_CUTS = (2048, 4096, 8192, 16_384, 32_768, 65_536)
"""Contexts that servers are set to; a prompt counted as exactly that was cut."""


class Ollama:
    prices: Prices | None = None

    def __init__(self, name: str, wire: Wire, *, id: str, num_ctx: int, calls_tools: bool = True) -> None:  # noqa: A002  # its name on the wire
        self.name = name
        self.window = num_ctx
        self._wire = wire
        self._id = id
        self._calls_tools = calls_tools

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        if tools and not self._calls_tools:
            raise NoToolSupport(f"{self.name} can't call tools; choose a model that can with --model")
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
        except NoSuchModel as error:
            raise missing(self.name, self._id) from error
        sent = len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
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
        chosen: dict[str, object] = {"num_ctx": self.window}
        if options.max_output is not None:
            chosen["num_predict"] = options.max_output
        if options.temperature is not None:
            chosen["temperature"] = options.temperature
        return {
            "model": self._id,
            "messages": [_message(message) for message in messages],
            "stream": True,
            "keep_alive": KEEP,
            "options": chosen,
        } | ({"tools": tools_of(tools)} if tools else {})

    def _piece(self, line: str) -> dict[str, object]:
        try:
            piece = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Broken(
                f"{self.name}: {self._wire.place} sent what is not JSON ({quoted(line[:80])}); try again"
            ) from error
        if not isinstance(piece, dict):
            raise Broken(f"{self.name}: {self._wire.place} sent what is not an object ({quoted(line[:80])}); try again")
        for key, value in piece.items():
            if key.startswith("error"):  # Ollama has put the text into the key
                said = value if key == "error" else f"{key}: {value}"
                raise complaint(said, model=self.name, place=self._wire.place)
        return piece

    def _check_uncut(self, sent: int, evaluated: int) -> None:
        """Notice that Ollama dropped part of the request, which it does without a word.

        A prompt that it had cached may be counted as less, so only what can't be explained by that is reported.
        """
        least = sent // 5
        if not evaluated or least <= evaluated:
            return
        if least > self.window or evaluated >= self.window * 0.95 or (evaluated in _CUTS and least > evaluated * 1.3):
            raise ContextOverflow(
                f"{self.name}: Ollama cut the request (at least {least:,} tokens) to {evaluated:,}; num_ctx is "
                f"{self.window}: give it a larger one, or raise OLLAMA_CONTEXT_LENGTH where Ollama runs"
            )


async def open_ollama(name: str, wire: Wire, *, id: str, num_ctx: int = 0) -> Ollama:  # noqa: A002  # its name on the wire
    """Ask Ollama what the model can do, and settle its context for good.

    Raises:
        ModelError: Ollama does not answer, or does not have the model.
    """
    try:
        shown = await wire.fetch("/api/show", {"model": id}, seconds=20)
    except NoSuchModel as error:
        raise missing(name, id) from error
    capabilities = shown.get("capabilities") if isinstance(shown, dict) else None
    largest = _largest(shown)
    wanted = num_ctx or await _loaded(wire, id) or min(largest or DEFAULT, DEFAULT)
    return Ollama(
        name,
        wire,
        id=id,
        num_ctx=min(wanted, largest) if largest else wanted,
        calls_tools=not isinstance(capabilities, list) or "tools" in capabilities,
    )


async def best_installed(wire: Wire) -> str:
    """Name the largest installed model that can call tools; empty where there is none.

    Raises:
        ModelError: no Ollama answers.
    """
    found = await wire.fetch("/api/tags", seconds=0.5)
    entries = found.get("models") if isinstance(found, dict) else None
    local = [
        entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and not entry.get("remote_host")
    ]
    for entry in sorted(local, key=_parameters, reverse=True):
        try:
            shown = await wire.fetch("/api/show", {"model": entry["name"]}, seconds=2)
        except ModelError:
            continue
        capabilities = shown.get("capabilities") if isinstance(shown, dict) else None
        if isinstance(capabilities, list) and "tools" in capabilities:
            return str(entry["name"])
    return ""


def base_of(host: str) -> str:
    """Read OLLAMA_HOST as Ollama does: a host, with or without scheme and port; nothing is this machine."""
    scheme, given, rest = host.strip().rpartition("://")
    if not given:
        scheme, port = "http", PORT
    else:
        port = 443 if scheme == "https" else 80
    if rest.count(":") > 1 and not rest.startswith("["):
        rest = f"[{rest}]"
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        name, port = parts.hostname or "127.0.0.1", parts.port or port
    except ValueError as error:
        raise Refused(
            f"OLLAMA_HOST={quoted(host)} is no address; give a host, host:port or http://host:port"
        ) from error
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104  # a server's "everywhere" is "here" to us
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"


def missing(name: str, id: str) -> NoSuchModel:  # noqa: A002  # its name on the wire
    return NoSuchModel(f"{name}: Ollama does not have this model; get it with `ollama pull {id}`, or see `ollama list`")


async def _loaded(wire: Wire, id: str) -> int:  # noqa: A002  # its name on the wire
    """Return the context that the model is loaded with, 0 where it is not loaded or is too small."""
    try:
        found = await wire.fetch("/api/ps")
    except ModelError:
        return 0
    entries = found.get("models") if isinstance(found, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and {entry.get("name"), entry.get("model")} & {id, f"{id}:latest"}:
            size = count(entry.get("context_length"))
            return size if size >= LOADED_LEAST else 0
    return 0


def _largest(shown: object) -> int:
    known = shown.get("model_info") if isinstance(shown, dict) else None
    sizes = known.items() if isinstance(known, dict) else ()
    return max((count(size) for key, size in sizes if key.endswith(".context_length")), default=0)


def _parameters(entry: Mapping[str, object]) -> tuple[float, int]:
    details = entry.get("details")
    text = str(details.get("parameter_size") or "") if isinstance(details, dict) else ""
    try:
        size = float(text[:-1]) * {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[text[-1:].upper()]
    except (KeyError, ValueError):
        size = 0.0
    return size, count(entry.get("size"))


def _message(message: Message) -> dict[str, object]:
    said: dict[str, object] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        return said | {"tool_name": message.name, "tool_call_id": message.call_id}
    if not message.calls:
        return said
    calls = [
        {"id": call.id, "function": {"name": call.name, "arguments": object_of(call.arguments)}}
        for call in message.calls
    ]
    return said | {"tool_calls": calls}


def _said(piece: Mapping[str, object]) -> list[Delta]:
    message = piece.get("message")
    if not isinstance(message, dict):
        return []
    said = list[Delta]()
    if isinstance(thought := message.get("thinking"), str) and thought:
        said.append(Reasoning(thought))
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
