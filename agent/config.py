"""Settings: the user's, and where the folder is trusted the project's; a project can't say where models live."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ogcode.agent.memory.switch import SCOPES, SWITCHES, MemorySwitch, RecallScope, narrower_scope, narrower_switch
from ogcode.agent.model import EFFORTS, Effort
from ogcode.agent.nearest import nearest
from ogcode.agent.permissions import Mode, Rules
from ogcode.agent.sandbox.layout import LEVELS, Level


class ConfigBroken(Exception):
    """A settings file can't be used; the text says which, where and what to do."""


@dataclass(frozen=True, slots=True)
class Config:
    model: str = ""
    mode: Mode = "ask"
    api_base: str = ""
    """Of OpenAI-compatible models. The user's file only."""
    num_ctx: int = 0
    """Window to ask Ollama for, in tokens; 0 leaves the choice to ogcode."""
    effort: Effort | None = None
    """How long a model that can think is to think; None leaves it to the provider."""
    scribe_model: str = ""
    """Empty: the session's."""
    librarian_model: str = ""
    sandbox: Level | None = None
    """How far commands are closed in; None is `ws` where this machine can, and a notice where it can't."""
    memory: MemorySwitch = "on"
    recall: RecallScope = "project"
    """How far the model may ask its memory: `conversation` keeps it to the session's own."""
    rules: Rules = field(default_factory=Rules)


_MODES: Mapping[str, Mode] = {"plan": "plan", "ask": "ask", "edit": "edit", "auto": "auto"}
_PROJECT = ("model", "deny", "ask", "memory", "sandbox")
"""What a project's file may set: it can narrow what is allowed, never widen it."""


def load_config(home: Path, project: Path | None) -> tuple[Config, tuple[str, ...]]:
    """Read the user's settings and, if given, a trusted project's; and what was ignored.

    Raises:
        ConfigBroken: a file is there but can't be used.
    """
    user = _table(home / "config.toml")
    config = _applied(Config(), user, str(home / "config.toml"))
    if project is None:
        return config, ()
    path = project / "config.toml"
    given = _table(path)
    ignored = tuple(
        f"{path}: '{key}' is ignored: only the user's own settings can set it" for key in given if key not in _PROJECT
    )
    narrowed = _applied(config, {key: value for key, value in given.items() if key in _PROJECT}, str(path))
    return replace(
        narrowed,
        rules=config.rules | replace(narrowed.rules, allow=()),
        sandbox=_narrower_level(config.sandbox, narrowed.sandbox),
        memory=narrower_switch(config.memory, narrowed.memory),
        recall=narrower_scope(config.recall, narrowed.recall),
    ), ignored


def _table(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigBroken(f"{path}: can't be read: {error}") from error


def _applied(config: Config, given: Mapping[str, object], source: str) -> Config:
    for key, value in given.items():
        match key, value:
            case "model", str():
                config = replace(config, model=value)
            case "api_base", str():
                config = replace(config, api_base=value)
            case "num_ctx", int() if not isinstance(value, bool):
                config = replace(config, num_ctx=value)
            case "effort", str() if value in EFFORTS:
                config = replace(config, effort=EFFORTS[value])
            case "effort", _:
                raise ConfigBroken(f"{source}: effort must be {', '.join(EFFORTS)}, not {value!r}")
            case "sandbox", str() if value in LEVELS:
                config = replace(config, sandbox=next(level for level in LEVELS if level == value))
            case "sandbox", _:
                raise ConfigBroken(f"{source}: sandbox must be {', '.join(LEVELS)}, not {value!r}")
            case "mode", str() if value in _MODES:
                config = replace(config, mode=_MODES[value])
            case "mode", _:
                raise ConfigBroken(f"{source}: mode must be plan, ask, edit or auto (yolo only by flag), not {value!r}")
            case (("allow" | "deny" | "ask"), list()) if all(isinstance(rule, str) for rule in value):
                config = replace(config, rules=_with_rules(config.rules, key, tuple(value), source))
            case "scribe", {"model": str(name)}:
                config = replace(config, scribe_model=name)
            case "librarian", {"model": str(name)}:
                config = replace(config, librarian_model=name)
            case "memory", str():
                config = _with_memory(config, {"switch": value}, source)
            case "memory", dict() if value:
                config = _with_memory(config, value, source)
            case _:
                raise ConfigBroken(_wrong(source, key, value))
    return config


def _narrower_level(own: Level | None, given: Level | None) -> Level | None:
    """Take what a project says only where it is narrower than what holds without it."""
    return given if given and LEVELS.index(given) < LEVELS.index(own or "ws") else own


def _with_memory(config: Config, given: Mapping[str, object], source: str) -> Config:
    """Read `memory = "read"`, or a table `[memory]` with `switch` and `recall`."""
    for key, value in given.items():
        switch = next((each for each in SWITCHES if key == "switch" and each == value), None)
        scope = next((each for each in SCOPES if key == "recall" and each == value), None)
        if not switch and not scope:
            raise ConfigBroken(
                f"{source}: memory must be one of {', '.join(SWITCHES)}, or a table with switch (one of these) and "
                f"recall ({' or '.join(SCOPES)}); {key} can't be {value!r}"
            )
        config = replace(config, memory=switch or config.memory, recall=scope or config.recall)
    return config


def _with_rules(rules: Rules, kind: str, given: tuple[str, ...], source: str) -> Rules:
    try:
        match kind:
            case "allow":
                return replace(rules, allow=given)
            case "deny":
                return replace(rules, deny=given)
            case _:
                return replace(rules, ask=given)
    except ValueError as error:
        raise ConfigBroken(f"{source}: {error}") from error


def _wrong(source: str, key: str, value: object) -> str:
    known = tuple("model api_base num_ctx effort mode sandbox allow deny ask scribe librarian memory".split())
    if key in known:
        return f"{source}: '{key}' can't be {value!r}"
    near = nearest(key, known)
    return f"{source}: unknown key '{key}'" + (f"; did you mean '{near}'?" if near else f"; known: {', '.join(known)}")
