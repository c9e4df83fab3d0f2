"""The only tests that import litellm."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from asking import sse
from conftest import Serve
from fake_server import Call, Cut, Fail, Reply, Say, Stall

from ogcode.agent.model import (
    Broken,
    ContextOverflow,
    Delta,
    Finished,
    ModelError,
    NoSuchModel,
    Options,
    Overloaded,
    RateLimited,
    Refused,
    Text,
    ToolSpec,
    Unauthorized,
)
from ogcode.agent.models.lite import Lite, load
from ogcode.agent.turn import Image, Message, ToolCall

HELLO = (Message("system", "be brief"), Message("user", "hello"))
SHOUT = ToolSpec("shout", "Shout.", {"type": "object", "properties": {"text": {"type": "string"}}})


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Import litellm in a folder with a `.env`, as a repository may have one; what it printed."""
    folder = tmp_path_factory.mktemp("repository")
    (folder / ".env").write_text("GROQ_API_KEY=from-the-repository\n")
    with chdir(folder), redirect_stdout(StringIO()) as printed:
        load()
    return printed.getvalue()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOGETHERAI_API_KEY", "sk-secret-1234567890")


def lite(url: str) -> Lite:
    return Lite("together_ai/fake", window=8192, api_base=f"{url}/v1")


async def said(model: Lite, tools: Sequence[ToolSpec] = (SHOUT,)) -> list[Delta]:
    return [delta async for delta in model.stream(HELLO, tools, options=Options(max_output=50, temperature=0.0))]


async def test_text_calls_and_usage_arrive(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    server = serve([(Say("a text of some words"), Call("shout", {"text": "x"}), Call("list", {}))])
    deltas = await said(lite(server.url))
    assert "".join(delta.text for delta in deltas if isinstance(delta, Text)) == "a text of some words"
    calls = [delta for delta in deltas if isinstance(delta, ToolCall)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("shout", {"text": "x"}), ("list", {})]
    assert isinstance(deltas[-1], Finished)
    assert deltas[-1].usage.input_tokens == pytest.approx(len(json.dumps(server.chats[0])) // 4, rel=0.2)
    assert server.chats[0]["stream_options"] == {"include_usage": True}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Fail(401, {"error": {"message": "bad key sk-secret-1234567890"}}), Unauthorized),
        (Fail(404, {"error": {"message": "no such model"}}), NoSuchModel),
        (Fail(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"}), RateLimited),
        (Fail(400, {"error": {"message": "maximum context length is 8192 tokens"}}), ContextOverflow),
        (Fail(400, {"error": {"message": "bad temperature"}}), Refused),
        (Fail(500, {"error": {"message": "oops"}}), Overloaded),
        (Fail(503, {"error": {"message": "busy"}}), Overloaded),
        (Cut(150, Say("cut off")), Broken),
    ],
)
async def test_litellms_errors_become_ours_after_one_request(
    serve: Serve, reply: Reply, kind: type[ModelError], capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve([reply, Say("a second request")])
    with pytest.raises(ModelError) as caught:
        await said(lite(server.url))
    assert type(caught.value) is kind
    assert "sk-secret" not in str(caught.value)
    assert len(server.chats) == 1
    assert capfd.readouterr() == ("", "")
    if isinstance(caught.value, RateLimited):
        assert caught.value.retry_after == 7


async def test_effort_images_and_a_schema_go_the_openai_way(serve: Serve) -> None:
    server = serve([Say("{}")])
    messages = (HELLO[0], replace(HELLO[1], images=(Image("image/gif", b"GIF89a"),)))
    options = Options(effort="low", schema={"type": "object", "properties": {}})
    _ = [delta async for delta in lite(server.url).stream(messages, (), options=options)]
    body = server.chats[0]
    assert body["messages"][1]["content"][1]["image_url"]["url"] == "data:image/gif;base64,R0lGODlh"
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object", "properties": {}}


async def test_reads_of_a_cache_are_counted(serve: Serve) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    usage |= {"prompt_tokens_details": {"cached_tokens": 60}}  # type: ignore[dict-item]  # JSON
    finish = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}
    of_each = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "fake"}
    server = serve([sse(of_each | finish, of_each | {"choices": [], "usage": usage}, "[DONE]")])
    (end,) = [delta for delta in await said(lite(server.url)) if isinstance(delta, Finished)]
    assert (end.usage.input_tokens, end.usage.cache_read_input_tokens) == (100, 60)


async def test_a_key_that_nobody_has_given_is_not_waited_for() -> None:
    with pytest.raises(Unauthorized, match=r"^azure/fake needs a key \(.*AZURE_OPENAI_API_KEY") as caught:
        await said(Lite("azure/fake", window=8192, api_base="http://127.0.0.1:9"))
    assert "Traceback" not in str(caught.value)


async def test_a_dead_endpoint_is_broken() -> None:
    with pytest.raises(Broken):
        await said(lite("http://127.0.0.1:9"))


async def test_cancelling_closes_the_connection_at_once(serve: Serve) -> None:
    server = serve([Stall("some words")])
    asking = asyncio.create_task(said(lite(server.url)))
    await asyncio.to_thread(server.stalled.wait, 5)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(server.gone.wait, 5)


def test_loading_prints_nothing(loaded: str) -> None:
    assert loaded == ""


def test_loading_reads_no_env_file() -> None:
    assert os.environ.get("GROQ_API_KEY") != "from-the-repository"


def test_its_loggers_are_silent() -> None:
    assert not logging.getLogger("LiteLLM").isEnabledFor(logging.ERROR)


WARMED = """
import asyncio, sys, threading
from ogcode.agent.models.choice import open_model
asyncio.run(open_model(sys.argv[1], environ={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}))
for thread in threading.enumerate():
    if thread.name == "litellm":
        thread.join()
print("litellm" in sys.modules)
"""


@pytest.mark.parametrize(
    ("name", "warmed"), [("groq_like/x", True), ("anthropic/claude-sonnet-4-5", False), ("openai/gpt-5", False)]
)
def test_it_is_warmed_once_a_model_needs_it_and_for_no_other(tmp_path: Path, name: str, warmed: bool) -> None:
    package = tmp_path / "litellm"  # of little weight: what counts is who imports it
    (package / "llms" / "groq_like").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model_prices_and_context_window_backup.json").write_text(
        json.dumps({"gpt-5": {"mode": "chat", "litellm_provider": "openai", "max_input_tokens": 9}})
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); exec({WARMED!r})"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, name], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == str(warmed)
