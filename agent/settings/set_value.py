"""One of the user's settings changed by a person's word: the file stays as it is, letter for letter, but for that."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ogcode.agent.nearest import nearest
from ogcode.agent.settings.config import Config, ConfigBroken, config_of
from ogcode.agent.settings.kept import change_settings, parsed

Value = str | int | bool

SIMPLE: Mapping[str, type[Value]] = {
    "model": str,
    "mode": str,
    "effort": str,
    "sandbox": str,
    "memory": str,
    "memory.recall": str,
    "theme": str,
    "notify": str,
    "vim": bool,
    "screen_reader": bool,
    "status_line.command": str,
    "scribe.model": str,
    "librarian.model": str,
    "num_ctx": int,
    "api_base": str,
}
"""The settings that are one value; rules are lists, and are given where something is asked for."""

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_VALUE = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s#"',\[\]{}]+)"""


def set_value(home: Path, key: str, given: str) -> Config:
    """Set one of the user's simple settings, and give them all as they are then.

    Raises:
        ConfigBroken: there is no such setting, it can't be that, or the file is not such that it can be set.
        OSError: the file can't be written.
    """
    path, value = home / "config.toml", _read(key, given)
    config = Config()

    def change(text: str) -> str | None:
        nonlocal config
        changed = with_value(text, key, value)
        if changed is not None:
            config = config_of(parsed(changed) or {}, str(path))
        return changed

    change_settings(home, change, f"set {key}; do it")
    return config


def with_value(text: str, key: str, value: Value) -> str | None:
    """Give settings with one value set, all else letter for letter the same; None where that can't be done."""
    before = parsed(text)
    if before is None:
        return None
    table, _, name = key.rpartition(".")
    if isinstance(before.get(key), dict):  # `memory`, written as a table
        table, name = key, "switch"
    inner = before.get(table, {}) if table else before
    if not isinstance(inner, dict):
        return None
    wanted = {**before, table: {**inner, name: value}} if table else {**before, name: value}
    written = "true" if value is True else "false" if value is False else json.dumps(value, ensure_ascii=False)
    written = written.replace("\x7f", "\\u007f")
    ways = [_in_table(text, table, name, written)] if table else []
    return next((changed for changed in [*ways, _at_top(text, key, written)] if parsed(changed) == wanted), None)


def _at_top(text: str, name: str, written: str) -> str:
    """Set a value before the first table."""
    header = _HEADER.search(text)
    end = header.start() if header else len(text)
    return _set(text, 0, end, name, written)


def _in_table(text: str, table: str, name: str, written: str) -> str:
    header = re.search(rf"^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\][^\n]*(?:\n|\Z)", text, re.MULTILINE)
    if not header:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{table}]\n{name} = {written}\n"
    after = _HEADER.search(text, header.end())
    return _set(text, header.end(), after.start() if after else len(text), name, written)


def _set(text: str, start: int, end: int, name: str, written: str) -> str:
    """Put a value in the place of the one that stands in a part of the text, else behind its last line."""
    place = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=[ \t]*{_VALUE}", re.MULTILINE).search(text, start, end)
    if place:
        return text[: place.start(1)] + written + text[place.end(1) :]
    said = list(re.finditer(r"^[ \t]*[^#\s][^\n]*\n?", text[start:end], re.MULTILINE))
    at = start + said[-1].end() if said else start
    gap = "\n" if at and text[at - 1] != "\n" else ""
    return f"{text[:at]}{gap}{name} = {written}\n{text[at:]}"


def _read(key: str, given: str) -> Value:
    kind = SIMPLE.get(key)
    if kind is None:
        near = nearest(key, tuple(SIMPLE))
        hint = f"did you mean '{near}'?" if near else f"there are {', '.join(SIMPLE)}"
        raise ConfigBroken(f"'{key}' is no setting that can be set here; {hint}")
    if kind is bool:
        if given.casefold() not in _SWITCHES:
            raise ConfigBroken(f"{key} is on or off, not '{given}'")
        return _SWITCHES[given.casefold()]
    if kind is int:
        if not (given.isascii() and given.isdecimal() and len(given) < 10):
            raise ConfigBroken(f"{key} is a number, not '{given}'")
        return int(given)
    return given
