import asyncio
import threading
from collections.abc import Sequence

import pytest
from asking import HELLO, SHOUT, calls_of, failure, ollama, said, text_of
from conftest import Serve
from fake_server import Call, Fail, Late, Raw, Reply, Say

from ogcode.agent.model import (
    Broken,
    ContextOverflow,
    Delayed,
    Effort,
    NoSuchModel,
    NoToolSupport,
    Options,
    Reasoning,
    Refused,
    Restarted,
)
from ogcode.agent.models.installed import base_of
from ogcode.agent.models.ollama import Ollama, open_ollama
from ogcode.agent.models.patient import Patient
from ogcode.agent.models.recover import Recovering
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.models.textual import Fallback
from ogcode.agent.models.thinking import Thinking
from ogcode.agent.models.wire import Wire
from ogcode.agent.turn import Image, Message

THINKS = {"capabilities": ["completion", "tools", "thinking"], "model_info": {"fake.context_length": 32768}}


async def opened(url: str, num_ctx: int = 0) -> Ollama:
    return await open_ollama("ollama/fake", Wire(url, model="ollama/fake"), id="fake", num_ctx=num_ctx)


async def at_once(seconds: float) -> None:
    """Patience without the wait."""


async def test_ollama_always_gets_the_same_context(serve: Serve) -> None:
    server = serve([Say("a"), Say("b")])
    model = await opened(server.url)
    await said(model, options=Options("scribe", max_output=100, temperature=0.0))
    await said(model, tools=[SHOUT])
    assert [body["options"]["num_ctx"] for body in server.chats] == [model.window] * 2
    assert server.chats[0]["options"]["num_predict"] == 100
    assert {body["keep_alive"] for body in server.chats} == {"30m"}


@pytest.mark.parametrize(
    ("loaded", "largest", "given", "window"),
    [
        ({}, 131072, 0, 16384),
        ({}, 8192, 0, 8192),
        ({"fake": 40960}, 131072, 0, 40960),
        ({"fake": 4096}, 131072, 0, 16384),
        ({"other": 40960}, 131072, 0, 16384),
        ({"fake": 40960}, 131072, 65536, 65536),
        ({}, 32768, 65536, 32768),
    ],
)
async def test_ollamas_context_follows_what_is_loaded(
    serve: Serve, loaded: dict[str, int], largest: int, given: int, window: int
) -> None:
    server = serve(loaded=loaded, show={"model_info": {"fake.context_length": largest}})
    assert (await opened(server.url, given)).window == window


async def test_a_model_that_ollama_lacks_says_how_to_get_it(serve: Serve) -> None:
    with pytest.raises(NoSuchModel, match="ollama pull absent"):
        await open_ollama("ollama/absent", Wire(serve().url, model="ollama/absent"), id="absent")


async def test_tools_are_not_sent_to_a_model_without_them(serve: Serve) -> None:
    server = serve([Say("plain")], show={"capabilities": ["completion"]})
    model = await opened(server.url)
    assert isinstance(await failure(model, [SHOUT]), NoToolSupport)
    assert text_of(await said(model)) == "plain"


async def test_an_image_is_not_sent_to_a_model_that_cannot_see(serve: Serve) -> None:
    picture = Message("user", "what is it?", images=(Image("image/png", b"\x89PNG"),))
    able = serve([Say("a cat")], show={"capabilities": ["completion", "vision"]})
    assert text_of(await said(await opened(able.url), (picture,))) == "a cat"
    assert able.chats[0]["messages"][0]["images"] == ["iVBORw=="]
    with pytest.raises(Refused, match="can't see"):
        await said(await opened(serve().url), (picture,))


async def test_a_schema_is_enforced_by_ollama(serve: Serve) -> None:
    server = serve([Say("{}")])
    await said(await opened(server.url), options=Options(schema={"type": "object"}))
    assert server.chats[0]["format"] == {"type": "object"}


async def test_a_cold_load_is_waited_for_with_a_word_and_one_request(serve: Serve) -> None:
    there = threading.Event()
    server = serve([Late(there, Say("awake"))])
    model = Patient(await opened(server.url), sleep=at_once)
    stream = model.stream(HELLO, (), options=Options())
    assert await anext(stream) == Delayed("loading ollama/fake")
    first = asyncio.ensure_future(anext(stream))
    async with asyncio.timeout(10):
        while not server.chats:
            await asyncio.sleep(0.01)
    server.loaded["fake"] = 16384
    there.set()
    assert text_of([await first, *[delta async for delta in stream]]) == "awake"
    assert len(server.chats) == 1


async def test_nothing_is_said_where_the_model_is_loaded_as_it_is_asked_for(serve: Serve) -> None:
    server = serve([Say("at once"), Say("again")], loaded={"fake:latest": 16384})
    model = await opened(server.url)
    assert not [delta for _ in range(2) for delta in await said(model) if isinstance(delta, Delayed)]
    assert [seen.path for seen in server.seen].count("/api/ps") == 2  # when it was opened, and before the first request


async def test_a_window_smaller_than_asked_for_is_kept_to(serve: Serve) -> None:
    server = serve([Say("hello")], show={"model_info": {"fake.context_length": 131072}})
    model = await opened(server.url, 32768)
    server.loaded["fake"] = 6000
    await said(model)
    assert (model.window, server.chats[0]["options"]["num_ctx"]) == (6000, 32768)


@pytest.mark.parametrize(
    ("shown", "effort", "role", "think"),
    [
        ({}, None, "agent", True),
        ({}, "none", "agent", False),
        ({}, "high", "agent", True),
        ({}, None, "scribe", False),
        ({"details": {"family": "gptoss"}}, "high", "agent", "high"),
        ({"details": {"family": "gptoss"}}, "none", "agent", "low"),
        ({"thinking": {"values": [False, "low", "max"]}}, "low", "agent", "low"),
        ({"thinking": {"values": [False]}}, "high", "agent", None),
        ({"thinking": {"values": ["low", "medium"]}}, None, "agent", None),
        ({"capabilities": ["completion", "tools"]}, "high", "agent", None),
    ],
)
async def test_an_effort_becomes_what_the_model_can_do(
    serve: Serve, shown: dict[str, object], effort: Effort | None, role: str, think: object
) -> None:
    server = serve([Say("so")], show=THINKS | shown)
    await said(await opened(server.url), options=Options("scribe" if role == "scribe" else "agent", effort=effort))
    assert server.chats[0].get("think") == think


async def test_an_error_that_ollama_puts_into_the_key_is_seen(serve: Serve) -> None:
    error = await failure(ollama(serve([Raw(('{"error parsing tool call": "raw=\'{x\'"}',))]).url))
    assert type(error) is Broken


MISREAD = Fail(500, {"error": "error parsing tool call: raw='{\"path\": ', err=unexpected end of JSON input"})
MISREAD_LATE = Raw(('{"error parsing tool call": "raw=\'{x\'"}',))


async def test_a_call_that_ollama_cannot_read_is_asked_for_again_and_otherwise(serve: Serve) -> None:
    server = serve([MISREAD, MISREAD_LATE, Call("shout", {"text": "a"})])
    deltas = await said(Patient(ollama(server.url), sleep=at_once), tools=[SHOUT])
    assert calls_of(deltas) == [("shout", '{"text": "a"}')]
    assert len([delta for delta in deltas if isinstance(delta, Restarted)]) == 2
    warmth = [body["options"].get("temperature") for body in server.chats]
    assert warmth == [None, 0.3, 0.6]


@pytest.mark.parametrize(
    ("failures", "native"),
    [([MISREAD, MISREAD_LATE, MISREAD], 3), ([Fail(400, {"error": "fake does not support tools"})], 1)],
    ids=["misread", "refused"],
)
async def test_where_tools_do_not_work_calls_are_asked_for_in_text_from_then_on(
    serve: Serve, failures: list[Reply], native: int
) -> None:
    call = Say('{"call": {"name": "shout", "arguments": {"text": "a"}}}')
    server = serve([*failures, call, call])
    model = Patient(Recovering(Fallback(ollama(server.url))), sleep=at_once)
    for _ in range(2):
        assert calls_of(await said(model, tools=[SHOUT])) == [("shout", '{"text": "a"}')]
    assert ["tools" in body for body in server.chats] == [True] * native + [False, False]


async def test_a_model_whose_calls_cannot_be_read_counts_as_one_without_them(serve: Serve) -> None:
    server = serve([MISREAD, MISREAD, MISREAD, Say("never asked")])
    model = Patient(ollama(server.url), sleep=at_once)
    assert isinstance(await failure(model, [SHOUT]), NoToolSupport)
    assert isinstance(await failure(model, [SHOUT]), NoToolSupport)
    assert len(server.chats) == 3


async def test_a_model_too_large_for_the_memory_is_not_tried_again(serve: Serve) -> None:
    server = serve([Fail(500, {"error": "model requires more system memory (5.6 GiB) than is available (3.2 GiB)"})])
    with pytest.raises(Refused, match=r"5\.6 GiB.*smaller model"):
        await said(Patient(ollama(server.url), sleep=at_once))


@pytest.mark.parametrize(
    ("size", "num_ctx", "counted", "cut"),
    [
        (40_000, 4096, 4096, True),
        (40_000, 4096, 3000, True),
        (40_000, 16384, 4096, True),
        (18_000, 16384, 4096, True),
        (40_000, 16384, 9000, False),
        (40_000, 16384, 37, False),
        (40_000, 16384, 0, False),
        (16_000, 4096, 4000, False),
    ],
    ids=[
        "at the limit",
        "messages dropped",
        "the server's own limit",
        "a little more than the server's limit",
        "whole",
        "cached",
        "not said",
        "nearly full",
    ],
)
async def test_a_request_that_ollama_cut_is_noticed(
    serve: Serve, size: int, num_ctx: int, counted: int, cut: bool
) -> None:
    server = serve([Say("what was the question?")])
    server.prompt_tokens = counted
    asking = said(ollama(server.url, num_ctx), (Message("user", "word " * (size // 5)),))
    if cut:
        with pytest.raises(ContextOverflow, match="num_ctx"):
            await asking
    else:
        assert text_of(await asking)


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:1234", "http://box:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("http://box:1234/", "http://box:1234"),
        ("https://box/ollama", "https://box:443/ollama"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:80", "http://127.0.0.1:80"),
        ("::1", "http://[::1]:11434"),
        ("[::]:11435", "http://[::1]:11435"),
    ],
)
def test_ollama_host_is_read_in_all_its_forms(host: str, base: str) -> None:
    assert base_of(host) == base


async def thinking(pieces: Sequence[str]) -> tuple[str, str]:
    """Give what is left as the answer, and what was taken for thoughts, of a text that comes in these pieces."""
    text, thoughts = "", ""
    for delta in await said(Thinking(_Pieces(pieces))):
        match delta:
            case Reasoning(piece):
                thoughts += piece
            case Restarted():
                text = ""
            case _:
                text += text_of([delta])
    return text, thoughts


class _Pieces(ScriptedModel):
    """Says its pieces one by one."""

    def __init__(self, pieces: Sequence[str]) -> None:
        super().__init__(tuple(pieces))


@pytest.mark.parametrize(
    ("text", "answer", "thoughts"),
    [
        ("<think>a</think>b", "b", "a"),
        ("\n<thinking>\na\n</thinking>\n\nb", "b", "\na\n"),
        ("<think>\n\n</think>\n\nb", "b", "\n\n"),
        ("<think>a</think><think>c</think>b", "b", "ac"),
        ("</think>\n\nb", "b", ""),
        ("a\nmore\n</think>\n\nb `<think>`", "b `<think>`", "a\nmore"),
        ("Write `<think>` and\n</think>\naround it", "Write `<think>` and\n</think>\naround it", ""),
        ("```\n</think>\n```\nends it", "```\n</think>\n```\nends it", ""),
        ("It ends with </think> then", "It ends with </think> then", ""),
        ("<thinker>is a class", "<thinker>is a class", ""),
        ("<think>only this", "only this", "only this"),
        ("<", "<", ""),
    ],
)
async def test_thoughts_in_the_text_are_told_from_the_answer(text: str, answer: str, thoughts: str) -> None:
    cuts = [[text[:cut], text[cut:]] for cut in range(1, len(text))]
    assert {await thinking(pieces) for pieces in (*cuts, list(text), [text])} == {(answer, thoughts)}


async def test_reasoning_is_never_sent_back(serve: Serve) -> None:
    server = serve([Say("so", reasoning="secretly"), Say("then")])
    model = Thinking(await opened(server.url))
    first = text_of(await said(model))
    await said(model, (*HELLO, Message("assistant", first), Message("user", "and?")))
    assert "secretly" not in str(server.chats[1])


REPLIES: list[Reply] = [Raw(("{not json",)), Raw(('{"message": {"content": "half"}}',)), Raw(('["a list"]',))]


@pytest.mark.parametrize("reply", REPLIES)
async def test_what_is_no_answer_of_ollama_is_broken(serve: Serve, reply: Reply) -> None:
    assert isinstance(await failure(ollama(serve([reply]).url)), Broken)
