"""Which model to use, and the client that speaks to it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.model import Model, ModelError, NoSuchModel, Unauthorized

OPENAI_LIKE = {
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
}
"""Providers that speak chat completions without surprises: no need to load litellm for them."""

KEYS = {
    "OPENAI_API_KEY": "openai/gpt-6.1-sol",
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5-5",
    "GEMINI_API_KEY": "gemini/gemini-pro-latest",
    "OPENROUTER_API_KEY": "openrouter/openrouter/auto",
    "GROQ_API_KEY": "groq/openai/gpt-oss-120b",
    "MISTRAL_API_KEY": "mistral/devstral-latest",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-v4-pro",
    "XAI_API_KEY": "xai/grok-4.7",
    "CEREBRAS_API_KEY": "cerebras/gpt-oss-120b",
    "MOONSHOT_API_KEY": "moonshot/kimi-k3",
}
"""The model we take where only a key tells what the user has."""

NOT_FOR_CHAT = re.compile(r"embed|rerank|whisper|tts|moderation|image", re.IGNORECASE)


WAYS = """\
  ogcode --model ollama/qwen3:8b    name one; or in OGCODE_MODEL or config.toml
  export ANTHROPIC_API_KEY=…        or OPENAI_API_KEY, GEMINI_API_KEY, …
  export OPENAI_BASE_URL=http://…   a server of your own: llama.cpp, vLLM, LM Studio
  ollama pull qwen3:8b              a local model; OLLAMA_HOST, if it is elsewhere
  ogcode demo                       see it work without any model"""


class NoModel(ModelError):
    """Nothing says which model to use; the text has a line for each way to name one."""


async def choose(*, flag: str, environ: Mapping[str, str], configured: str) -> str:
    """Name the model to use.

    Raises:
        NoModel: there is none; the text says how to get one.
        ModelError: OPENAI_BASE_URL is set and does not answer.
    """
    return (await chosen(flag=flag, environ=environ, configured=configured)).name


@dataclass(frozen=True, slots=True)
class Chosen:
    name: str
    why: str


async def chosen(*, flag: str, environ: Mapping[str, str], configured: str, seconds: float = 5.0) -> Chosen:
    """Name the model to use, and what makes it that one; a server has `seconds` to answer. Raises as `choose`."""
    for named, source in ((flag, "--model"), (environ.get("OGCODE_MODEL", ""), "OGCODE_MODEL"), (configured, "config")):
        if named:
            return Chosen(named, f"named by {source}")
    if base := environ.get("OPENAI_BASE_URL", ""):
        return Chosen(await _first_of(base, environ, seconds), "the first that the server of OPENAI_BASE_URL lists")
    for key, model in KEYS.items():
        if environ.get(key):
            return Chosen(model, f"{key} is set")
    from ogcode.agent.models.installed import base_of, best_installed
    from ogcode.agent.models.wire import Wire

    host = environ.get("OLLAMA_HOST", "")
    try:
        if installed := await best_installed(Wire(base_of(host), model="ollama")):
            return Chosen(f"ollama/{installed}", "the largest that Ollama has and that can call tools")
        seen = "an Ollama answers but has no model that can call tools (ollama pull qwen3:8b)"
    except ModelError:
        seen = f"no Ollama answers at {host}" if host else "no Ollama answers"
    raise NoModel(f"no model to use: {seen}, and no provider's key is set. Do one of these:\n{WAYS}")


async def open_model(
    name: str,
    *,
    environ: Mapping[str, str],
    api_base: str = "",
    num_ctx: int = 0,
    prices_cache: Path | None = None,
    attempts: int = 4,
    longest: float = 60.0,
) -> Model:
    """Return the client for `provider/model`, asked up to `attempts` times on failures that pass.

    Between them it waits as a server asks, but for no more than `longest` seconds.

    `api_base` is where an OpenAI-compatible server is; it must be the user's own word, never that of a repository.

    Raises:
        ModelError: the name can't be used, its key is missing, or its local server does not have it.
    """
    client = await open_client(name, environ=environ, api_base=api_base, num_ctx=num_ctx, prices_cache=prices_cache)
    return client if name.startswith("scripted/") else steadied(client, attempts=attempts, longest=longest)


def names_cost(name: str) -> bool:
    """Tell whether a provider says itself what a request cost."""
    return name.startswith("openrouter/")


def steadied(client: Model, *, attempts: int = 4, longest: float = 60.0) -> Model:
    """Put around a client what makes its calls calls, however they come, and what asks it again."""
    from ogcode.agent.models.patient import Patient
    from ogcode.agent.models.recover import Recovering
    from ogcode.agent.models.textual import Fallback

    return Patient(Recovering(Fallback(client)), attempts=attempts, longest=longest)


async def open_client(
    name: str,
    *,
    environ: Mapping[str, str],
    api_base: str = "",
    num_ctx: int = 0,
    prices_cache: Path | None = None,
) -> Model:
    """Return what speaks to a model and no more; the arguments and errors are those of `open_model`."""
    provider, _, bare = name.partition("/")
    if provider == "scripted" and bare:
        from ogcode.agent.models.scripted import ScriptFile

        return ScriptFile(Path(bare))
    if not provider or not bare:
        raise NoSuchModel(_prefixless(name, prices_cache))
    from ogcode.agent.models.thinking import Thinking

    if provider in ("ollama", "ollama_chat"):
        return Thinking(await _ollama(bare, environ, num_ctx))
    if provider == "openai" or provider in OPENAI_LIKE:
        return Thinking(await _openai(provider, bare, environ, api_base, prices_cache, num_ctx=num_ctx))
    if provider == "anthropic":
        return _anthropic(bare, environ, prices_cache)
    return _lite(name, environ, api_base, prices_cache)


async def _first_of(base: str, environ: Mapping[str, str], seconds: float) -> str:
    from ogcode.agent.models.openai import base_of, listed_by
    from ogcode.agent.models.wire import Wire

    wire = Wire(
        base_of(base),
        model="openai",
        key=environ.get("OPENAI_API_KEY", ""),
        advice="check OPENAI_BASE_URL, or unset it",
        login="check OPENAI_API_KEY",
    )
    names = [str(entry["id"]) for entry in await listed_by(wire, seconds=seconds) if entry.get("id")]
    for name in names:
        if not NOT_FOR_CHAT.search(name):
            return f"openai/{name}"
    raise NoModel(f"the server of OPENAI_BASE_URL ({wire.place}) lists no model; name one with --model openai/NAME")


async def _ollama(bare: str, environ: Mapping[str, str], num_ctx: int) -> Model:
    from ogcode.agent.models.installed import base_of
    from ogcode.agent.models.ollama import open_ollama
    from ogcode.agent.models.wire import Wire

    name = f"ollama/{bare}"
    advice = "start it with `ollama serve`, or set OLLAMA_HOST to where it runs"
    login = "sign in where Ollama runs, with `ollama signin`"
    wire = Wire(base_of(environ.get("OLLAMA_HOST", "")), model=name, advice=advice, login=login)
    return await open_ollama(name, wire, id=bare, num_ctx=num_ctx)


async def _openai(
    provider: str, bare: str, environ: Mapping[str, str], api_base: str, cache: Path | None, *, num_ctx: int
) -> Model:
    from ogcode.agent.models.openai import OFFICIAL, WINDOW, OpenAI, base_of, window_of
    from ogcode.agent.models.prices import listed
    from ogcode.agent.models.wire import Wire

    name = f"{provider}/{bare}"
    known_base, variable = OPENAI_LIKE.get(provider, (OFFICIAL, "OPENAI_API_KEY"))
    own = api_base or (environ.get("OPENAI_BASE_URL", "") if provider == "openai" else "")
    base = base_of(own or known_base)
    key = environ.get(variable, "")
    if base == known_base and not key:
        raise Unauthorized(f"{name} needs a key; set {variable}, or name another model with --model")
    advice = "check OPENAI_BASE_URL" if own else "check the network and HTTPS_PROXY"
    wire = Wire(base, model=name, key=key, advice=advice, login=f"{'check' if key else 'set'} {variable}")
    known = listed(name, cache=cache)
    window = known.window if known else None
    if base != known_base or window is None:
        window = await window_of(wire, bare) or window or (num_ctx if base != known_base else None)
    prices = known.prices if known and base == known_base else None
    thinks = known is not None and "thinks" in known.traits
    sees = known is not None and "sees" in known.traits
    return OpenAI(name, wire, id=bare, window=window or WINDOW, prices=prices, thinks=thinks, sees=sees)


def _anthropic(bare: str, environ: Mapping[str, str], cache: Path | None) -> Model:
    from ogcode.agent.models.anthropic import HEADERS, MOST, NEWEST, OFFICIAL, WINDOW, Anthropic, base_of
    from ogcode.agent.models.prices import listed
    from ogcode.agent.models.wire import Wire

    name = f"anthropic/{bare}"
    base = base_of(environ.get("ANTHROPIC_BASE_URL", "") or OFFICIAL)
    key = environ.get("ANTHROPIC_API_KEY", "")
    if base == OFFICIAL and not key:
        raise Unauthorized(f"{name} needs a key; set ANTHROPIC_API_KEY, or name another model with --model")
    advice = "check the network and HTTPS_PROXY" if base == OFFICIAL else "check ANTHROPIC_BASE_URL"
    headers = HEADERS | ({"x-api-key": key} if key else {})
    login = f"{'check' if key else 'set'} ANTHROPIC_API_KEY"
    wire = Wire(base, model=name, key=key, headers=headers, advice=advice, login=login)
    known = listed(name, cache=cache)
    return Anthropic(
        name,
        wire,
        id=bare,
        window=(known and known.window) or WINDOW,
        prices=known.prices if known and base == OFFICIAL else None,
        most=(known and known.most) or MOST,
        traits=known.traits if known else NEWEST if base == OFFICIAL else NEWEST - {"sees"},
    )


def _lite(name: str, environ: Mapping[str, str], api_base: str, cache: Path | None) -> Model:
    from ogcode.agent.models.lite import Lite, warm
    from ogcode.agent.models.openai import WINDOW
    from ogcode.agent.models.prices import listed, providers, table_file

    provider = name.partition("/")[0]
    table = table_file()
    known_to_litellm = table and provider.isidentifier() and (table.parent / "llms" / provider).is_dir()
    if not known_to_litellm and provider not in providers(cache=cache):
        raise NoSuchModel(
            f"{name}: there is no provider '{provider}'; write ollama/NAME, openai/NAME (with OPENAI_BASE_URL "
            "for a server of your own), anthropic/NAME, gemini/NAME, or another provider of litellm"
        )
    keys = [key for key, model in {**KEYS, "GOOGLE_API_KEY": "gemini/"}.items() if model.startswith(f"{provider}/")]
    if keys and not api_base and not any(map(environ.get, keys)):
        raise Unauthorized(f"{name} needs a key; set {keys[0]}, or name another model with --model")
    warm()
    known = listed(name, cache=cache)
    return Lite(
        name,
        window=(known and known.window) or WINDOW,
        prices=known.prices if known else None,
        api_base=api_base,
        traits=known.traits if known else frozenset(),
    )


def _prefixless(name: str, cache: Path | None) -> str:
    from ogcode.agent.models.prices import listed

    likely = [
        f"{prefix}/{name}" for prefix in ("openai", "anthropic", "gemini") if listed(f"{prefix}/{name}", cache=cache)
    ]
    likely += [f"ollama/{name}"] if ":" in name and "/" not in name else []
    meant = f"did you mean {likely[0]}? Write" if likely else "write"
    return (
        f"'{name}' names no provider; {meant} ollama/NAME, openai/NAME (any OpenAI-compatible server with "
        "OPENAI_BASE_URL), anthropic/NAME, gemini/NAME, openrouter/NAME, … or scripted/FILE"
    )
