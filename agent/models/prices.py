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


@dataclass(frozen=True, slots=True)
class Listed:
    """What the table says about a model; None is not known."""

    window: int | None
    prices: Prices | None


def listed(name: str, *, cache: Path | None = None) -> Listed | None:
    """Look up `provider/model`; `cache` is a file that may be written, and makes the next look cheap."""
    models = _models(cache)
    provider, _, bare = name.partition("/")
    row = models.get(name) or models.get(f"{provider}:{bare}")
    if row is None:
        return None
    window, given, taken, cached = row
    prices = None if given is None or taken is None else Prices(given, taken, given if cached is None else cached)
    return Listed(None if window is None else int(window), prices)


def providers(*, cache: Path | None = None) -> set[str]:
    """Name the providers that the table knows."""
    return {key.partition("/")[0].partition(":")[0] for key in _models(cache)}


_Row = tuple[float | None, float | None, float | None, float | None]
"""Window, then USD per token of input, output and cached input."""


def _models(cache: Path | None) -> dict[str, _Row]:
    table = table_file()
    if table is None:
        return {}
    stat = table.stat()
    version = [stat.st_size, stat.st_mtime_ns]
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
        models[name] = (
            _number(entry.get("max_input_tokens", entry.get("max_tokens"))),
            _number(entry.get("input_cost_per_token")),
            _number(entry.get("output_cost_per_token")),
            _number(entry.get("cache_read_input_token_cost")),
        )
    return models


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _write(cache: Path, content: object) -> None:
    """Write the cache if that is possible; it is only a cache."""
    mine = cache.with_name(f"{cache.name}.{os.getpid()}")
    with suppress(OSError):
        cache.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text(json.dumps(content, separators=(",", ":")))
        mine.replace(cache)
