"""Chat completions: OpenAI, and everything that speaks like it."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from urllib.parse import urlsplit, urlunsplit

from ogcode.agent.model import Broken, Delta, ModelError, NoSuchModel, Options, Prices, Refused, ToolSpec
from ogcode.agent.models.chunks import Assembly, count, messages_of, tools_of
from ogcode.agent.models.refusal import complaint, quoted
from ogcode.agent.models.wire import Wire
from ogcode.agent.turn import Message

OFFICIAL = "https://api.openai.com/v1"
WINDOW = 32_768
"""Where nobody says how large it is."""

_OPTIONAL = ("stream_options", "max_completion_tokens", "max_tokens", "temperature")
_SIZES = ("n_ctx", "max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")


class OpenAI:
    def __init__(self, name: str, wire: Wire, *, id: str, window: int = WINDOW, prices: Prices | None = None) -> None:  # noqa: A002  # its name on the wire
        self.name = name
        self.window = window
        self.prices = prices
        self._wire = wire
        self._id = id
        self._rejected = set[str]()

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        body = self._body(messages, tools, options)
        assembly = Assembly(self.name)
        for _ in _OPTIONAL:
            sent = {key: value for key, value in body.items() if key not in self._rejected}
            try:
                async with aclosing(self._answer(sent, assembly)) as deltas:
                    async for delta in deltas:
                        yield delta
            except Refused as error:
                named = [key for key in _OPTIONAL if key in sent and key in str(error)]
                if not named:
                    raise
                self._rejected.add(named[0])
            else:
                return
        raise Refused(f"{self.name}: {self._wire.place} rejects every form of the request; choose another model")

    async def _answer(self, body: dict[str, object], assembly: Assembly) -> AsyncGenerator[Delta]:
        loose = list[str]()
        try:
            async with aclosing(self._wire.lines("/chat/completions", body)) as lines:
                async for line in lines:
                    if not line.startswith("data:"):
                        loose += [] if line.startswith((":", "event:", "id:", "retry:")) else [line]
                        continue
                    if (text := line[5:].strip()) == "[DONE]":
                        assembly.reason = assembly.reason or "stop"
                        break
                    for delta in assembly.add(self._chunk(text)):
                        yield delta
        except Broken:
            if not assembly.reason:
                raise
        if whole := "\n".join(loose).strip():  # a server that does not stream
            for delta in assembly.add(self._chunk(whole)):
                yield delta
        if not assembly.reason:
            raise Broken(f"{self.name}: the answer from {self._wire.place} broke off before its end; try again")
        for delta in assembly.end():
            yield delta

    def _chunk(self, text: str) -> dict[str, object]:
        try:
            chunk = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Broken(
                f"{self.name}: {self._wire.place} sent what is not JSON ({quoted(text[:80])}); try again"
            ) from error
        if not isinstance(chunk, dict):
            raise Broken(f"{self.name}: {self._wire.place} sent what is not an object ({quoted(text[:80])}); try again")
        if chunk.get("error"):
            told = json.loads(self._wire.hide(json.dumps(chunk["error"], ensure_ascii=False)))
            raise complaint(told, model=self.name, place=self._wire.place)
        return chunk

    def _body(self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: Options) -> dict[str, object]:
        longest = "max_completion_tokens" if self._wire.base == OFFICIAL else "max_tokens"
        body: dict[str, object] = {
            "model": self._id,
            "messages": messages_of(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = tools_of(tools)
        if options.max_output is not None:
            body[longest] = options.max_output
        if options.temperature is not None:
            body["temperature"] = options.temperature
        return body


def base_of(text: str) -> str:
    """Complete an API base: without a path it is `/v1`.

    Raises:
        Refused: it is no address.
    """
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
    except ValueError as error:
        raise Refused(f"{quoted(text)} is no http:// or https:// address; check the API base") from error
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") or "/v1", query="", fragment=""))


async def window_of(wire: Wire, id: str) -> int | None:  # noqa: A002  # its name on the wire
    """Ask a server how large the model's window is; None where it does not say."""
    try:
        offered = [entry for entry in await listed_by(wire) if entry.get("id") == id]
    except ModelError:
        return None
    for entry in offered[:1]:
        nested = [inner for key in ("meta", "top_provider") if isinstance(inner := entry.get(key), dict)]
        for place in (*nested, entry):
            for key in _SIZES:
                if size := count(place.get(key)):
                    return size
    try:
        root = wire.base.removesuffix("/v1")
        found = await Wire(root, model=wire.model).fetch("/props")
    except ModelError:
        return None
    settings = found.get("default_generation_settings") if isinstance(found, dict) else None
    return (count(settings.get("n_ctx")) if isinstance(settings, dict) else 0) or None


async def listed_by(wire: Wire) -> list[dict[str, object]]:
    """Ask a server for its models.

    Raises:
        ModelError: it does not answer, or not with a list.
    """
    found = await wire.fetch("/models")
    entries = found.get("data") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise NoSuchModel(f"{wire.model}: {wire.place} gives no list of its models; name one with --model")
    return [entry for entry in entries if isinstance(entry, dict)]
