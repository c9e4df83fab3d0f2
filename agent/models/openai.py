"""Chat completions: OpenAI, and everything that speaks like it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from urllib.parse import urlunsplit

from ogcode.agent.model import Broken, Delta, ModelError, NoSuchModel, Options, Prices, Refused, ToolSpec
from ogcode.agent.models.chunks import SAID_ALOUD, UNSAID, Assembly, count, messages_of, tools_of
from ogcode.agent.models.form import Form
from ogcode.agent.models.wire import CONNECT, Wire, address_of
from ogcode.agent.turn import Message
from ogcode.agent.window.fit import longest

OFFICIAL = "https://api.openai.com/v1"
WINDOW = 32_768
"""Where nobody says how large it is."""

_OPTIONAL = {
    "stream_options": (),
    "max_completion_tokens": (),
    "max_tokens": (),
    "temperature": (),
    "reasoning_effort": ("reasoning effort", "support thinking"),
    "response_format": ("json_schema",),
    "cache_control": (),
}
_WANTED = {"reasoning_effort": "--effort"}
_SIZES = ("n_ctx", "max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")


class OpenAI:
    def __init__(
        self,
        name: str,
        wire: Wire,
        *,
        id: str,  # noqa: A002  # its name on the wire
        window: int = WINDOW,
        prices: Prices | None = None,
        thinks: bool = False,
        sees: bool = False,
    ) -> None:
        self.name = name
        self.sees = sees
        self.window = window
        self.prices = prices
        self._wire = wire
        self._id = id
        self.thinks = thinks
        self.enforces = wire.base != OFFICIAL
        """A server of one's own can; the official one asks more of a schema, and all its models have tools."""
        self._form = Form(_OPTIONAL)
        self._aloud = False
        """The server wants to see again what it thought with its calls; others would refuse that."""

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        def body() -> dict[str, object]:
            return self._body(messages, tools, options)

        wanted = _WANTED if options.effort else {}
        try:
            async with aclosing(self._form.asked(body, self._answer, wanted=wanted)) as deltas:
                async for delta in deltas:
                    yield delta
        except Refused as error:
            if self._aloud or SAID_ALOUD not in str(error):
                raise
            self._aloud = True
        else:
            return
        async with aclosing(self._form.asked(body, self._answer, wanted=wanted)) as deltas:
            async for delta in deltas:
                yield delta

    async def _answer(self, body: dict[str, object]) -> AsyncGenerator[Delta]:
        assembly = Assembly(self.name)
        loose = list[str]()
        try:
            async with aclosing(self._wire.lines("/chat/completions", body)) as lines:
                async for line in lines:
                    if not line.startswith("data:"):
                        loose += [] if line.startswith((":", "event:", "id:", "retry:")) else [line]
                        continue
                    if (text := line[5:].strip()) == "[DONE]":
                        assembly.reason = assembly.reason or UNSAID
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
        chunk = self._wire.read(text)
        if chunk.get("error"):
            raise self._wire.complaint(chunk["error"])
        return chunk

    def _body(self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: Options) -> dict[str, object]:
        said = messages_of(messages, aloud=self._aloud)
        bound = "max_completion_tokens" if self._wire.base == OFFICIAL else "max_tokens"
        body: dict[str, object] = {
            "model": self._id,
            "messages": said,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = tools_of(tools)
        if most := longest(options.max_output, self.window, thinks=self.thinks):
            body[bound] = most
        if options.temperature is not None:
            body["temperature"] = options.temperature
        if self.thinks and options.role != "agent":  # a note's few tokens would all go on thoughts
            options = replace(options, effort=options.effort or "low")
        if tools and self.name.startswith("openrouter/anthropic/"):  # the others' caches need not be told
            body |= _marked(said)
        return body | asked_of(options)


def _marked(messages: list[dict[str, object]]) -> dict[str, object]:
    """Say what is worth keeping: the system text, and all up to the end."""
    kept = {"type": "ephemeral"}
    system = [{"type": "text", "text": messages[0]["content"], "cache_control": kept}]
    return {"messages": [messages[0] | {"content": system}, *messages[1:]], "cache_control": kept}


def asked_of(options: Options) -> dict[str, object]:
    """Write how long to think and what shape the answer must have."""
    asked: dict[str, object] = {}
    if options.effort is not None:
        asked["reasoning_effort"] = options.effort
    if options.schema is not None:
        form = {"name": "answer", "schema": options.schema, "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": form}
    return asked


def base_of(text: str) -> str:
    """Complete an API base: without a path it is `/v1`.

    Raises:
        Refused: it is no address.
    """
    parts = address_of(text, "check the API base")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") or "/v1", query="", fragment=""))


async def window_of(wire: Wire, id: str) -> int | None:  # noqa: A002  # its name on the wire
    """Ask a server how large the model's window is; None where it does not say."""
    try:
        listed = next((entry for entry in await listed_by(wire) if entry.get("id") == id), {})
    except ModelError:
        return None
    size = size_in(listed)
    if size and "meta" not in listed:
        return size
    if slot := (await slots_of(wire)).context:
        return slot
    if size:
        return size
    entries = (await _told(wire, "/api/v0/models")).get("data")  # LM Studio's
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("id") == id:
            return size_in(entry) or None
    return None


@dataclass(frozen=True, slots=True)
class Slots:
    """How a llama.cpp serves; 0 is not known."""

    context: int
    """Tokens of one request and its answer: those of the server, shared out to its slots."""
    number: int


async def slots_of(wire: Wire) -> Slots:
    """Ask a server how many requests it serves at a time, and how large each may be."""
    props = await _told(wire, "/props")
    settings = props.get("default_generation_settings")
    return Slots(count(settings.get("n_ctx")) if isinstance(settings, dict) else 0, count(props.get("total_slots")))


async def _told(wire: Wire, path: str) -> dict[str, object]:
    """Ask for what only some servers tell, above the API; nothing where this one does not."""
    try:
        found = await Wire(wire.base.removesuffix("/v1"), model=wire.model).fetch(path, seconds=2)
    except ModelError:
        return {}
    return found if isinstance(found, dict) else {}


def size_in(entry: Mapping[str, object]) -> int:
    """Find a window among what a server tells of a model; 0 where it does not."""
    nested = [inner for key in ("meta", "top_provider") if isinstance(inner := entry.get(key), dict)]
    return next((size for place in (*nested, entry) for key in _SIZES if (size := count(place.get(key)))), 0)


async def listed_by(wire: Wire, *, seconds: float = CONNECT) -> list[dict[str, object]]:
    """Ask a server for its models.

    Raises:
        ModelError: it does not answer, or not with a list.
    """
    try:
        found = await wire.fetch("/models", seconds=seconds)
    except NoSuchModel:  # it has no such page
        found = None
    entries = found.get("data") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise NoSuchModel(
            f"{wire.model}: {wire.place} gives no list of its models; check the address, or name one with --model"
        )
    return [entry for entry in entries if isinstance(entry, dict)]
