"""The place that ogcode was started in: its root, its trust, its settings."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ogcode.agent.config import Config, ConfigBroken, load_config
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.permissions import Mode, Rules
from ogcode.agent.root import Root, find_root
from ogcode.agent.seal import Seal
from ogcode.agent.secrets import known_secrets
from ogcode.agent.sensitive.envfiles import env_file_secrets, env_files_in
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.trust import Trust

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Here:
    """What is known of the place before any model is: cheap, and nothing of an untrusted folder believed."""

    environ: Mapping[str, str]
    home: Path
    root: Root
    folder: Path
    trusted: bool
    config: Config
    notices: tuple[str, ...]
    now: Clock

    @property
    def seal(self) -> Seal:
        return Seal(self.home)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that are never written: of the environment, and of the `.env` files here; looked up each time."""
        top = self.root.top
        files = {*env_files_in(top, top), *env_files_in(top, self.folder)}
        return (*known_secrets(self.environ), *env_file_secrets(top, files))

    def workspace(self) -> Workspace:
        return Workspace(self.root.top, (self.root.store, self.home))


def home_of(environ: Mapping[str, str]) -> Path:
    """Find the user's ogcode folder: OGCODE_HOME, else `~/.ogcode`."""
    if given := environ.get("OGCODE_HOME"):
        return Path(given).expanduser().absolute()
    return Path(environ.get("HOME") or "~").expanduser().absolute() / ".ogcode"


def look_around(folder: Path, environ: Mapping[str, str], now: Clock, *, trust: bool) -> Here:
    """Take in the folder; `trust` gives it the user's trust.

    Raises:
        ConfigBroken, TrustBroken: a file of the user's can't be used.
    """
    home = home_of(environ)
    root = find_root(folder, Path(environ["HOME"]) if environ.get("HOME") else None)
    book = Trust(home)
    notices = list[str]()
    if trust:
        try:
            book.give(root, now())
        except OSError as error:
            notices.append(f"{home / 'trust.json'} can't be written ({error.strerror}); trust lasts for this run")
    trusted = (book.holds(root) or environ.get("OGCODE_TRUST") == "1" or bool(notices)) and root.sound
    project = root.top / ".ogcode" if trusted and not root.wide else None
    config, ignored = load_config(home, project)
    return Here(environ, home, root, folder.resolve(), trusted, config, (*notices, *ignored), now)


def rules_of(here: Here, allow: Sequence[str], deny: Sequence[str]) -> Rules:
    """Put the rules of a command line behind those of the settings.

    Raises:
        ConfigBroken: one is no rule.
    """
    try:
        return Rules((*here.config.rules.allow, *allow), (*here.config.rules.deny, *deny))
    except ValueError as error:
        raise ConfigBroken(str(error)) from error


def mode_here(here: Here, mode: Mode) -> Mode:
    """Give the mode that is kept to: in the home folder or `/` nothing is done unasked."""
    return "ask" if here.root.wide and mode != "plan" else mode


def ignored_here(here: Here) -> list[str]:
    """Name what an untrusted folder holds that is not believed."""
    if here.trusted:
        return []
    names = ("AGENTS.md", "AGENT.md", "MEMORY.md", ".ogcode/config.toml")
    found = [name for name in names if (here.root.top / name).exists()]
    files = (name for _, _, names in os.walk(here.root.memory) for name in names if name.endswith(".md"))
    notes = ["--".join(name.removesuffix(".md").split("--", 2)[:2]) for name in files]
    others = len(Manifest(here.home, here.root.path).claims().strangers(notes))
    return [*found, *([f"{others} notes by others" if others > 1 else "1 note by others"] if others else [])]


def utc_now() -> datetime:
    return datetime.now(UTC).astimezone()
