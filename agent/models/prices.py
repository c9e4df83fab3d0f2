"""What models cost and hold: litellm's shipped table, read as data without importing litellm."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ogcode.agent.model import Prices

TABLE = "model_prices_and_context_window_backup.json"
FORMAT = 3
"""Of the cache; counted up when its rows change."""
TRAITS = {
    "thinks": "supports_reasoning",
    "adaptive": "supports_adaptive_thinking",
    "always": "thinking_always_on",
    "effort": "supports_output_config",
    "schema": "supports_native_structured_output",
    "unsampled": "supports_sampling_params",
    "sees": "supports_vision",
}
"""What is kept of a model's abilities, by the table's word for it; `unsampled` is one that refuses a temperature."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What the table says about a model; None is not known."""

    window: int | None
    prices: Prices | None
    most: int | None = None
    """Tokens of an answer at most."""
    traits: frozenset[str] = frozenset()
    """Of `TRAITS`, what is said of it."""


def listed(name: str, *, cache: Path | None = None) -> Listed | None:
    """Look up `provider/model`; `cache` is a file that may be written, and makes the next look cheap."""
    models = _models(cache)
    provider, _, bare = name.partition("/")
    row = models.get(name) or models.get(f"{provider}:{bare}")
    if row is None:
        return None
    (window, given, taken, cached, written, most), traits = row
    prices = None
    if given is not None and taken is not None:
        prices = Prices(given, taken, given if cached is None else cached, written)
    return Listed(_whole(window), prices, _whole(most), frozenset(traits))


def providers(*, cache: Path | None = None) -> set[str]:
    """Name the providers that the table knows."""
    return {key.partition("/")[0].partition(":")[0] for key in _models(cache)}


_PRICES = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)
_Row = tuple[list[float | None], list[str]]
"""Window; USD per token of input, output, input read from a cache, input written to it; longest answer. Then traits."""


def _models(cache: Path | None) -> dict[str, _Row]:
    table = table_file()
    if table is None:
        return {}
    stat = table.stat()
    version = [FORMAT, stat.st_size, stat.st_mtime_ns]
    if cache and (known := _cached(cache, version)) is not None:
        return known
    models = _cut(json.loads(table.read_bytes()))
    if cache:
        _write(cache, {"version": version, "models": models})
    return models


def table_file() -> Path | None:
    """Find the table. Only the package is looked up: a submodule's spec would import it."""
    spec = find_spec("litellm")
    for folder in (spec and spec.submodule_search_locations) or ():
        if (file := Path(folder) / TABLE).is_file():
            return file
    return None


def _cached(cache: Path, version: Iterable[int]) -> dict[str, _Row] | None:
    try:
        found = json.loads(cache.read_bytes())
        if found["version"] == version:
            models: dict[str, _Row] = found["models"]
            return models
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _cut(table: dict[str, dict[str, object]]) -> dict[str, _Row]:
    """Keep what answers questions. A key without its provider's prefix is kept as `provider:key`."""
    models = dict[str, _Row]()
    for key, entry in table.items():
        if entry.get("mode") not in ("chat", "responses", "completion"):
            continue
        provider = str(entry.get("litellm_provider"))
        name = key if key.startswith(f"{provider}/") else f"{provider}:{key}"
        window = entry.get("max_input_tokens", entry.get("max_tokens"))
        numbers = [window, *(entry.get(word) for word in _PRICES), entry.get("max_output_tokens")]
        traits = [trait for trait, word in TRAITS.items() if entry.get(word) is (trait != "unsampled")]
        models[name] = [value if isinstance(value, int | float) else None for value in numbers], traits
    return models


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _write(cache: Path, content: object) -> None:
    """Write the cache if that is possible; it is only a cache."""
    mine = cache.with_name(f"{cache.name}.{os.getpid()}")
    with suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text(json.dumps(content, separators=(",", ":")))
        mine.replace(cache)
