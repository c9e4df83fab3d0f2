"""Asking a client, and reading what comes."""

import json
from collections.abc import Mapping, Sequence

import pytest
from fake_server import Raw

from ogcode.agent.model import Delta, Model, ModelError, Options, Text, ToolSpec
from ogcode.agent.models.anthropic import HEADERS, Anthropic
from ogcode.agent.models.ollama import Ollama
from ogcode.agent.models.openai import OpenAI
from ogcode.agent.models.wire import Wire
from ogcode.agent.turn import Message, ToolCall

HELLO = (Message("system", "be brief"), Message("user", "hello"))
SHOUT = ToolSpec("shout", "Shout.", {"type": "object", "properties": {"text": {"type": "string"}}})
KEY = "sk-secret-1234567890"


def openai(url: str) -> OpenAI:
    return OpenAI("openai/fake", Wire(f"{url}/v1", model="openai/fake", key=KEY), id="fake")


def ollama(url: str, num_ctx: int = 8192) -> Ollama:
    return Ollama("ollama/fake", Wire(url, model="ollama/fake", advice="set OLLAMA_HOST"), id="fake", num_ctx=num_ctx)


def anthropic(url: str, *traits: str) -> Anthropic:
    wire = Wire(url, model="anthropic/fake", key=KEY, headers=HEADERS | {"x-api-key": KEY})
    return Anthropic("anthropic/fake", wire, id="fake", traits=frozenset(traits))


async def said(
    model: Model,
    messages: Sequence[Message] = HELLO,
    tools: Sequence[ToolSpec] = (),
    options: Options = Options(),  # noqa: B008  # frozen
) -> list[Delta]:
    return [delta async for delta in model.stream(messages, tools, options=options)]


def text_of(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


def calls_of(deltas: Sequence[Delta]) -> list[tuple[str, str]]:
    return [(delta.name, delta.arguments) for delta in deltas if isinstance(delta, ToolCall)]


async def failure(model: Model, tools: Sequence[ToolSpec] = ()) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await said(model, tools=tools)
    return caught.value


def sse(*chunks: object) -> Raw:
    """Chunks as OpenAI sends them."""
    return Raw(tuple(f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n" for chunk in chunks))


def events(*given: Mapping[str, object]) -> Raw:
    """Events as Anthropic sends them."""
    return Raw(tuple(f"event: {event['type']}\ndata: {json.dumps(event)}\n" for event in given))
