import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from asking import HELLO, KEY, SHOUT, anthropic, calls_of, events, failure, said, text_of
from conftest import Serve
from fake_server import Call, Fail, Say

from ogcode.agent.events import ignore
from ogcode.agent.loop import run_turn
from ogcode.agent.model import (
    Broken,
    Delayed,
    Finished,
    Model,
    Options,
    Overloaded,
    RateLimited,
    Reasoning,
    Refused,
    Unauthorized,
)
from ogcode.agent.models.choice import open_model
from ogcode.agent.tool import tool
from ogcode.agent.turn import Image, Limits, Message, Opening, ToolCall, Usage, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.wiring import open_session


def start(place: int, **block: object) -> dict[str, object]:
    return {"type": "content_block_start", "index": place, "content_block": block}


def grown(place: int, **delta: object) -> dict[str, object]:
    return {"type": "content_block_delta", "index": place, "delta": delta}


def stop(place: int) -> dict[str, object]:
    return {"type": "content_block_stop", "index": place}


def ended(reason: str, **usage: object) -> list[dict[str, object]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


async def test_the_key_and_the_version_go_in_the_headers(serve: Serve) -> None:
    server = serve([Say("hello")])
    assert text_of(await said(anthropic(server.url))) == "hello"
    seen = server.seen[0]
    assert (seen.headers["x-api-key"], seen.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in seen.headers


async def test_the_system_text_is_not_a_message(serve: Serve) -> None:
    server = serve([Say("ok")])
    await said(anthropic(server.url))
    body = server.chats[0]
    assert [block["text"] for block in body["system"]] == ["be brief"]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    assert body["max_tokens"] == 32_000


async def test_pieces_of_arguments_and_an_empty_input_become_calls(serve: Serve) -> None:
    server = serve(
        [
            events(
                start(0, type="tool_use", id="toolu_1", name="shout", input={}),
                {"type": "ping"},
                grown(0, type="input_json_delta", partial_json=""),
                grown(0, type="input_json_delta", partial_json='{"te'),
                grown(0, type="input_json_delta", partial_json='xt": "a"}'),
                stop(0),
                start(1, type="tool_use", id="toolu_2", name="list", input={}),
                stop(1),
                *ended("tool_use"),
            )
        ]
    )
    deltas = await said(anthropic(server.url), tools=[SHOUT])
    assert calls_of(deltas) == [("shout", '{"text": "a"}'), ("list", "{}")]
    assert [delta.id for delta in deltas if isinstance(delta, ToolCall)] == ["toolu_1", "toolu_2"]


async def test_input_tokens_are_all_that_was_sent(serve: Serve) -> None:
    counted = {"input_tokens": 10, "cache_read_input_tokens": 700, "cache_creation_input_tokens": 90}
    server = serve(
        [
            events(
                {"type": "message_start", "message": {"usage": counted | {"output_tokens": 1}}},
                start(0, type="text", text=""),
                grown(0, type="text_delta", text="x"),
                stop(0),
                {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": 4}},
                *ended("end_turn", output_tokens=12, output_tokens_details={"thinking_tokens": 7}),
            )
        ]
    )
    end = (await said(anthropic(server.url)))[-1]
    assert isinstance(end, Finished)
    assert end.usage == Usage(800, 12, 700, cache_creation_input_tokens=90, reasoning_tokens=7)


@pytest.mark.parametrize(
    ("reason", "kind"), [("refusal", Refused), ("pause_turn", Broken)], ids=["refusal", "pause_turn"]
)
async def test_some_ends_are_no_answers(serve: Serve, reason: str, kind: type[Exception]) -> None:
    server = serve([events(start(0, type="text", text="well"), stop(0), *ended(reason))])
    assert type(await failure(anthropic(server.url))) is kind


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_an_answer_that_was_cut_gives_no_calls(serve: Serve, reason: str) -> None:
    cut = start(0, type="tool_use", id="t", name="shout", input={}), grown(0, type="input_json_delta", partial_json="{")
    deltas = await said(anthropic(serve([events(*cut, *ended(reason))]).url), tools=[SHOUT])
    assert [delta.reason for delta in deltas if isinstance(delta, Finished)] == ["length"]
    assert not calls_of(deltas)


async def test_a_call_that_never_ended_is_not_made(serve: Serve) -> None:
    open_call = start(0, type="tool_use", id="t", name="shout", input={})
    assert isinstance(await failure(anthropic(serve([events(open_call, *ended("tool_use"))]).url), [SHOUT]), Broken)


async def test_an_overload_inside_a_good_stream_is_an_overload(serve: Serve) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server = serve([events(start(0, type="text", text="so"), error)])
    assert type(await failure(anthropic(server.url))) is Overloaded


async def test_no_credit_is_no_mystery(serve: Serve) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}
    error = await failure(anthropic(serve([Fail(400, body)]).url))
    assert "billing" in str(error)


async def test_a_rate_limit_says_how_long(serve: Serve) -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    error = await failure(anthropic(serve([Fail(429, body, {"retry-after": "9"})]).url))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 9


@tool(effect="read")
async def shout(text: str) -> str:
    """Shout."""
    return text.upper()


async def yes(_: ToolCall) -> Verdict:
    return Verdict(allowed=True)


async def turn_of(model: Model) -> str:
    opening = Opening("be brief", "go")
    turn = await run_turn(opening, model=model, tools=[shout], emit=ignore, approve=yes, limits=Limits())
    return turn.answer


def thinking_then_calls() -> list[dict[str, object]]:
    return [
        start(0, type="thinking", thinking="", signature=""),
        grown(0, type="thinking_delta", thinking="first, "),
        grown(0, type="thinking_delta", thinking="shout"),
        grown(0, type="signature_delta", signature="c2lnbmVk"),
        stop(0),
        start(1, type="text", text=""),
        grown(1, type="text_delta", text="I shall shout."),
        stop(1),
        start(2, type="redacted_thinking", data="ZGF0YQ=="),
        stop(2),
        start(3, type="tool_use", id="toolu_1", name="shout", input={}),
        grown(3, type="input_json_delta", partial_json='{"text": "a"}'),
        stop(3),
        start(4, type="tool_use", id="toolu_2", name="shout", input={}),
        grown(4, type="input_json_delta", partial_json='{"text": "b"}'),
        stop(4),
        *ended("tool_use"),
    ]


async def test_thoughts_go_back_signed_and_in_their_places_until_the_turn_ends(serve: Serve) -> None:
    server = serve([events(*thinking_then_calls()), Say("done"), Say("again")])
    model = anthropic(server.url, "thinks")
    assert await turn_of(model) == "done"
    await turn_of(model)
    _, asked, answered = server.chats[1]["messages"]
    assert asked["content"] == [
        {"type": "thinking", "thinking": "first, shout", "signature": "c2lnbmVk"},
        {"type": "text", "text": "I shall shout."},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "tool_use", "id": "toolu_1", "name": "shout", "input": {"text": "a"}},
        {"type": "tool_use", "id": "toolu_2", "name": "shout", "input": {"text": "b"}},
    ]
    assert [block["tool_use_id"] for block in answered["content"]] == ["toolu_1", "toolu_2"]
    assert "first, shout" not in server.seen[2].raw.decode()


async def test_thoughts_are_kept_nowhere(serve: Serve, tmp_path: Path) -> None:
    server = serve([events(*thinking_then_calls()), Say("done")])
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    (tmp_path / "repo").mkdir()
    here = look_around(tmp_path / "repo", environ, utc_now, trust=True)
    session = open_session(here, anthropic(server.url), Choice(), memory="on").session
    await session.ask("go", emit=ignore, approve=yes, limits=Limits())
    assert "c2lnbmVk" in server.seen[1].raw.decode()
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"I shall shout." in content for content in kept)
    assert not any(b"c2lnbmVk" in content or b"first, shout" in content for content in kept)


async def test_thoughts_are_shown(serve: Serve) -> None:
    deltas = await said(anthropic(serve([events(*thinking_then_calls())]).url))
    assert [delta.text for delta in deltas if isinstance(delta, Reasoning)] == ["first, ", "shout"]


async def test_a_thought_whose_message_was_changed_stays_away(serve: Serve) -> None:
    server = serve([Say("ok")])
    thought = json.dumps([{"type": "thinking", "thinking": "x", "signature": "s"}, {"type": "tool_use", "id": "c9"}])
    asked = Message("assistant", "", (ToolCall("c1", "shout", "{}"),), thought=thought)
    await said(anthropic(server.url), (*HELLO, asked, Message("tool", "A", call_id="c1", name="shout")), [SHOUT])
    assert [block["type"] for block in server.chats[0]["messages"][1]["content"]] == ["tool_use"]


async def test_what_the_user_adds_follows_the_results_in_one_message(serve: Serve) -> None:
    server = serve([Say("ok")])
    asked = Message("assistant", "  ", (ToolCall("c1", "shout", "{}"),))
    history = (*HELLO, asked, Message("tool", "A", call_id="c1", name="shout"), Message("user", "and now b"))
    await said(anthropic(server.url), history, [SHOUT])
    messages = server.chats[0]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in messages[1]["content"]] == ["tool_use"]
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "text"]


async def test_calls_are_told_as_text_where_no_tool_is_offered_any_more(serve: Serve) -> None:
    server = serve([Say("ok")])
    asked = Message("assistant", "", (ToolCall("c1", "shout", '{"text": "a"}'),))
    await said(anthropic(server.url), (*HELLO, asked, Message("tool", "RESULT", call_id="c1", name="shout")))
    blocks = [block for message in server.chats[0]["messages"] for block in message["content"]]
    assert {block["type"] for block in blocks} == {"text"}
    assert "RESULT" in blocks[-1]["text"]


def marked(body: dict[str, object]) -> list[str]:
    """Where the body says that a prefix is worth keeping."""
    found = list[str]()

    def look(value: object, path: str) -> None:
        if isinstance(value, dict):
            if "cache_control" in value:
                found.append(path)
            for key, each in value.items():
                look(each, f"{path}.{key}".lstrip("."))
        elif isinstance(value, list):
            for place, each in enumerate(value):
                look(each, f"{path}.{place}")

    look(body, "")
    return found


async def test_a_step_reads_what_the_last_one_wrote(serve: Serve) -> None:
    server = serve([Call("shout", {"text": "a"}, "t1"), Call("shout", {"text": "b"}, "t2"), Say("done")])
    await turn_of(anthropic(server.url))
    bodies = server.chats
    assert [sorted(marked(body)) for body in bodies] == [
        ["messages.0.content.0", "system.0", "tools.0"],
        ["messages.0.content.0", "messages.2.content.0", "system.0", "tools.0"],
        ["messages.2.content.0", "messages.4.content.0", "system.0", "tools.0"],
    ]


async def test_what_is_asked_once_is_not_marked_as_worth_keeping(serve: Serve) -> None:
    server = serve([Say("ok")])
    await said(anthropic(server.url))
    assert marked(server.chats[0]) == ["system.0"]


NEW = ("thinks", "adaptive", "effort", "schema", "unsampled")
ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("traits", "effort", "thinking", "settings"),
    [
        (NEW, None, None, None),
        (NEW, "none", {"type": "disabled"}, None),
        (NEW, "high", ADAPTIVE, {"effort": "high"}),
        ((*NEW, "always"), None, ADAPTIVE, None),
        ((*NEW, "always"), "none", ADAPTIVE, {"effort": "low"}),
        (("thinks",), None, None, None),
        (("thinks",), "none", None, None),
        (("thinks",), "medium", {"type": "enabled", "budget_tokens": 8192}, None),
        (("thinks", "effort"), "low", {"type": "enabled", "budget_tokens": 2048}, {"effort": "low"}),
        ((), "high", None, None),
    ],
)
async def test_effort_is_asked_for_as_the_model_knows_it(
    serve: Serve, traits: Sequence[str], effort: str | None, thinking: object, settings: object
) -> None:
    server = serve([Say("ok")])
    await said(anthropic(server.url, *traits), options=Options(effort=effort, temperature=0.5))  # type: ignore[arg-type]  # of the table
    body = server.chats[0]
    assert (body.get("thinking"), body.get("output_config")) == (thinking, settings)
    thinks = thinking is not None and thinking != {"type": "disabled"}
    assert ("temperature" in body) == ("unsampled" not in traits and not thinks)


async def test_a_budget_of_thought_leaves_room_for_the_answer(serve: Serve) -> None:
    server = serve([Say("ok"), Say("ok")])
    model = anthropic(server.url, "thinks")
    await said(model, options=Options(effort="high", max_output=4000))
    await said(model, options=Options(effort="high", max_output=500))
    assert [body.get("thinking", {}).get("budget_tokens") for body in server.chats] == [2000, None]


async def test_a_model_that_always_thinks_has_room_for_it(serve: Serve) -> None:
    server = serve([Say("ok"), Say("ok")])
    await said(anthropic(server.url, *NEW), options=Options(max_output=900))
    await said(anthropic(server.url, *NEW, "always"), options=Options(max_output=900))
    assert [body["max_tokens"] for body in server.chats] == [900, 900 + 8192]


async def test_an_effort_that_is_rejected_is_left_out_and_told_once(serve: Serve) -> None:
    refused = Fail(400, {"type": "error", "error": {"message": "This model does not support the effort parameter."}})
    server = serve([refused, Say("fine"), Say("again")])
    model = anthropic(server.url, "effort")
    first, second = [await said(model, options=Options(effort="low")) for _ in range(2)]
    assert ["output_config" in body for body in server.chats] == [True, False, False]
    told = [[delta.reason for delta in deltas if isinstance(delta, Delayed)] for deltas in (first, second)]
    assert told == [["the server takes no --effort; asked without it from now on"], []]


async def test_a_schema_is_asked_for_where_the_model_follows_one(serve: Serve) -> None:
    server = serve([Say("{}"), Say("{}")])
    schema = {"type": "object"}
    await said(anthropic(server.url, "schema"), options=Options(schema=schema))
    await said(anthropic(server.url), options=Options(schema=schema))
    assert [body.get("output_config") for body in server.chats] == [
        {"format": {"type": "json_schema", "schema": schema}},
        None,
    ]


async def test_an_image_goes_before_the_words(serve: Serve) -> None:
    server = serve([Say("a cat")])
    await said(anthropic(server.url), (replace(HELLO[1], images=(Image("image/png", b"\x89PNG"),)),))
    picture = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert server.chats[0]["messages"][0]["content"] == [
        {"type": "image", "source": picture},
        {"type": "text", "text": "hello"},
    ]


async def test_a_key_opens_the_native_client_with_the_tables_numbers() -> None:
    model = await open_model("anthropic/claude-sonnet-4-5", environ={"ANTHROPIC_API_KEY": "k"})
    assert model.window == 200_000
    assert model.prices
    assert model.prices.cache_write == pytest.approx(1.25 * model.prices.input)
    fresh, written = Usage(1000), Usage(1000, cache_creation_input_tokens=1000)
    assert model.prices.cost(written) == pytest.approx(1.25 * model.prices.cost(fresh))


async def test_a_missing_key_is_named() -> None:
    with pytest.raises(Unauthorized, match="ANTHROPIC_API_KEY"):
        await open_model("anthropic/claude-sonnet-4-5", environ={})


@pytest.mark.parametrize("tail", ["", "/", "/v1"])
async def test_a_base_of_the_users_own_is_asked(serve: Serve, tail: str) -> None:
    server = serve([Say("mine")])
    environ = {"ANTHROPIC_BASE_URL": server.url + tail}
    model = await open_model("anthropic/claude-sonnet-4-5", environ=environ)
    assert text_of(await said(model)) == "mine"
    assert (server.seen[0].path, model.prices) == ("/v1/messages", None)
