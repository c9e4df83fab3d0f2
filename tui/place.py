"""The place that ogcode was started in: its root, its trust, its settings."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ogcode.agent.files.root import Root, find_root
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.model import Effort
from ogcode.agent.prompt import Wishes
from ogcode.agent.rights.accepted import Accepted
from ogcode.agent.rights.claude import ClaudeSettingsBroken, claude_rules
from ogcode.agent.rights.matching import speaks_of
from ogcode.agent.rights.permissions import Mode, Rules
from ogcode.agent.rights.seal import Seal
from ogcode.agent.rights.trust import CLAUDE_SETTINGS, Trust
from ogcode.agent.rules import FACTS, RULES
from ogcode.agent.sandbox.layout import Level, Site, hidden_in
from ogcode.agent.sensitive.envfiles import env_file_secrets, env_files_in
from ogcode.agent.sensitive.secrets import known_secrets
from ogcode.agent.settings.config import Config, ConfigBroken, load_config
from ogcode.agent.tools.workspace import Workspace

Clock = Callable[[], datetime]

_PARTS = ("memory", "spool", "sessions", "facts", "undo", "trash", "usage.jsonl", "index.db")
"""What there is to be read in `.ogcode`."""


@dataclass(frozen=True, slots=True)
class Tailored:
    """What one run wants of its session."""

    beside: tuple[Path, ...] = ()
    """Folders that are part of the workspace as well; real paths."""
    wishes: Wishes = Wishes()  # noqa: RUF009  # frozen
    only: frozenset[str] | None = None
    """The tools that are offered; None is all there are."""
    without: tuple[str, ...] = ()
    """Rules for whole tools that are not offered."""
    keeps_global: bool = False
    """It may keep facts about the user without a person being there."""

    def offers(self, tool: str) -> bool:
        listed = self.only is None or tool in self.only
        return listed and not any(speaks_of(rule, tool) for rule in self.without)


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
    tailored: Tailored = Tailored()  # frozen

    @property
    def seal(self) -> Seal:
        return Seal(self.home)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that are never written: of the environment, and of the `.env` files here; looked up each time."""
        top = self.root.top
        files = {*env_files_in(top, top), *env_files_in(top, self.folder)}
        found = [*env_file_secrets(top, files)]
        for place in self.tailored.beside:
            found += env_file_secrets(place, env_files_in(place, place))
        return (*known_secrets(self.environ), *found)

    @property
    def accepted(self) -> Accepted | None:
        """What is believed of MEMORY.md; None where the environment says to trust all that is there."""
        return None if self.environ.get("OGCODE_TRUST") == "1" else Accepted(self.home, self.root.top, self.root.path)

    def workspace(self) -> Workspace:
        inside = (self.root.top, *self.tailored.beside)
        kept = hidden_in(Site.of(self.environ, self.root.top), inside)
        return Workspace(self.root.top, (self.root.store, self.home), self.tailored.beside, kept)


def home_of(environ: Mapping[str, str]) -> Path:
    """Find the user's ogcode folder: OGCODE_HOME, else `~/.ogcode`."""
    if given := environ.get("OGCODE_HOME"):
        return Path(given).expanduser().absolute()
    return Path(environ.get("HOME") or "~").expanduser().absolute() / ".ogcode"


def look_around(
    folder: Path,
    environ: Mapping[str, str],
    now: Clock,
    *,
    trust: bool,
    effort: Effort | None = None,
    sandbox: Level | None = None,
    tailored: Tailored = Tailored(),  # frozen
) -> Here:
    """Take in the folder; `trust` gives it the user's trust, `effort` and `sandbox` go before the settings.

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
            from ogcode.agent.facts.store import Facts  # slow to load, and needed once

            accepted = Accepted(home, root.top, root.path)
            Facts(root, home, folder.resolve(), trusted=True, accepted=accepted, secrets=tuple, now=now).accept()
        except OSError as error:
            notices.append(f"{home / 'trust.json'} can't be written ({error.strerror}); trust lasts for this run")
    trusted = (book.holds(root) or environ.get("OGCODE_TRUST") == "1" or bool(notices)) and root.sound
    if not trusted and (changed := book.changed(root)):
        notices.append(f"{', '.join(changed)} changed since you trusted this folder; --trust trusts it as it is now")
    project = root.top / ".ogcode" if trusted and not root.wide else None
    config, ignored = load_config(home, project)
    rules = config.rules | _of_claude(environ, root.top if project else None)
    config = replace(config, effort=effort or config.effort, sandbox=sandbox or config.sandbox, rules=rules)
    return Here(environ, home, root, folder.resolve(), trusted, config, (*notices, *ignored), now, tailored)


def _of_claude(environ: Mapping[str, str], project: Path | None) -> Rules:
    """Read the permissions written for Claude Code: the user's own, and what a trusted project denies or asks for."""
    rules, person = Rules(), Path(environ.get("HOME") or "~").expanduser()
    try:
        rules |= claude_rules(person, CLAUDE_SETTINGS, allow=True, home=person)
        return rules if project is None else rules | claude_rules(project, CLAUDE_SETTINGS, allow=False, home=person)
    except ClaudeSettingsBroken as error:
        raise ConfigBroken(str(error)) from error


def rules_of(here: Here, allow: Sequence[str], deny: Sequence[str]) -> Rules:
    """Put the rules of a command line behind those of the settings.

    Raises:
        ConfigBroken: one is no rule.
    """
    try:
        return here.config.rules | Rules(tuple(allow), tuple(deny))
    except ValueError as error:
        raise ConfigBroken(str(error)) from error


def mode_here(here: Here, mode: Mode) -> Mode:
    """Give the mode that is kept to: in the home folder or `/` nothing is done unasked."""
    return "ask" if here.root.wide and mode != "plan" else mode


def ignored_here(here: Here) -> list[str]:
    """Name what an untrusted folder holds that is not believed."""
    if here.trusted or here.tailored.wishes.bare:
        return []
    names = (*RULES, *FACTS, ".ogcode/facts", ".ogcode/config.toml")
    found = [name for name in names if os.path.exists(here.root.top / name)]  # noqa: PTH110  # in another user's folder, too
    files = (name for _, _, names in os.walk(here.root.memory) for name in names if name.endswith(".md"))
    notes = ["--".join(name.removesuffix(".md").split("--", 2)[:2]) for name in files]
    others = len(Manifest(here.home, here.root.path).claims().strangers(notes))
    return [*found, *([f"{others} notes by others" if others > 1 else "1 note by others"] if others else [])]


def closed_here(here: Here) -> str:
    """Say what ogcode keeps here and this user may not read; empty where that is nothing."""
    store = here.root.store
    closed = [name for name in (".", *_PARTS) if _is_closed(store / name)]
    if closed == ["."]:
        return f"{store} can't be read (Permission denied): it is as if there were no memory and no sessions here"
    return f"{store}: {', '.join(closed)} can't be read (Permission denied) and is left out" if closed else ""


def _is_closed(path: Path) -> bool:
    way = os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK  # noqa: PTH112  # in another user's folder, too
    return os.path.lexists(path) and not os.access(path, way)


def utc_now() -> datetime:
    return datetime.now(UTC).astimezone()


def _start_of(path: Path) -> str:
    """Read a short file; nothing of what would be waited for."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(4_096).decode("utf-8")


def branch_at(top: Path) -> str:
    """Read the branch from `.git/HEAD`, without running git."""
    try:
        git = top / ".git"
        if git.is_file():
            git = (top / _start_of(git).removeprefix("gitdir:").strip()).resolve()
        head = _start_of(git / "HEAD").strip()
    except (OSError, ValueError, RuntimeError):  # NUL bytes; loops of links
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:8]
