"""What an Ollama has: where it is, its models, what each can do, and which are loaded."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ogcode.agent.model import ModelError, NoSuchModel, Refused
from ogcode.agent.models.chunks import count
from ogcode.agent.models.refusal import quoted
from ogcode.agent.models.wire import Wire

PORT = 11434
LEVELS = ("low", "medium", "high")

Thinking = bool | str
"""A value of `think`: on, off, or one of a model's own levels."""


@dataclass(frozen=True, slots=True)
class Installed:
    name: str
    size: int
    """Bytes."""
    parameters: float
    """0 is not known."""
    remote: bool
    """It runs elsewhere and is only listed here."""


@dataclass(frozen=True, slots=True)
class Ability:
    """What a model can do; None is not known."""

    talks: bool | None = None
    """An embedding model does not."""
    tools: bool | None = None
    vision: bool | None = None
    thinking: tuple[Thinking, ...] = ()
    """The values that `think` may have; none: it is not sent."""
    largest: int = 0
    """Tokens of the largest context; 0 is not known."""


async def installed(wire: Wire, *, seconds: float) -> list[Installed]:
    """List the models, the largest first.

    Raises:
        ModelError: no Ollama answers.
    """
    found = await wire.fetch("/api/tags", seconds=seconds)
    models = [
        Installed(str(entry["name"]), count(entry.get("size")), _parameters(entry), bool(entry.get("remote_host")))
        for entry in _entries(found)
        if isinstance(entry.get("name"), str)
    ]
    return sorted(models, key=lambda model: (model.parameters, model.size), reverse=True)


async def ability(wire: Wire, id: str, *, seconds: float) -> Ability:  # noqa: A002  # its name on the wire
    """Ask what a model can do.

    Raises:
        NoSuchModel: it is not installed.
        ModelError: Ollama does not answer.
    """
    try:
        shown = await wire.fetch("/api/show", {"model": id}, seconds=seconds)
    except NoSuchModel as error:
        raise missing(wire.model, id) from error
    if not isinstance(shown, dict):
        return Ability()
    told = shown.get("capabilities")
    able = told if isinstance(told, list) else None
    known = shown.get("model_info")
    sizes = known.items() if isinstance(known, dict) else ()
    return Ability(
        talks=None if able is None else "completion" in able,
        tools=None if able is None else "tools" in able,
        vision=None if able is None else "vision" in able,
        thinking=_thinking(shown, able or (), id),
        largest=max((count(size) for key, size in sizes if str(key).endswith(".context_length")), default=0),
    )


async def loaded(wire: Wire, *, seconds: float) -> dict[str, int]:
    """Tell which models are loaded, and each one's context in tokens.

    Raises:
        ModelError: Ollama does not answer.
    """
    found = dict[str, int]()
    for entry in _entries(await wire.fetch("/api/ps", seconds=seconds)):
        for key in ("name", "model"):
            if isinstance(name := entry.get(key), str):
                found[name] = count(entry.get("context_length"))
    return found


def context_in(found: Mapping[str, int], id: str) -> int | None:  # noqa: A002  # its name on the wire
    """Find a model among the loaded ones; None where it is not."""
    return found.get(id, found.get(f"{id}:latest"))


async def best_installed(wire: Wire) -> str:
    """Name the largest installed model that can call tools; empty where there is none.

    Raises:
        ModelError: no Ollama answers.
    """
    for model in await installed(wire, seconds=2):
        if not model.remote:
            try:
                able = await ability(wire, model.name, seconds=2)
            except ModelError:
                continue
            if able.tools:
                return model.name
    return ""


def base_of(host: str) -> str:
    """Read OLLAMA_HOST as Ollama does: a host, with or without scheme and port; nothing is this machine."""
    scheme, given, rest = host.strip().rpartition("://")
    if not given:
        scheme, port = "http", PORT
    else:
        port = 443 if scheme == "https" else 80
    if rest.count(":") > 1 and not rest.startswith("["):
        rest = f"[{rest}]"
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        name, port = parts.hostname or "127.0.0.1", parts.port or port
    except ValueError as error:
        raise Refused(
            f"OLLAMA_HOST={quoted(host)} is no address; give a host, host:port or http://host:port"
        ) from error
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104  # a server's "everywhere" is "here" to us
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"


def missing(name: str, id: str) -> NoSuchModel:  # noqa: A002  # its name on the wire
    return NoSuchModel(f"{name}: Ollama does not have this model; get it with `ollama pull {id}`, or see `ollama list`")


def _entries(found: object) -> list[Mapping[str, object]]:
    entries = found.get("models") if isinstance(found, dict) else None
    return [entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict)]


def _thinking(shown: Mapping[str, object], able: "list[object] | tuple[()]", id: str) -> tuple[Thinking, ...]:  # noqa: A002
    """Read which values of `think` a model takes; before Ollama told them, only gpt-oss had levels."""
    told = shown.get("thinking")
    values = told.get("values") if isinstance(told, dict) else None
    if isinstance(values, list):
        known = tuple(value for value in values if isinstance(value, bool | str))
        return known if known != (False,) else ()
    if "thinking" not in able:
        return ()
    details = shown.get("details")
    family = details.get("family") if isinstance(details, dict) else None
    return LEVELS if family == "gptoss" or id.rpartition("/")[2].startswith("gpt-oss") else (True, False)


def _parameters(entry: Mapping[str, object]) -> float:
    details = entry.get("details")
    text = str(details.get("parameter_size") or "") if isinstance(details, dict) else ""
    try:
        return float(text[:-1]) * {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[text[-1:].upper()]
    except (KeyError, ValueError):
        return 0.0
