import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
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
    Options,
    Overloaded,
    RateLimited,
    Reasoning,
    Refused,
    Restarted,
    Text,
    ToolSpec,
    Unauthorized,
)
from ogcode.agent.models.chunks import Assembly
from ogcode.agent.models.ollama import Ollama, open_ollama
from ogcode.agent.models.ollama import base_of as ollama_base_of
from ogcode.agent.models.openai import OpenAI
from ogcode.agent.models.patient import Patient
from ogcode.agent.models.refusal import refusal, wait_of
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.models.wire import Wire
from ogcode.agent.turn import Message, ToolCall, Usage

HELLO = (Message("system", "be brief"), Message("user", "hello"))
SHOUT = ToolSpec("shout", "Shout.", {"type": "object", "properties": {"text": {"type": "string"}}})
KEY = "sk-secret-1234567890"


def openai(url: str) -> OpenAI:
    return OpenAI("openai/fake", Wire(f"{url}/v1", model="openai/fake", key=KEY), id="fake")


def ollama(url: str, num_ctx: int = 8192) -> Ollama:
    return Ollama("ollama/fake", Wire(url, model="ollama/fake", advice="set OLLAMA_HOST"), id="fake", num_ctx=num_ctx)


Client = Callable[[str], Model]
BOTH = pytest.mark.parametrize("client", [openai, ollama])


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
    return Raw(tuple(f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n" for chunk in chunks))


def tool_chunk(*pieces: object, finish: str | None = None) -> dict[str, object]:
    return {"choices": [{"delta": {"tool_calls": list(pieces)}, "finish_reason": finish}]}


@BOTH
async def test_text_reasoning_and_usage_arrive(serve: Serve, client: Client) -> None:
    server = serve([Say("it is a fine day, they say", reasoning="hmm")])
    deltas = await said(client(server.url))
    assert deltas[0] == Reasoning("hmm")
    assert len([delta for delta in deltas if isinstance(delta, Text)]) > 1
    assert text_of(deltas) == "it is a fine day, they say"
    end = deltas[-1]
    assert isinstance(end, Finished)
    assert end.usage.input_tokens > 10


@BOTH
async def test_parallel_calls_stay_apart_and_empty_arguments_survive(serve: Serve, client: Client) -> None:
    server = serve([(Say("so"), Call("shout", {"text": "é\u2028x"}), Call("list"), Call("shout", {"text": "b"}))])
    deltas = await said(client(server.url), tools=[SHOUT])
    assert [(name, json.loads(arguments)) for name, arguments in calls_of(deltas)] == [
        ("shout", {"text": "é\u2028x"}),
        ("list", {}),
        ("shout", {"text": "b"}),
    ]
    assert len({delta.id for delta in deltas if isinstance(delta, ToolCall)}) == 3


@BOTH
async def test_a_history_with_broken_arguments_can_be_sent(serve: Serve, client: Client) -> None:
    server = serve([Say("ok")])
    asked = Message("assistant", "", (ToolCall("c1", "shout", '{"text": "a'), ToolCall("c2", "shout", '{"text": "b"}')))
    answers = (
        Message("tool", "error \ud800", call_id="c1", name="shout"),
        Message("tool", "B", call_id="c2", name="shout"),
    )
    await said(client(server.url), (*HELLO, asked, *answers), [SHOUT])
    sent = server.chats[0]["messages"]
    arguments = [call["function"]["arguments"] for call in sent[2]["tool_calls"]]
    assert [json.loads(each) if isinstance(each, str) else each for each in arguments] == [{}, {"text": "b"}]
    assert [message["tool_call_id"] for message in sent[3:]] == ["c1", "c2"]


@BOTH
async def test_an_answer_that_breaks_off_counts_for_nothing(serve: Serve, client: Client) -> None:
    server = serve([Cut(150, Call("shout", {"text": "a long text that will not arrive in full"}))])
    assert isinstance(await failure(client(server.url), [SHOUT]), Broken)


@BOTH
async def test_a_connection_lost_after_the_end_spoils_nothing(serve: Serve, client: Client) -> None:
    server = serve([Cut(1_000_000, Say("all of it"))])
    assert text_of(await said(client(server.url))) == "all of it"


@BOTH
async def test_a_garbled_stream_is_broken(serve: Serve, client: Client) -> None:
    server = serve([Raw(("data: {not json",))])
    assert isinstance(await failure(client(server.url)), Broken)


@BOTH
async def test_a_line_of_sixteen_megabytes_arrives(serve: Serve, client: Client) -> None:
    long = "x" * 16_000_000
    server = serve(
        [Call("shout", {"text": long})]
        if client is ollama
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


@BOTH
@pytest.mark.parametrize("headers", [True, False])
async def test_cancelling_closes_the_connection_at_once(serve: Serve, client: Client, headers: bool) -> None:
    server = serve([Stall(headers=headers)])
    asking = asyncio.create_task(said(client(server.url)))
    await asyncio.to_thread(server.stalled.wait, 5)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(server.gone.wait, 5)


@BOTH
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


@BOTH
async def test_an_error_inside_a_good_stream_is_an_error(serve: Serve, client: Client) -> None:
    lines = ('data: {"error": {"message": "boom"}}',) if client is openai else ('{"error": "boom"}',)
    error = await failure(client(serve([Raw(lines)]).url))
    assert type(error) is Broken
    assert "boom" in str(error)


@BOTH
async def test_a_dead_endpoint_is_broken_and_says_where(client: Client) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = await failure(client(f"http://127.0.0.1:{port}"))
    assert isinstance(error, Broken)
    assert f"127.0.0.1:{port}" in str(error)


@BOTH
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


async def test_cached_tokens_are_counted(serve: Serve) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}}
    finish = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}
    deltas = await said(openai(serve([sse(finish, {"choices": [], "usage": usage}, "[DONE]")]).url))
    assert deltas[-1] == Finished("stop", Usage(100, 5, 60))


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


async def test_ollama_always_gets_the_same_context(serve: Serve) -> None:
    server = serve([Say("a"), Say("b")])
    model = await open_ollama("ollama/fake", Wire(server.url, model="ollama/fake"), id="fake")
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
    model = await open_ollama("ollama/fake", Wire(server.url, model="ollama/fake"), id="fake", num_ctx=given)
    assert model.window == window


async def test_a_model_that_ollama_lacks_says_how_to_get_it(serve: Serve) -> None:
    with pytest.raises(NoSuchModel, match="ollama pull absent"):
        await open_ollama("ollama/absent", Wire(serve().url, model="ollama/absent"), id="absent")


async def test_tools_are_not_sent_to_a_model_without_them(serve: Serve) -> None:
    server = serve([Say("plain")], show={"capabilities": ["completion"]})
    model = await open_ollama("ollama/fake", Wire(server.url, model="ollama/fake"), id="fake")
    assert isinstance(await failure(model, [SHOUT]), NoToolSupport)
    assert text_of(await said(model)) == "plain"


async def test_an_error_that_ollama_puts_into_the_key_is_seen(serve: Serve) -> None:
    error = await failure(ollama(serve([Raw(('{"error parsing tool call": "raw=\'{x\'"}',))]).url))
    assert type(error) is Broken


@pytest.mark.parametrize(
    ("size", "num_ctx", "counted", "cut"),
    [
        (40_000, 4096, 4096, True),
        (40_000, 4096, 3000, True),
        (40_000, 16384, 4096, True),
        (40_000, 16384, 9000, False),
        (40_000, 16384, 37, False),
        (40_000, 16384, 0, False),
        (16_000, 4096, 4000, False),
    ],
    ids=["at the limit", "messages dropped", "the server's own limit", "whole", "cached", "not said", "nearly full"],
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
    assert ollama_base_of(host) == base


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
    ],
)
def test_retry_after_is_seconds_or_a_date(said: str, seconds: float | None) -> None:
    assert wait_of({"retry-after": said}, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 213462 tokens > 200000 maximum",
        "Your input exceeds the context window of this model",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
        "the request exceeds the available context size, try increasing it",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
        "Please reduce the length of the messages or completion",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The number of tokens to keep from the initial prompt is greater than the context length",
    ],
)
def test_an_overflow_is_known_by_its_words(text: str) -> None:
    assert isinstance(refusal(400, text, model="m", place="p"), ContextOverflow)


def test_an_ordinary_refusal_is_no_overflow() -> None:
    assert isinstance(refusal(400, "max_tokens must be at least 1", model="m", place="p"), Refused)


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
