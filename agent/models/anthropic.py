"""Anthropic's Messages API."""

import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from urllib.parse import urlunsplit

from ogcode.agent.arguments import shown
from ogcode.agent.model import Broken, Delta, Options, Prices, ToolSpec
from ogcode.agent.models.blocks import Blocks
from ogcode.agent.models.form import Form
from ogcode.agent.models.textual import written
from ogcode.agent.models.wire import Wire, address_of
from ogcode.agent.turn import Message
from ogcode.agent.window.fit import longest, size

OFFICIAL = "https://api.anthropic.com"
HEADERS = {"anthropic-version": "2023-06-01"}
WINDOW = 200_000
"""Where the table does not know the model."""
MOST = 32_000
"""Tokens of an answer, where the table does not know the model."""
NEWEST = frozenset(("thinks", "adaptive", "effort", "schema", "unsampled", "sees"))
"""What a model that the table does not know yet is taken for; what it rejects is left out."""

_BUDGET = {"low": 2048, "medium": 8192, "high": 16_384}
"""Tokens of thought for the models that do not divide them by themselves."""
_LEAST_BUDGET = 1024
_OPTIONAL = {"output_config": ("effort",), "thinking": (), "temperature": ()}
_WANTED = {"output_config": "--effort", "thinking": "--effort"}
_KEPT = {"type": "ephemeral"}

Block = dict[str, object]


class Anthropic:
    def __init__(
        self,
        name: str,
        wire: Wire,
        *,
        id: str,  # noqa: A002  # its name on the wire
        window: int = WINDOW,
        prices: Prices | None = None,
        most: int = MOST,
        traits: frozenset[str] = NEWEST,
    ) -> None:
        self.name = name
        self.window = window
        self.prices = prices
        self.sees = "sees" in traits
        self._wire = wire
        self._id = id
        self._most = most
        self._traits = traits
        self.thinks = "always" in traits
        self._form = Form(_OPTIONAL)

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        def body() -> dict[str, object]:
            return self._body(messages, tools, options)

        wanted = _WANTED if options.effort else {}
        async with aclosing(self._form.asked(body, self._answer, wanted=wanted)) as deltas:
            async for delta in deltas:
                yield delta

    async def _answer(self, body: dict[str, object]) -> AsyncGenerator[Delta]:
        blocks = Blocks(self.name)
        try:
            async with aclosing(self._wire.lines("/v1/messages", body)) as lines:
                async for line in lines:
                    if line.startswith("data:") and line[5:].strip() != "[DONE]":  # of gateways that know one shape
                        for delta in blocks.add(self._event(line[5:])):
                            yield delta
                    if blocks.ended:
                        break
        except Broken:
            if not blocks.reason:
                raise
        if not blocks.reason:
            raise Broken(f"{self.name}: the answer from {self._wire.place} broke off before its end; try again")
        for delta in blocks.end():
            yield delta

    def _event(self, text: str) -> dict[str, object]:
        event = self._wire.read(text)
        if event.get("type") == "error" or event.get("error"):
            raise self._wire.complaint(event.get("error") or event)
        return event

    def _body(self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: Options) -> dict[str, object]:
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        room = max(self.window // 8, self.window - size(messages, tools))
        wanted = longest(options.max_output, self.window, thinks=self.thinks)
        most = min(wanted or self._most, self._most, room)
        said = _said(messages if tools else written(messages, ()))  # calls of tools that are not offered are refused
        body: dict[str, object] = {"model": self._id, "max_tokens": most, "stream": True}
        if tools:
            described = [
                {"name": spec.name, "description": spec.description, "input_schema": spec.parameters} for spec in tools
            ]
            body["tools"] = [*described[:-1], described[-1] | {"cache_control": _KEPT}]
            _keep(said)
        if system:
            body["system"] = [{"type": "text", "text": system, "cache_control": _KEPT}]
        asked = self._asked(options, most)
        if options.temperature is not None and "unsampled" not in self._traits and not _thinks(asked):
            body["temperature"] = options.temperature
        return body | asked | {"messages": said}

    def _asked(self, options: Options, most: int) -> dict[str, object]:
        """Write how long to think and what shape the answer must have, as far as the model knows such things."""
        asked: dict[str, object] = {}
        settings: dict[str, object] = {}
        always = "always" in self._traits
        effort = options.effort or (None if options.role == "agent" else "none")
        if effort is not None and "effort" in self._traits and (always or effort != "none"):
            settings["effort"] = "low" if effort == "none" else effort
        if options.schema is not None and "schema" in self._traits:
            settings["format"] = {"type": "json_schema", "schema": options.schema}
        if settings:
            asked["output_config"] = settings
        budget = min(_BUDGET.get(effort or "", 0), most // 2)
        if "adaptive" in self._traits and (always or effort not in (None, "none")):
            asked["thinking"] = {"type": "adaptive", "display": "summarized"}
        elif "adaptive" in self._traits and effort == "none":
            asked["thinking"] = {"type": "disabled"}
        elif "thinks" in self._traits and budget >= _LEAST_BUDGET:
            asked["thinking"] = {"type": "enabled", "budget_tokens": budget}
        return asked


def base_of(text: str) -> str:
    """Complete a base as Anthropic's own programs read it: without `/v1`.

    Raises:
        Refused: it is no address.
    """
    parts = address_of(text, "check ANTHROPIC_BASE_URL")
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").removesuffix("/v1"), query="", fragment=""))


def _thinks(asked: Mapping[str, object]) -> bool:
    thinking = asked.get("thinking")
    return isinstance(thinking, dict) and thinking["type"] != "disabled"


def _said(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Write the messages; those of one side that follow one another are one."""
    said = list[tuple[str, list[Block]]]()
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if said and said[-1][0] == role:
            said[-1][1].extend(_blocks(message))
        else:
            said.append((role, _blocks(message)))
    return [{"role": role, "content": blocks} for role, blocks in said if blocks]


def _blocks(message: Message) -> list[Block]:
    pictures: list[Block] = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image.kind, "data": b64encode(image.content).decode()},
        }
        for image in message.images
    ]
    if message.role == "tool":
        content = [{"type": "text", "text": message.content}, *pictures] if pictures else message.content
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": content}]
    calls: list[Block] = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": shown(call.arguments)} for call in message.calls
    ]
    text: list[Block] = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return _in_place(message, calls) or [*pictures, *text, *calls]


def _in_place(message: Message, calls: Sequence[Block]) -> list[Block]:
    """Put thoughts where they were among text and calls; nothing where the message is not what they led to any more."""
    if not message.thought:
        return []
    blocks: list[Block] = json.loads(message.thought)
    thought_of = [block.get("id") for block in blocks if block["type"] == "tool_use"]
    text = "".join(str(block["text"]) for block in blocks if block["type"] == "text")
    if thought_of != [call["id"] for call in calls] or text != message.content:
        return []
    by_id = {call["id"]: call for call in calls}
    return [
        by_id[block["id"]] if block["type"] == "tool_use" else block
        for block in blocks
        if block["type"] != "text" or str(block["text"]).strip()
    ]


def _keep(said: Sequence[dict[str, object]]) -> None:
    """Mark the ends of the last two messages of the user's side: the next step reads what this one writes.

    The provider looks only some twenty blocks back from a mark, so where the last step ended is marked again.
    """
    ours = [message["content"] for message in said if message["role"] == "user"]
    for blocks in ours[-2:]:
        if isinstance(blocks, list):
            blocks[-1] = blocks[-1] | {"cache_control": _KEPT}
