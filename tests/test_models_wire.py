import asyncio
import json
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from asking import HELLO, KEY, SHOUT, anthropic, calls_of, failure, ollama, openai, said, sse, text_of
from conftest import Serve
from fake_server import Call, Cut, Fail, Raw, Reply, Say, Stall

from ogcode.agent.model import (
    Broken,
    ContextOverflow,
    Delta,
    Finished,
    Model,
    ModelError,
    NoSuchModel,
    NoToolSupport,
    Overloaded,
    RateLimited,
    Reasoning,
    Refused,
    Restarted,
    Text,
    Unauthorized,
)
from ogcode.agent.models.chunks import Assembly
from ogcode.agent.models.openai import OpenAI
from ogcode.agent.models.patient import Patient
from ogcode.agent.models.refusal import wait_of
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.models.wire import Wire
from ogcode.agent.turn import Message, ToolCall, Usage

Client = Callable[[str], Model]
EACH = pytest.mark.parametrize("client", [openai, ollama, anthropic])


def tool_chunk(*pieces: object, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"delta": {"tool_calls": list(pieces)}, "finish_reason": finish}]}


@EACH
async def test_text_reasoning_and_usage_arrive(serve: Serve, client: Client) -> None:
    server = serve([Say("it is a fine day, they say", reasoning="hmm")])
    deltas = await said(client(server.url))
    assert Reasoning("hmm") in deltas
    assert len([delta for delta in deltas if isinstance(delta, Text)]) > 1
    assert text_of(deltas) == "it is a fine day, they say"
    end = deltas[-1]
    assert isinstance(end, Finished)
    assert end.usage.input_tokens > 10


@EACH
async def test_parallel_calls_stay_apart_and_empty_arguments_survive(serve: Serve, client: Client) -> None:
    server = serve([(Say("so"), Call("shout", {"text": "é\u2028x"}), Call("list"), Call("shout", {"text": "b"}))])
    deltas = await said(client(server.url), tools=[SHOUT])
    assert [(name, json.loads(arguments)) for name, arguments in calls_of(deltas)] == [
        ("shout", {"text": "é\u2028x"}),
        ("list", {}),
        ("shout", {"text": "b"}),
    ]
    assert len({delta.id for delta in deltas if isinstance(delta, ToolCall)}) == 3


@EACH
async def test_a_history_with_broken_arguments_can_be_sent(serve: Serve, client: Client) -> None:
    server = serve([Say("ok")])
    asked = Message("assistant", "", (ToolCall("c1", "shout", '{"text": "a'), ToolCall("c2", "shout", '{"text": "b"}')))
    answers = (
        Message("tool", "error \ud800", call_id="c1", name="shout"),
        Message("tool", "B", call_id="c2", name="shout"),
    )
    await said(client(server.url), (*HELLO, asked, *answers), [SHOUT])
    sent, shown = server.chats[0]["messages"], [{"INVALID_JSON": '{"text": "a'}, {"text": "b"}]
    if client is anthropic:
        assert [block["input"] for block in sent[1]["content"]] == shown
        assert [block["tool_use_id"] for block in sent[2]["content"]] == ["c1", "c2"]
        return
    arguments = [call["function"]["arguments"] for call in sent[2]["tool_calls"]]
    assert [json.loads(each) if isinstance(each, str) else each for each in arguments] == shown
    assert [message["tool_call_id"] for message in sent[3:]] == ["c1", "c2"]


@EACH
async def test_an_answer_that_breaks_off_counts_for_nothing(serve: Serve, client: Client) -> None:
    server = serve([Cut(150, Call("shout", {"text": "a long text that will not arrive in full"}))])
    assert isinstance(await failure(client(server.url), [SHOUT]), Broken)


@EACH
async def test_a_connection_lost_after_the_end_spoils_nothing(serve: Serve, client: Client) -> None:
    server = serve([Cut(1_000_000, Say("all of it"))])
    assert text_of(await said(client(server.url))) == "all of it"


@EACH
async def test_a_garbled_stream_is_broken(serve: Serve, client: Client) -> None:
    server = serve([Raw(("data: {not json",))])
    assert isinstance(await failure(client(server.url)), Broken)


@EACH
async def test_a_line_of_sixteen_megabytes_arrives(serve: Serve, client: Client) -> None:
    long = "x" * 16_000_000
    server = serve(
        [Call("shout", {"text": long})]
        if client is not openai
        else [
            sse(
                tool_chunk(
                    {"index": 0, "id": "a", "function": {"name": "shout", "arguments": json.dumps({"text": long})}}
                ),
                "[DONE]",
            )
        ]
    )
    (call,) = calls_of(await said(client(server.url), tools=[SHOUT]))
    assert json.loads(call[1])["text"] == long


@EACH
@pytest.mark.parametrize("headers", [True, False])
async def test_cancelling_closes_the_connection_at_once(serve: Serve, client: Client, headers: bool) -> None:
    server = serve([Stall(headers=headers)])
    asking = asyncio.create_task(said(client(server.url)))
    await asyncio.to_thread(server.stalled.wait, 5)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(server.gone.wait, 5)


@EACH
@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Fail(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}), Unauthorized, "key"),
        (Fail(403, {"error": "no"}), Unauthorized, "key"),
        (Fail(404, {"error": {"message": "model 'fake' not found"}}), NoSuchModel, "fake"),
        (Fail(429, {"error": "slow down"}, {"Retry-After": "7"}), RateLimited, "slow down"),
        (Fail(429, {"error": {"message": "no quota", "code": "insufficient_quota"}}), Refused, "credit"),
        (
            Fail(400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}),
            ContextOverflow,
            "8192",
        ),
        (Fail(413, "<html>Request Entity Too Large</html>"), ContextOverflow, "window"),
        (Fail(400, {"error": "registry.ollama.ai/library/fake does not support tools"}), NoToolSupport, "--model"),
        (Fail(422, {"detail": "temperature is out of range"}), Refused, "temperature is out of range"),
        (Fail(400, {"error": {"message": "API key not valid"}}), Unauthorized, "key"),
        (Fail(408), Overloaded, "408"),
        (Fail(500, "<html>oops</html>"), Overloaded, "500"),
        (Fail(503, "busy", {"Retry-After": "3"}), Overloaded, "busy"),
        (
            Fail(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            Overloaded,
            "Over",
        ),
        (Fail(307, "", {"Location": "https://elsewhere"}), Refused, "elsewhere"),
    ],
)
async def test_a_refusal_becomes_one_of_ours(
    serve: Serve, client: Client, reply: Reply, kind: type[ModelError], words: str
) -> None:
    error = await failure(client(serve([reply]).url), [SHOUT])
    assert type(error) is kind
    assert words in str(error)
    assert "fake" in str(error)
    assert KEY not in str(error)
    assert "\n" not in str(error)
    if isinstance(error, RateLimited):
        assert error.retry_after == 7


@EACH
@pytest.mark.parametrize(
    ("headers", "seconds"), [({}, None), ({"Retry-After": "soon"}, None), ({"Retry-After": "86400"}, 86400.0)]
)
async def test_a_rate_limit_knows_how_long_only_where_the_server_says_so(
    serve: Serve, client: Client, headers: dict[str, str], seconds: float | None
) -> None:
    error = await failure(client(serve([Fail(429, "slow down", headers)]).url))
    assert isinstance(error, RateLimited)
    assert error.retry_after == seconds


@EACH
async def test_a_connection_that_is_reset_is_broken(client: Client) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n")
        await writer.drain()
        raw: socket.socket = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with await asyncio.start_server(reset, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert isinstance(await failure(client(f"http://127.0.0.1:{port}")), Broken)


async def test_a_remote_stream_that_falls_silent_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve([Stall("so far")])
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    wire = Wire("http://models.example/v1", model="openai/fake", idle=0.05)
    error = await failure(OpenAI("openai/fake", wire, id="fake"))
    assert isinstance(error, Broken)
    assert "sent nothing" in str(error)


@EACH
async def test_an_error_inside_a_good_stream_is_an_error(serve: Serve, client: Client) -> None:
    lines = ('{"error": "boom"}',) if client is ollama else ('data: {"error": {"message": "boom"}}',)
    error = await failure(client(serve([Raw(lines)]).url))
    assert type(error) is Broken
    assert "boom" in str(error)


@EACH
async def test_a_dead_endpoint_is_broken_and_says_where(client: Client) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = await failure(client(f"http://127.0.0.1:{port}"))
    assert isinstance(error, Broken)
    assert f"127.0.0.1:{port}" in str(error)


@EACH
async def test_loopback_never_goes_through_a_proxy(
    serve: Serve, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert text_of(await said(client(serve([Say("direct")]).url))) == "direct"


async def test_a_remote_endpoint_goes_through_the_proxy(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve([Say("by proxy")])
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert text_of(await said(openai("http://models.example"))) == "by proxy"
    assert proxy.seen[0].path == "http://models.example/v1/chat/completions"


async def test_a_connection_is_used_again_after_done(serve: Serve) -> None:
    server = serve([Say("one"), Say("two")])
    model = openai(server.url)
    await said(model)
    await said(model)
    assert len({seen.port for seen in server.seen}) == 1


def test_one_model_serves_two_event_loops(serve: Serve) -> None:
    model = openai(serve([Say("one"), Say("two")]).url)
    assert [text_of(asyncio.run(said(model))), text_of(asyncio.run(said(model)))] == ["one", "two"]


async def test_a_server_that_does_not_know_stream_options_is_asked_without(serve: Serve) -> None:
    refused = Fail(400, {"error": {"message": "unknown field: stream_options"}})
    server = serve([refused, Say("fine"), Say("again")])
    model = openai(server.url)
    assert [text_of(await said(model)), text_of(await said(model))] == ["fine", "again"]
    assert ["stream_options" in body for body in server.chats] == [True, False, False]


async def test_a_cut_answer_gives_no_calls(serve: Serve) -> None:
    piece = {"index": 0, "id": "a", "function": {"name": "shout", "arguments": '{"te'}}
    deltas = await said(openai(serve([sse(tool_chunk(piece, finish="length"), "[DONE]")]).url))
    assert deltas == [Finished("length", Usage())]


async def test_an_answer_that_is_not_streamed_is_read(serve: Serve) -> None:
    whole = json.dumps({"choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}]}, indent=1)
    assert text_of(await said(openai(serve([Raw((whole,), "application/json")]).url))) == "all at once"


async def test_a_stream_that_ends_without_an_end_is_broken(serve: Serve) -> None:
    server = serve([sse({"choices": [{"delta": {"content": "half"}}]})])
    assert isinstance(await failure(openai(server.url)), Broken)


A, B = {"id": "a"}, {"id": "b"}


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        (
            [
                {"index": 0, **A, "function": {"name": "sh", "arguments": ""}},
                {"index": 0, "function": {"name": "out", "arguments": '{"a"'}},
                {"index": 0, "function": {"arguments": ": 1}"}},
            ],
            [("shout", '{"a": 1}')],
        ),
        (
            [
                {"index": 0, **A, "function": {"name": "shout", "arguments": "{}"}},
                {"index": 0, **B, "function": {"name": "shout", "arguments": "{}"}},
            ],
            [("shout", "{}"), ("shout", "{}")],
        ),
        (
            [
                {**A, "function": {"name": "shout", "arguments": '{"a"'}},
                {"function": {"arguments": ": 1}"}},
                {**B, "function": {"name": "list"}},
            ],
            [("shout", '{"a": 1}'), ("list", "{}")],
        ),
        (
            [
                {"index": 0, "function": {"name": "shout", "arguments": '{"a": 1}'}},
                {"index": 0, "function": {"name": "shout", "arguments": '{"a": 2}'}},
            ],
            [("shout", '{"a": 1}'), ("shout", '{"a": 2}')],
        ),
        (
            [
                {"index": 0, **A, "function": {"name": "shout", "arguments": '{"a"'}},
                {"index": 1, **B, "function": {"name": "shout", "arguments": '{"b"'}},
                {"index": 0, "id": "new", "function": {"arguments": ": 1}"}},
                {"index": 1, "id": "newer", "function": {"arguments": ": 2}"}},
            ],
            [("shout", '{"a": 1}'), ("shout", '{"b": 2}')],
        ),
        (
            [
                {"index": 0, **A, "function": {"name": "shout", "arguments": '{"a"'}},
                {"index": 0, **A, "function": {"name": "shout", "arguments": ": 1}"}},
            ],
            [("shout", '{"a": 1}')],
        ),
        ([{"index": 0, **A, "function": {"name": "shout", "arguments": {"a": 1}}}], [("shout", '{"a": 1}')]),
        (
            [
                {"index": 0, **A, "function": {"name": "shout", "arguments": "{}"}},
                {"index": 1, **A, "function": {"name": "list", "arguments": "{}"}},
                {"index": 2, "function": {"name": "list", "arguments": "{}"}},
            ],
            [("shout", "{}"), ("list", "{}"), ("list", "{}")],
        ),
    ],
    ids=[
        "pieces",
        "index repeated",
        "no index",
        "no id",
        "an id a piece",
        "name repeated",
        "object",
        "ids missing or twice",
    ],
)
def test_calls_are_put_together(pieces: list[dict[str, object]], calls: list[tuple[str, str]]) -> None:
    assembly = Assembly("openai/fake")
    for piece in pieces:
        assembly.add(tool_chunk(piece))
    assembly.add(tool_chunk(finish="tool_calls"))
    found = assembly.end()
    assert calls_of(found) == calls
    assert len({call.id for call in found if isinstance(call, ToolCall)}) == len(calls)


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("12", 12.0),
        ("0.5", 0.5),
        ("-3", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("Fri, 02 Jan 2026 03:04:35 GMT", 30.0),
        ("Fri, 02 Jan 2026 03:00:00 GMT", None),
        ("99999999999999999999", 1e20),
        ("Fri, 99 Foo 2026", None),
        ("1e400", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(said: str, seconds: float | None) -> None:
    assert wait_of({"retry-after": said}, NOW) == seconds


async def patiently(model: ScriptedModel, **options: object) -> tuple[list[Delta], list[float]]:
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    return await said(Patient(model, sleep=sleep, random=lambda: 0.5, **options)), slept  # type: ignore[arg-type]


async def test_patience_asks_again_with_growing_pauses() -> None:
    deltas, slept = await patiently(ScriptedModel(Broken("b"), Overloaded("o"), RateLimited("r"), "at last"))
    assert slept == [1.0, 2.0, 4.0]
    assert [delta.reason for delta in deltas if isinstance(delta, Restarted)] == ["b", "o", "r"]
    assert text_of(deltas) == "at last"


async def test_patience_waits_as_long_as_the_server_says() -> None:
    _, slept = await patiently(ScriptedModel(RateLimited("r", 17.0), "fine"))
    assert slept == [17.0]


async def test_patience_does_not_wait_for_hours() -> None:
    with pytest.raises(RateLimited, match="2 hours"):
        await patiently(ScriptedModel(RateLimited("r", 7200.0), "never"))


async def test_patience_ends() -> None:
    model = ScriptedModel(*[Overloaded("o")] * 9)
    with pytest.raises(Overloaded):
        await patiently(model)
    assert len(model.asked) == 4


@pytest.mark.parametrize("kind", [Unauthorized, NoSuchModel, ContextOverflow, NoToolSupport, Refused])
async def test_patience_is_not_for_what_will_not_change(kind: type[ModelError]) -> None:
    model = ScriptedModel(kind, "never")
    with pytest.raises(kind):
        await patiently(model)
    assert len(model.asked) == 1


async def test_a_dead_local_server_fails_fast() -> None:
    slept = list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with pytest.raises(Broken, match="nothing listens"):
        await said(Patient(openai("http://127.0.0.1:9"), sleep=sleep))
    assert slept == [0.3, 0.3]


async def test_a_cancelled_wait_ends_at_once() -> None:
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.sleep(60)

    model = ScriptedModel(Overloaded("o"), "never")
    asking = asyncio.create_task(said(Patient(model, sleep=sleep)))
    await waiting.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(model.asked) == 1


def test_the_choice_of_a_model_loads_neither_httpx_nor_litellm() -> None:
    code = "import sys, ogcode.agent.models.choice; print(sorted({'httpx', 'litellm', 'asyncio'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
