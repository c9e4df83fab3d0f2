"""What chat completions are asked for and give beside text and calls."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from asking import HELLO, SHOUT, calls_of, openai, said, sse, text_of
from conftest import Serve
from fake_server import Call, Fail, Raw, Say

from ogcode.agent.events import Answered, Event, ignore
from ogcode.agent.loop import run_turn
from ogcode.agent.model import Delayed, Delta, Finished, Model, Options
from ogcode.agent.models.openai import OpenAI
from ogcode.agent.models.wire import Wire
from ogcode.agent.tool import tool
from ogcode.agent.turn import Image, Limits, Opening, ToolCall, Usage, Verdict


def chunk(finish: str | None = None, **delta: object) -> dict[str, object]:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def calling(*extra: tuple[str, object]) -> dict[str, object]:
    call = {"index": 0, "id": "a", "function": {"name": "shout", "arguments": '{"text": "x"}'}} | dict(extra)
    return chunk(tool_calls=[call])


def ended(usage: object = None) -> list[object]:
    return [chunk("stop"), {"choices": [], "usage": usage}, "[DONE]"]


def usage_of(deltas: Sequence[Delta]) -> Usage:
    (end,) = [delta for delta in deltas if isinstance(delta, Finished)]
    return end.usage


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({}, Usage(100, 50)),
        ({"prompt_tokens_details": {"cached_tokens": 60}}, Usage(100, 50, 60)),
        ({"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40}, Usage(100, 50, 60)),
        ({"cached_tokens": 60, "prompt_tokens_details": None}, Usage(100, 50, 60)),
        (
            {"prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 80}, "cost": 0.25},
            Usage(100, 50, 10, 0.25, 80),
        ),
        ({"cache_creation_input_tokens": 80, "prompt_tokens_details": {}}, Usage(100, 50, 0, 0.0, 80)),
        ({"completion_tokens_details": {"reasoning_tokens": 33}}, Usage(100, 50, 0, 0.0, 0, 33)),
        ({"completion_tokens_details": {"reasoning_tokens": None}}, Usage(100, 50)),
    ],
    ids=["plain", "OpenAI", "DeepSeek", "Moonshot", "OpenRouter", "litellm", "reasoning", "null"],
)
async def test_usage_is_read_in_every_providers_words(serve: Serve, told: dict[str, object], usage: Usage) -> None:
    counted = {"prompt_tokens": 100, "completion_tokens": 50} | told
    server = serve([sse(chunk(content="x"), *ended(counted))])
    assert usage_of(await said(openai(server.url))) == usage


async def test_effort_and_schema_are_asked_for(serve: Serve) -> None:
    server = serve([Say("{}"), Say("x")])
    schema = {"type": "object", "properties": {}}
    await said(openai(server.url), options=Options(effort="low", schema=schema))
    await said(openai(server.url))
    asked, plain = server.chats
    assert asked["reasoning_effort"] == "low"
    assert asked["response_format"]["json_schema"]["schema"] == schema
    assert not {"reasoning_effort", "response_format"} & plain.keys()


async def test_who_writes_notes_and_recalls_thinks_little(serve: Serve) -> None:
    server = serve([Say("x")] * 4)
    model = OpenAI("openai/fake", Wire(f"{server.url}/v1", model="openai/fake"), id="fake", thinks=True)
    for options in (
        Options(),
        Options(role="scribe"),
        Options(role="librarian"),
        Options(role="scribe", effort="high"),
    ):
        await said(model, options=options)
    assert [body.get("reasoning_effort") for body in server.chats] == [None, "low", "low", "high"]


async def test_an_effort_that_is_rejected_is_left_out_and_told_once(serve: Serve) -> None:
    refused = Fail(400, {"error": {"message": "Unrecognized request argument supplied: reasoning_effort"}})
    server = serve([refused, Say("fine"), Say("again")])
    model = openai(server.url)
    first, second = [await said(model, options=Options(effort="none")) for _ in range(2)]
    assert ["reasoning_effort" in body for body in server.chats] == [True, False, False]
    assert [len([delta for delta in deltas if isinstance(delta, Delayed)]) for deltas in (first, second)] == [1, 0]
    assert (text_of(first), text_of(second)) == ("fine", "again")


async def test_all_that_a_server_rejects_is_left_out_one_after_the_other(serve: Serve) -> None:
    words = ["temperature does not support 0.2", "response_format is unavailable", "unknown field stream_options"]
    server = serve([*(Fail(400, {"error": {"message": text}}) for text in words), Say("plain")])
    options = Options(temperature=0.2, schema={"type": "object"}, max_output=9)
    assert text_of(await said(openai(server.url), options=options)) == "plain"
    assert server.chats[-1].keys() == {"model", "messages", "stream", "max_tokens"}


async def test_an_image_goes_with_the_words(serve: Serve) -> None:
    server = serve([Say("a cat")])
    await said(openai(server.url), (replace(HELLO[1], images=(Image("image/gif", b"GIF89a"),)),))
    assert server.chats[0]["messages"][0]["content"] == [
        {"type": "text", "text": "hello"},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}},
    ]


async def test_a_model_that_thinks_has_room_for_it(serve: Serve) -> None:
    server = serve([Say("x"), Say("x")])
    wire = Wire(f"{server.url}/v1", model="openai/fake")
    for thinks in (False, True):
        model = OpenAI("openai/fake", wire, id="fake", window=200_000, thinks=thinks)
        await said(model, options=Options(max_output=900))
    assert [body["max_tokens"] for body in server.chats] == [900, 900 + 8192]


@tool(effect="read")
async def shout(text: str) -> str:
    """Shout."""
    return text.upper()


async def yes(_: ToolCall) -> Verdict:
    return Verdict(allowed=True)


async def turn_of(model: Model, options: Options = Options()) -> list[Event]:  # noqa: B008  # frozen
    seen = list[Event]()
    opening = Opening("be brief", "go")

    limits = Limits()
    await run_turn(opening, model=model, tools=[shout], emit=seen.append, approve=yes, limits=limits, options=options)
    return seen


async def test_a_thought_that_the_server_wants_again_goes_back_from_then_on(serve: Serve) -> None:
    wants = {"error": {"message": "The reasoning_content in the thinking mode must be passed back to the API."}}
    thinking = sse(chunk(reasoning_content="first "), chunk(reasoning_content="this"), calling(), *ended())
    server = serve([thinking, Fail(400, wants), Say("done"), thinking, Say("done")])
    model = openai(server.url)
    await turn_of(model, Options(effort="high"))
    await turn_of(model)
    assert server.chats[2]["reasoning_effort"] == "high"
    said_back = [body["messages"][2].get("reasoning_content") for body in server.chats if len(body["messages"]) > 2]
    assert said_back == [None, "first this", "first this"]
    assert not any("reasoning_content" in text for text in map(json.dumps, server.chats[3]["messages"]))


async def test_what_is_signed_goes_back_as_it_came(serve: Serve) -> None:
    details: list[dict[str, object]] = [
        {"type": "reasoning.text", "index": 0, "text": "I ", "format": "f"},
        {"type": "reasoning.text", "index": 0, "text": "shout", "signature": None},
        {"type": "reasoning.text", "index": 0, "signature": "s1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "ZGF0YQ=="},
    ]
    signed = {"google": {"thought_signature": "s2"}}
    pieces = [chunk(reasoning_details=[each]) for each in details]
    server = serve([sse(*pieces, calling(("extra_content", signed)), *ended()), Say("done")])
    await turn_of(openai(server.url))
    back = server.chats[1]["messages"][2]
    assert back["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "I shout", "format": "f", "signature": "s1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "ZGF0YQ=="},
    ]
    assert back["tool_calls"][0]["extra_content"] == signed


async def test_a_cost_that_the_provider_names_is_the_cost(serve: Serve) -> None:
    told = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.0125}
    server = serve([sse(chunk(content="x"), *ended(told)), Say("no word of money")])
    named, unnamed = [
        event.usage.cost for _ in range(2) for event in await turn_of(openai(server.url)) if isinstance(event, Answered)
    ]
    assert (named, unnamed) == (0.0125, None)


@pytest.mark.parametrize("id", ["anthropic/claude", "openai/gpt"])
async def test_only_a_cache_that_must_be_told_is_told(serve: Serve, id: str) -> None:  # noqa: A002  # its name on the wire
    server = serve([Say("x"), Say("x")])
    model = OpenAI(f"openrouter/{id}", Wire(f"{server.url}/v1", model="m"), id=id)
    await said(model, tools=[SHOUT])
    await said(model)
    told, once = server.chats
    assert ("cache_control" in told, "cache_control" in once) == (id.startswith("anthropic/"), False)
    assert ("cache_control" in json.dumps(told["messages"][0])) == id.startswith("anthropic/")


async def test_a_call_in_an_answer_that_is_not_streamed_is_read(serve: Serve) -> None:
    whole = json.dumps(
        {"choices": [{"message": {"tool_calls": [{"function": {"name": "a"}}]}, "finish_reason": "stop"}]}
    )
    assert calls_of(await said(openai(serve([Raw((whole,))]).url))) == [("a", "{}")]


async def test_without_thoughts_nothing_is_sent_in_their_place(serve: Serve) -> None:
    server = serve([Call("shout", {"text": "a"}), Say("done")])
    opening = Opening("be brief", "go")
    await run_turn(opening, model=openai(server.url), tools=[shout], emit=ignore, approve=yes, limits=Limits())
    assert server.chats[1]["messages"][2].keys() == {"role", "content", "tool_calls"}
