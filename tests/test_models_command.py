import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Serve
from fake_server import Body, Call, Fail, FakeServer, Reply, Say
from stage_cli import Place, new_place

KEY = "sk-secret-1234567890"
NOWHERE = {"OLLAMA_HOST": "127.0.0.1:9"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path, git=False, indoors=True)


def rows(place: Place, command: str, environ: dict[str, str], code: int = 0) -> list[dict[str, Any]]:
    done = place.run(command, "--json", **environ)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def ollama(serve: Serve) -> FakeServer:
    shown = {
        "qwen3:8b": {
            "capabilities": ["completion", "tools", "thinking"],
            "model_info": {"qwen3.context_length": 40960},
            "thinking": {"values": [True, False]},
        },
        "llava:7b": {"capabilities": ["completion", "vision"], "model_info": {"llama.context_length": 4096}},
        "nomic-embed-text": {"capabilities": ["embedding"]},
    }
    sizes = {"qwen3:8b": "8.2B", "llava:7b": "7B", "nomic-embed-text": "137M"}
    return serve(models=list(sizes), sizes=sizes, show=shown, loaded={"qwen3:8b": 16384})


def test_what_can_be_used_is_listed_with_what_it_can_do(place: Place, serve: Serve) -> None:
    environ = {"OLLAMA_HOST": ollama(serve).url, "ANTHROPIC_API_KEY": KEY}
    found = {row["model"]: row for row in rows(place, "models", environ)}
    assert list(found) == ["ollama/qwen3:8b", "ollama/llava:7b", "anthropic/claude-sonnet-5-5"]
    qwen, llava, claude = found.values()
    assert (qwen["context"], qwen["loaded"], qwen["tools"], qwen["thinking"]) == (40960, 16384, True, [True, False])
    assert (llava["loaded"], llava["tools"], llava["vision"]) == (None, False, True)
    assert (claude["chosen"], claude["why"]) == (True, "ANTHROPIC_API_KEY is set")
    assert claude["prices"]["input"] > 0


def test_a_person_sees_which_one_is_taken_and_why_and_no_key(place: Place, serve: Serve) -> None:
    done = place.run("models", OLLAMA_HOST=ollama(serve).url, OPENROUTER_API_KEY=KEY, OGCODE_MODEL="ollama/qwen3:8b")
    assert "* ollama/qwen3:8b  8.2B parameters; " in done.stdout
    assert "context 40,960; tools, thinking; loaded with 16,384" in done.stdout
    assert "  openrouter/openrouter/auto" in done.stdout
    assert done.stdout.splitlines()[-1] == "chosen: ollama/qwen3:8b (named by OGCODE_MODEL)"
    assert KEY not in done.stdout + done.stderr


def test_a_named_model_that_nothing_lists_is_listed_too(place: Place) -> None:
    found = rows(place, "models", {"OGCODE_MODEL": "groq/x"} | NOWHERE)
    assert [(row["model"], row["chosen"]) for row in found if "model" in row] == [("groq/x", True)]


def test_a_server_of_ones_own_tells_its_windows(place: Place, serve: Serve) -> None:
    server = serve(models=["qwen3", "text-embedding-3"], window=24_576)
    found = rows(place, "models", {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY} | NOWHERE)
    assert [(row["model"], row["context"], row["chosen"]) for row in found if "model" in row] == [
        ("openai/qwen3", 24_576, True)
    ]


@pytest.fixture
def deaf() -> Iterator[str]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_an_endpoint_that_does_not_answer_is_a_line(place: Place, deaf: str) -> None:
    found = rows(place, "models", {"OLLAMA_HOST": deaf, "ANTHROPIC_API_KEY": KEY})
    assert [row["source"] for row in found] == ["key", "ollama"]
    assert "did not answer within 2 s" in found[1]["failure"]


def test_with_nothing_to_use_the_ways_to_get_something_are_told(place: Place) -> None:
    done = place.run("models", **NOWHERE)
    assert done.returncode == 1
    assert "nothing listens at 127.0.0.1:9" in done.stdout
    assert "ogcode demo" in done.stderr


def pinging(body: Body) -> Reply:
    """Call the tool with the word that is asked for, then tell what it gave back."""
    said = str(body["messages"][-1]["content"])
    if body["messages"][-1]["role"] == "tool":
        return Say(f"It gave back {said}.")
    return Call("ping", {"word": said.partition("with the word ")[2].partition(".")[0]})


def checks(place: Place, environ: dict[str, str], code: int = 0) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in rows(place, "doctor", environ, code)}


def test_the_doctor_has_a_tool_called_and_tells_how_that_went(place: Place, serve: Serve) -> None:
    server = serve(pinging, loaded={"fake": 16384})
    found = checks(place, {"OLLAMA_HOST": server.url})
    assert {name: found[name]["state"] for name in ("model", "endpoint", "tools", "loaded")} == dict.fromkeys(
        ("model", "endpoint", "tools", "loaded"), "ok"
    )
    tools = found["tools"]
    assert (tools["calls"], tools["exact"], tools["answered"], tools["requests"]) == ("native", True, True, 2)
    assert tools["input_tokens"] > 100
    assert (found["endpoint"]["window"], found["loaded"]["context"]) == (16384, 16384)
    assert not (place.folder / ".ogcode").exists()


def test_the_doctor_tells_calls_that_come_as_text(place: Place, serve: Serve) -> None:
    call = '<tool_call>{"name": "ping", "arguments": {"word": "abc"}}</tool_call>'
    server = serve([Say(call), Say("it is done")])
    tools = checks(place, {"OLLAMA_HOST": server.url})["tools"]
    assert (tools["calls"], tools["exact"], tools["answered"], tools["state"]) == ("text", False, False, "warning")


def test_a_model_that_calls_nothing_is_sick(place: Place, serve: Serve) -> None:
    found = checks(place, {"OLLAMA_HOST": serve(lambda _: Say("I would call ping.")).url}, code=1)
    assert (found["tools"]["state"], found["tools"]["calls"]) == ("failed", "none")
    assert "I would call ping." in found["tools"]["said"]


@pytest.mark.parametrize("reply", [Fail(401, {"error": f"bad key {KEY}"}), Fail(404, {"error": "no such model"})])
def test_what_is_wrong_with_a_model_is_said_without_its_key(place: Place, serve: Serve, reply: Fail) -> None:
    server = serve(lambda _: reply)
    environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}
    done = place.run("doctor", "-m", "openai/fake", **environ)
    assert done.returncode == 1
    assert "failed  tools: openai/fake" in done.stdout
    assert KEY not in done.stdout + done.stderr


def test_without_a_model_the_doctor_still_looks_at_the_place(place: Place) -> None:
    found = checks(place, NOWHERE, code=1)
    assert (found["model"]["state"], found["memory"]["state"]) == ("failed", "ok")
    assert found["model"]["said"].endswith("no provider's key is set; ogcode models lists the ways to one")


def test_a_loaded_context_that_is_too_small_is_a_warning(place: Place, serve: Serve) -> None:
    server = serve(pinging, told={"/props": {"total_slots": 4, "default_generation_settings": {"n_ctx": 2048}}})
    server.told["/v1/models"] = {"data": [{"id": "fake", "max_model_len": 8192}]}
    found = checks(place, {"OPENAI_BASE_URL": server.url})["loaded"]
    assert (found["state"], found["context"], found["slots"]) == ("warning", 2048, 4)
