"""Settings: the user's, and where the folder is trusted the project's; a project can't say where models live."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from ogcode.agent.memory.switch import SCOPES, SWITCHES, MemorySwitch, RecallScope, narrower_scope, narrower_switch
from ogcode.agent.model import EFFORTS, Effort
from ogcode.agent.nearest import nearest
from ogcode.agent.rights.permissions import Mode, Rules
from ogcode.agent.sandbox.layout import LEVELS, Level

Theme = Literal["auto", "dark", "light", "ansi", "high-contrast"]
"""`auto` and `ansi` are the terminal's own colours; `auto` asks it how dark its background is."""
Notify = Literal["bell", "osc9", "off"]
THEMES: tuple[Theme, ...] = get_args(Theme)
NOTIFY: tuple[Notify, ...] = get_args(Notify)


class ConfigBroken(Exception):
    """A settings file can't be used; the text says which, where and what to do."""


@dataclass(frozen=True, slots=True)
class Config:
    model: str = ""
    mode: Mode = "ask"
    api_base: str = ""
    """Of OpenAI-compatible models. The user's file only."""
    num_ctx: int = 0
    """Window to ask Ollama for, and to count on where a server of one's own tells none; 0 leaves it to ogcode."""
    effort: Effort | None = None
    """How long a model that can think is to think; None leaves it to the provider."""
    scribe_model: str = ""
    """Empty: the session's."""
    librarian_model: str = ""
    sandbox: Level | None = None
    """How far commands are closed in; None is `ws` where this machine can, and a notice where it can't."""
    memory: MemorySwitch = "on"
    vim: bool = False
    """The keys of vi in the prompt."""
    screen_reader: bool = False
    """Plain lines in the place of the app. The user's file only."""
    recall: RecallScope = "project"
    """How far the model may ask its memory: `conversation` keeps it to the session's own."""
    theme: Theme = "auto"
    notify: Notify = "bell"
    """How somebody who looks elsewhere is called."""
    status_line: str = ""
    """A command that writes the line at the bottom. The user's file only."""
    rules: Rules = field(default_factory=Rules)


_MODES: Mapping[str, Mode] = {"plan": "plan", "ask": "ask", "edit": "edit", "auto": "auto"}
PROJECT = ("model", "deny", "ask", "memory", "sandbox")
"""What a project's file may set: it can narrow what is allowed, never widen it."""


def load_config(home: Path, project: Path | None) -> tuple[Config, tuple[str, ...]]:
    """Read the user's settings and, if given, a trusted project's; and what was ignored.

    Raises:
        ConfigBroken: a file is there but can't be used.
    """
    user = settings_in(home / "config.toml")
    config = config_of(user, str(home / "config.toml"))
    if project is None:
        return config, ()
    path = project / "config.toml"
    given = settings_in(path)
    known = {key: value for key, value in given.items() if key in PROJECT and not _is_script(key, value)}
    ignored = tuple(
        f"{path}: '{key}' is ignored: only the user's own settings can set it" for key in given if key not in known
    )
    narrowed = _applied(config, known, str(path))
    return replace(
        narrowed,
        rules=config.rules | replace(narrowed.rules, allow=()),
        sandbox=_narrower_level(config.sandbox, narrowed.sandbox),
        memory=narrower_switch(config.memory, narrowed.memory),
        recall=narrower_scope(config.recall, narrowed.recall),
    ), ignored


def _is_script(key: str, value: object) -> bool:
    """Tell a model whose words a file holds: a project that named one would speak for it."""
    return key == "model" and str(value).startswith("scripted/")


def config_of(given: Mapping[str, object], source: str) -> Config:
    """Read settings as the user's file would hold them.

    Raises:
        ConfigBroken: one of them is none.
    """
    return _applied(Config(), given, source)


def settings_in(path: Path) -> Mapping[str, object]:
    """Read what a settings file says, whatever it means.

    Raises:
        ConfigBroken: it can't be read.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ConfigBroken(f"{path}: it is no file; remove it")
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
            case "vim", bool():
                config = replace(config, vim=value)
            case "screen_reader", bool():
                config = replace(config, screen_reader=value)
            case "theme", str() if value in THEMES:
                config = replace(config, theme=next(each for each in THEMES if each == value))
            case "theme", _:
                raise ConfigBroken(f"{source}: theme must be {', '.join(THEMES)}, not {value!r}")
            case "notify", str() if value in NOTIFY:
                config = replace(config, notify=next(each for each in NOTIFY if each == value))
            case "notify", _:
                raise ConfigBroken(f"{source}: notify must be {', '.join(NOTIFY)}, not {value!r}")
            case "status_line", {"command": str(command)}:
                config = replace(config, status_line=command)
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
    known = tuple(
        "model api_base num_ctx effort mode sandbox allow deny ask scribe librarian memory vim theme notify "
        "status_line screen_reader".split()
    )
    if key in known:
        return f"{source}: '{key}' can't be {value!r}"
    near = nearest(key, known)
    return f"{source}: unknown key '{key}'" + (f"; did you mean '{near}'?" if near else f"; known: {', '.join(known)}")
