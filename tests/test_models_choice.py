import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Serve
from fake_server import Fail, Say

from ogcode.agent.model import Broken, NoSuchModel, Options, Text, ToolSpec, Unauthorized
from ogcode.agent.models.choice import KEYS, NoModel, choose, open_model
from ogcode.agent.models.prices import listed, table_file
from ogcode.agent.turn import Message, ToolCall, Usage

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:9"}


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache") / "prices.json"


async def test_the_flag_beats_the_environment_beats_the_configuration() -> None:
    environ = {"OGCODE_MODEL": "openai/b", "ANTHROPIC_API_KEY": "k"}
    assert await choose(flag="openai/a", environ=environ, configured="openai/c") == "openai/a"
    assert await choose(flag="", environ=environ, configured="openai/c") == "openai/b"
    assert await choose(flag="", environ={"ANTHROPIC_API_KEY": "k"}, configured="openai/c") == "openai/c"


@pytest.mark.parametrize("key", KEYS)
async def test_a_key_in_the_environment_chooses_its_provider(key: str) -> None:
    assert await choose(flag="", environ={key: "k"}, configured="") == KEYS[key]


@pytest.mark.parametrize("model", [model for model in KEYS.values() if not model.startswith("openrouter/")])
def test_every_default_model_is_one_that_the_table_knows(model: str, prices: Path) -> None:
    known = listed(model, cache=prices)
    assert known
    assert known.prices
    assert known.window
    assert known.window > 60_000


async def test_a_server_of_ones_own_is_asked_what_it_has(serve: Serve) -> None:
    server = serve(models=["nomic-embed-text", "qwen3"])
    environ = {"OPENAI_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"}
    assert await choose(flag="", environ=environ, configured="") == "openai/qwen3"


async def test_a_server_of_ones_own_that_is_down_is_not_passed_over() -> None:
    with pytest.raises(Broken, match="OPENAI_BASE_URL"):
        await choose(flag="", environ={"OPENAI_BASE_URL": "http://127.0.0.1:9", "OPENAI_API_KEY": "k"}, configured="")


async def test_ollamas_largest_model_with_tools_is_chosen(serve: Serve) -> None:
    plain = {"capabilities": ["completion"]}
    able = {"capabilities": ["completion", "tools"]}
    sizes = {"tiny": "600M", "big": "70.6B", "middle": "8.2B"}
    server = serve(models=list(sizes), sizes=sizes, show={"tiny": able, "big": plain, "middle": able})
    assert await choose(flag="", environ={"OLLAMA_HOST": server.url}, configured="") == "ollama/middle"


async def test_without_anything_the_ways_are_listed() -> None:
    with pytest.raises(NoModel) as caught:
        await choose(flag="", environ=NOWHERE, configured="")
    for way in ("--model", "OGCODE_MODEL", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "Ollama", "ogcode demo"):
        assert way in str(caught.value)


async def test_an_ollama_without_a_fitting_model_says_so(serve: Serve) -> None:
    with pytest.raises(NoModel, match="ollama pull"):
        await choose(flag="", environ={"OLLAMA_HOST": serve(models=[]).url}, configured="")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-5", "openai/gpt-5"),
        ("nonsense", "ollama/NAME"),
        ("qwen3:8b", "did you mean ollama/qwen3:8b"),
        ("openai/", "openai/NAME"),
        ("/x", "openai/NAME"),
        ("nobody/x", "no provider 'nobody'"),
        ("../x", "no provider"),
        ("scripted/absent.json", "absent.json"),
    ],
)
async def test_a_name_that_cannot_be_used_says_what_can(name: str, words: str, prices: Path) -> None:
    with pytest.raises(NoSuchModel, match=words):
        await open_model(name, environ={}, prices_cache=prices)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("anthropic/x", "ANTHROPIC_API_KEY"),
        ("gemini/x", "GEMINI_API_KEY"),
        ("mistral/x", "MISTRAL_API_KEY"),
    ],
)
async def test_a_missing_key_is_named(name: str, key: str, prices: Path) -> None:
    with pytest.raises(Unauthorized, match=f"{name} needs a key; set {key}"):
        await open_model(name, environ={}, prices_cache=prices)


@pytest.mark.parametrize(
    ("name", "variable", "environ", "advice"),
    [
        ("openai/fake", "OPENAI_BASE_URL", {"OPENAI_API_KEY": "k"}, "check OPENAI_API_KEY"),
        ("openai/fake", "OPENAI_BASE_URL", {}, "set OPENAI_API_KEY"),
        ("anthropic/fake", "ANTHROPIC_BASE_URL", {"ANTHROPIC_API_KEY": "k"}, "check ANTHROPIC_API_KEY"),
        ("ollama/fake", "OLLAMA_HOST", {}, "ollama signin"),
    ],
)
async def test_a_refused_key_says_where_it_comes_from(
    serve: Serve, name: str, variable: str, environ: dict[str, str], advice: str
) -> None:
    model = await open_model(name, environ={**environ, variable: serve([Fail(401)]).url})
    with pytest.raises(Unauthorized, match=advice):
        assert [delta async for delta in model.stream((Message("user", "hi"),), (), options=Options())]


async def test_a_server_without_a_list_of_models_is_not_taken_for_a_model_that_is_missing(serve: Serve) -> None:
    with pytest.raises(NoSuchModel, match="gives no list of its models; check the address"):
        await choose(flag="", environ={"OPENAI_BASE_URL": f"{serve().url}/else/v1"}, configured="")


async def test_a_known_model_has_its_window_and_prices(tmp_path: Path) -> None:
    model = await open_model("openai/gpt-5", environ={"OPENAI_API_KEY": "k"}, prices_cache=tmp_path / "prices.json")
    assert model.name == "openai/gpt-5"
    assert model.window > 200_000
    assert model.prices
    assert model.prices.cost(Usage(1000, 100, 500)) > 0


async def test_a_server_of_ones_own_has_its_own_window_and_no_price(serve: Serve) -> None:
    server = serve([Say("hello")], models=["gpt-5"], window=24_576)
    model = await open_model("openai/gpt-5", environ={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"})
    assert (model.window, model.prices) == (24_576, None)
    deltas = [delta async for delta in model.stream((Message("user", "hi"),), (), options=Options())]
    assert Text("hello") in deltas
    assert server.seen[-1].headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("told", "window"),
    [
        ({"/v1/models": {"data": [{"id": "x", "max_model_len": 24_576}]}}, 24_576),
        ({"/v1/models": {"data": [{"id": "x", "meta": {"n_ctx": 8192, "n_ctx_train": 32_768}}]}}, 8192),
        (
            {
                "/v1/models": {"data": [{"id": "x", "meta": {"n_ctx": 32_768}}]},
                "/props": {"total_slots": 4, "default_generation_settings": {"n_ctx": 8192}},
            },
            8192,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "x"}]},
                "/props": {"error": "Unexpected endpoint"},
                "/api/v0/models": {"data": [{"id": "x", "max_context_length": 32_768, "loaded_context_length": 4096}]},
            },
            4096,
        ),
    ],
    ids=["vLLM", "llama.cpp", "llama.cpp with slots", "LM Studio"],
)
async def test_a_server_tells_its_window_in_its_own_way(serve: Serve, told: dict[str, object], window: int) -> None:
    assert (await open_model("openai/x", environ={}, api_base=serve(told=told).url)).window == window


async def test_a_server_that_does_not_say_gets_a_modest_window(serve: Serve) -> None:
    url = serve().url
    assert (await open_model("openai/x", environ={}, api_base=url)).window == 32_768
    assert (await open_model("openai/x", environ={}, api_base=url, num_ctx=8192)).window == 8192


@pytest.mark.parametrize("prefix", ["ollama", "ollama_chat"])
async def test_both_of_ollamas_prefixes_mean_the_native_client(serve: Serve, prefix: str) -> None:
    server = serve([Say("hello")])
    model = await open_model(f"{prefix}/fake", environ={"OLLAMA_HOST": server.url}, num_ctx=8192)
    assert (model.name, model.window, model.prices) == ("ollama/fake", 8192, None)
    assert [delta async for delta in model.stream((Message("user", "hi"),), (), options=Options())]
    assert "/api/chat" in [seen.path for seen in server.seen]


async def test_an_ollama_that_is_not_there_names_its_variable() -> None:
    with pytest.raises(Broken, match="OLLAMA_HOST"):
        await open_model("ollama/x", environ=NOWHERE)


async def test_the_base_of_other_servers_is_not_ollamas(serve: Serve) -> None:
    environ = {"OLLAMA_HOST": serve().url}
    assert (await open_model("ollama/fake", environ=environ, api_base="http://127.0.0.1:9/v1")).window == 16_384


async def test_a_model_without_tools_is_offered_them_in_text(serve: Serve) -> None:
    call = '{"call": {"name": "shout", "arguments": {"text": "a"}}}'
    server = serve([Say(call)], show={"capabilities": ["completion"]})
    model = await open_model("ollama/fake", environ={"OLLAMA_HOST": server.url})
    shout = ToolSpec("shout", "Shout.", {"type": "object", "properties": {"text": {"type": "string"}}})
    deltas = [delta async for delta in model.stream((Message("user", "hi"),), (shout,), options=Options())]
    assert [delta.arguments for delta in deltas if isinstance(delta, ToolCall)] == ['{"text": "a"}']
    assert "tools" not in server.chats[0]


async def test_a_script_is_a_model(tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    file.write_text(json.dumps([{"role": "agent", "replies": [{"text": "hi"}]}]))
    assert (await open_model(f"scripted/{file}", environ={})).name == f"scripted/{file}"


def test_the_cache_of_prices_answers_like_the_table(tmp_path: Path) -> None:
    cache = tmp_path / "home" / "prices.json"
    first = listed("anthropic/claude-sonnet-5-5", cache=cache)
    assert first == listed("anthropic/claude-sonnet-5-5", cache=cache) == listed("anthropic/claude-sonnet-5-5")
    assert cache.stat().st_size < 500_000


def test_a_stale_or_torn_cache_of_prices_is_made_again(tmp_path: Path) -> None:
    cache = tmp_path / "prices.json"
    for text in ('{"version": [1, 2], "models": {}}', '{"vers', "[]"):
        cache.write_text(text)
        assert listed("openai/gpt-5", cache=cache)
        assert json.loads(cache.read_text())["version"] != [1, 2]


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert listed("openai/gpt-5", cache=tmp_path / "file" / "prices.json")


def test_a_cache_of_prices_in_an_older_form_is_made_again(tmp_path: Path) -> None:
    cache = tmp_path / "prices.json"
    assert listed("openai/gpt-5", cache=cache)
    now = json.loads(cache.read_text())
    rows = {name: row[0][:4] for name, row in now["models"].items()}
    cache.write_text(json.dumps({"version": now["version"][1:], "models": rows}))
    assert listed("openai/gpt-5", cache=cache) == listed("openai/gpt-5")


def test_the_table_tells_what_writing_a_cache_costs_and_how_long_an_answer_may_be(prices: Path) -> None:
    known = listed("anthropic/claude-sonnet-4-5", cache=prices)
    assert known
    assert known.prices
    assert known.prices.cache_write
    assert known.prices.cache_write > known.prices.input > known.prices.cache_read
    assert known.most == 64_000
    assert {"thinks", "schema"} <= known.traits


@pytest.mark.parametrize("name", ["openai/no-such-model", "nobody/x", "openai/claude-sonnet-5-5", ""])
def test_an_unknown_model_has_no_price(name: str, prices: Path) -> None:
    assert listed(name, cache=prices) is None


def test_the_table_is_read_without_importing_litellm() -> None:
    code = (
        "import sys; from ogcode.agent.models.prices import listed; assert listed('openai/gpt-5');"
        "print([name for name in ('litellm', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert table_file()
