"""The files that a sandboxed command sees: what it may write, what is read-only, what is not there at all."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ogcode.agent.files.root import worktree_folders

Level = Literal["ro", "ws", "ws+net", "off"]
"""The workspace read-only; writable; writable and with a network; no sandbox."""

LEVELS: tuple[Level, ...] = ("ro", "ws", "ws+net", "off")
"""From narrow to wide."""

GUARDED_WHERE_ABSENT = ("config", "config.worktree", "commondir")
"""Files of a repository that name programs, or where such are named: a mount can't keep one from being made."""

CREDENTIALS = (
    ".ssh .gnupg .aws .azure .kube .docker .netrc .pypirc .npmrc .pgpass .my.cnf .git-credentials .vault-token "
    ".password-store .mozilla .terraform.d .config/gh .config/hub .config/glab-cli .config/gcloud .config/op "
    ".config/git/credentials .config/google-chrome .config/chromium .config/rclone .cargo/credentials "
    ".cargo/credentials.toml .gem/credentials .m2/settings.xml .gradle/gradle.properties .local/share/keyrings "
    ".claude.json .claude .codex .gemini .bash_history .zsh_history .python_history"
).split()
"""Of a home."""


class SandboxRefused(Exception):
    """The sandbox can't be put around this folder as it is; one sentence."""


@dataclass(frozen=True, slots=True)
class Mount:
    target: str
    kind: Literal["write", "read", "empty", "blank"]
    """A folder or file bound writable or read-only; an empty folder, an empty file in its place."""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """What does not change between commands."""

    top: Path
    """The workspace: a real path."""
    home: Path
    settings: Path
    """The user's ogcode folder."""
    path: str
    beside: tuple[Path, ...] = ()
    """Folders outside that are part of the workspace: real paths."""

    @classmethod
    def of(cls, environ: Mapping[str, str], top: Path, beside: Sequence[Path] = ()) -> "Site":
        home = Path(os.path.realpath(environ.get("HOME") or "/"))
        settings = Path(os.path.realpath(environ.get("OGCODE_HOME") or home / ".ogcode"))
        real = tuple(Path(os.path.realpath(each)) for each in beside)
        return cls(Path(os.path.realpath(top)), home, settings, environ.get("PATH", ""), real)

    def unfit(self) -> str:
        """Say why this folder can't be a workspace that commands write to; empty where it can."""
        if self.top == Path("/") or (self.home != Path("/") and self.home.is_relative_to(self.top)):
            return f"{self.top} holds more than one project; start ogcode in the project's own folder"
        if self.settings.is_relative_to(self.top) and not self.settings.is_dir():
            return f"{self.settings} is inside the workspace; set OGCODE_HOME to a folder outside"
        if self.top.stat().st_uid != os.geteuid():
            return f"{self.top} belongs to another user; nothing could be written from inside a sandbox"
        return ""


def layout(site: Site, level: Level, private: Path) -> tuple[Mount, ...]:
    """Lay out one command, parents before children; looked up anew each time, since the last command may have made any.

    `private` is a folder of the session; its `tmp` becomes `/tmp`.

    Raises:
        SandboxRefused: a link stands where something must be protected.
    """
    (private / "tmp").mkdir(mode=0o700, parents=True, exist_ok=True)
    (private / "blank").touch(mode=0o400)
    mounts = [
        Mount("/tmp", "write", str(private / "tmp")),  # noqa: S108  # the session's own
        Mount("/run", "empty"),
        Mount(str(private), "read", str(private)),
        Mount(str(site.top), "read" if level == "ro" else "write", str(site.top)),
        *(mount for each in site.beside for mount in _beside(each, level)),
        *_needed_of_run(site, level),
        *_hidden(site, private / "blank"),
        *_store(site.top),
        *_git(site.top, level),
    ]
    return tuple(sorted(mounts, key=lambda mount: Path(mount.target).parts))


def hidden(site: Site) -> tuple[str, ...]:
    """Name the credentials and settings that are there, by their real paths."""
    places = (*(site.home / name for name in CREDENTIALS), site.settings)
    return tuple(os.path.realpath(place) for place in places if place.exists())


def hidden_in(site: Site, folders: Sequence[Path]) -> tuple[Path, ...]:
    """Name those that lie in folders; a folder that is or lies in one itself was chosen by the user."""
    if not any(site.home.is_relative_to(each) or each.is_relative_to(site.home) for each in folders):
        return ()
    places = map(Path, hidden(site))
    return tuple(
        place
        for place in places
        if any(place.is_relative_to(each) and not each.is_relative_to(place) for each in folders)
    )


def _hidden(site: Site, blank: Path) -> Iterator[Mount]:
    for place in hidden(site):
        yield Mount(place, "empty") if Path(place).is_dir() else Mount(place, "blank", str(blank))


def _needed_of_run(site: Site, level: Level) -> Iterator[Mount]:
    """Keep what programs are found by, and what names of hosts are."""
    for entry in site.path.split(os.pathsep):
        if entry.startswith("/run/") and Path(entry).is_dir():
            yield _read(os.path.normpath(entry))
    resolver = os.path.realpath("/etc/resolv.conf")
    if level == "ws+net" and resolver.startswith("/run/") and Path(resolver).exists():
        yield _read(resolver)


def _store(top: Path) -> Iterator[Mount]:
    store = top / ".ogcode"
    if store.is_symlink():
        raise SandboxRefused(f"{store} is a link and can't be protected; make it a folder")
    try:
        store.mkdir(mode=0o700)  # what is absent could be made by the command
    except FileExistsError:
        pass
    except OSError:
        return  # where we can't make it, it can't either
    yield _read(str(store))


def _beside(folder: Path, level: Level) -> Iterator[Mount]:
    yield Mount(str(folder), "read" if level == "ro" else "write", str(folder))
    if (folder / ".ogcode").is_dir():
        yield _read(os.path.realpath(folder / ".ogcode"))
    yield from _git(folder, level)


def _git(top: Path, level: Level) -> Iterator[Mount]:
    entry = top / ".git"
    if entry.is_symlink():
        raise SandboxRefused(f"{entry} is a link and can't be protected; make it a folder")
    if entry.is_dir():
        yield from _repository(entry, level)
    elif entry.is_file():
        yield _read(str(entry))
        if folders := worktree_folders(top):
            own, common = folders
            yield from _repository(common, level)
            yield Mount(str(own), "read" if level == "ro" else "write", str(own))
            names = ("commondir", "gitdir", "config.worktree")
            yield from (_read(str(own / name)) for name in names if os.path.lexists(own / name))


def _repository(folder: Path, level: Level) -> Iterator[Mount]:
    """Bind it by itself, so that it can't be moved away; what names programs is read-only."""
    names = [name for name in (*GUARDED_WHERE_ABSENT, "hooks", "worktrees") if os.path.lexists(folder / name)]
    if level == "ro" or any((folder / name).is_symlink() for name in (*names, "modules")):
        yield _read(str(folder))
        return
    if "hooks" not in names:
        (folder / "hooks").mkdir()
        names.append("hooks")
    yield Mount(str(folder), "write", str(folder))
    yield from (_read(str(folder / name)) for name in names)
    for place, folders, files in os.walk(folder / "modules"):
        if "HEAD" in files and "objects" in folders:
            folders.clear()
            yield from _repository(Path(place), level)


def _read(path: str) -> Mount:
    return Mount(path, "read", path)
