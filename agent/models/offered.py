"""What can be used here and now: what Ollama has, what a server of one's own lists, what keys open."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ogcode.agent.model import ModelError, Prices
from ogcode.agent.models.choice import KEYS, NOT_FOR_CHAT
from ogcode.agent.models.chunks import count
from ogcode.agent.models.installed import Ability, ability, base_of, context_in, installed, loaded
from ogcode.agent.models.openai import base_of as server_base_of
from ogcode.agent.models.openai import listed_by, size_in, slots_of
from ogcode.agent.models.slot import base_here
from ogcode.agent.models.wire import Wire

SECONDS = 2.0
"""That one endpoint has for all that it is asked."""
AT_ONCE = 8

Source = Literal["ollama", "server", "key", "named"]


@dataclass(frozen=True, slots=True)
class Offered:
    name: str
    source: Source
    place: str
    """Its address, the variable that holds its key, or what names it."""
    able: Ability = field(default_factory=Ability)
    size: int = 0
    """Bytes; 0 is not known, as in all that follows."""
    parameters: float = 0.0
    context: int = 0
    """Tokens that it can take at most."""
    loaded: int | None = None
    """The context that it is loaded with; None where it is not, or where that has no meaning."""
    prices: Prices | None = None


@dataclass(frozen=True, slots=True)
class Silent:
    """An endpoint that can't be asked, and why."""

    source: Source
    place: str
    said: str


async def offered(
    *, environ: Mapping[str, str], api_base: str, prices_cache: Path | None, seconds: float = SECONDS
) -> list[Offered | Silent]:
    """Ask all endpoints at once; what does not answer in time is among the answers as `Silent`."""
    asked = [_ollama(environ.get("OLLAMA_HOST", ""), seconds)]
    if base := api_base or environ.get("OPENAI_BASE_URL", ""):
        asked.append(_server(base, environ.get("OPENAI_API_KEY", ""), seconds))
    found = [each for several in await asyncio.gather(*asked) for each in several]
    return [*found, *_keyed(environ, prices_cache, served=bool(base))]


async def _ollama(host: str, seconds: float) -> list[Offered | Silent]:
    place = host
    try:
        wire = Wire(base_of(host), model="ollama", advice="start it with `ollama serve`, or set OLLAMA_HOST")
        place = wire.place
        models = await installed(wire, seconds=seconds)
        up = await loaded(wire, seconds=seconds)
    except ModelError as error:
        return [Silent("ollama", place, str(error))]
    few = asyncio.Semaphore(AT_ONCE)

    async def told(name: str) -> Ability:
        async with few:
            try:
                return await ability(wire, name, seconds=seconds)
            except ModelError:
                return Ability()

    asking = [asyncio.ensure_future(told(model.name)) for model in models]
    if asking:
        await asyncio.wait(asking, timeout=seconds)
    able = [task.result() if task.done() else Ability() for task in asking]
    for task in asking:
        task.cancel()
    return [
        Offered(
            f"ollama/{model.name}",
            "ollama",
            place,
            able=each,
            size=model.size,
            parameters=model.parameters,
            context=each.largest,
            loaded=context_in(up, model.name),
        )
        for model, each in zip(models, able, strict=True)
        if each.talks is not False
    ]


async def _server(base: str, key: str, seconds: float) -> list[Offered | Silent]:
    place = base
    try:
        wire = Wire(
            server_base_of(base),
            model="openai",
            key=key,
            advice="check OPENAI_BASE_URL, or unset it",
            login="check OPENAI_API_KEY",
        )
        place = wire.place
        entries = await listed_by(wire, seconds=seconds)
    except ModelError as error:
        return [Silent("server", place, str(error))]
    return [
        Offered(f"openai/{entry['id']}", "server", place, context=size_in(entry), size=count(_meta(entry).get("size")))
        for entry in entries
        if isinstance(entry.get("id"), str) and not NOT_FOR_CHAT.search(str(entry["id"]))
    ]


def _meta(entry: Mapping[str, object]) -> Mapping[str, object]:
    """Find what llama.cpp tells of a model."""
    meta = entry.get("meta")
    return meta if isinstance(meta, dict) else {}


def _keyed(environ: Mapping[str, str], cache: Path | None, *, served: bool) -> list[Offered]:
    from ogcode.agent.models.prices import listed

    found = list[Offered]()
    for key, name in KEYS.items():
        if environ.get(key) and not (served and key == "OPENAI_API_KEY"):  # it is that server's then
            known = listed(name, cache=cache)
            window, prices = (known.window, known.prices) if known else (None, None)
            found.append(Offered(name, "key", key, context=window or 0, prices=prices))
    return found


@dataclass(frozen=True, slots=True)
class Loaded:
    context: int
    """Tokens of one request and its answer; 0: it is not loaded."""
    slots: int = 0
    """Requests that are served at a time; 0 is not known."""


async def loaded_now(name: str, *, environ: Mapping[str, str], api_base: str) -> Loaded | None:
    """Ask how a model is loaded; None where its server does not tell such things.

    Raises:
        ModelError: it does not answer.
    """
    provider, _, bare = name.partition("/")
    if provider == "ollama":
        up = await loaded(Wire(base_of(environ.get("OLLAMA_HOST", "")), model=name), seconds=SECONDS)
        return Loaded(context_in(up, bare) or 0)
    base = base_here(name, environ=environ, api_base=api_base)
    slots = await slots_of(Wire(base, model=name)) if base else None
    return Loaded(slots.context, slots.number) if slots and slots.context else None
