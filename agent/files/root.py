"""Where a project's memory lies: found by reading, without running git."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Root:
    path: Path
    """Holds `.ogcode`; the worktrees of a repository share it."""
    top: Path
    """The top folder of this checkout: what the tools see, where rules are looked for."""
    sound: bool = True
    """False for a worktree that the repository it points at does not know; such a folder can't be trusted."""
    wide: bool = False
    """The home folder, or one that holds it and is no repository: no project settings, no automatic modes."""

    @property
    def store(self) -> Path:
        return self.path / ".ogcode"

    @property
    def memory(self) -> Path:
        return self.store / "memory"

    @property
    def spool(self) -> Path:
        return self.store / "spool"

    @property
    def sessions(self) -> Path:
        return self.store / "sessions"

    @property
    def locks(self) -> Path:
        return self.store / "locks"

    @property
    def database(self) -> Path:
        return self.store / "index.db"


def find_root(folder: Path, home: Path | None) -> Root:
    """Find the root of a folder: the repository that holds it, else the folder itself."""
    folder = folder.resolve()
    for place in (folder, *folder.parents):
        entry = place / ".git"
        if entry.is_dir() and _is_repository(entry):
            return _root(place, place, home)
        if entry.is_file():
            return _linked(place, entry, home)
    return _root(folder, folder, home)


def worktree_folders(top: Path) -> tuple[Path, Path] | None:
    """Give the git folder of a worktree and the one it shares; None where the repository does not know it."""
    folders = _pointed_at(top / ".git", top)
    return folders if folders and _knows(*folders, top / ".git") else None


def _linked(place: Path, entry: Path, home: Path | None) -> Root:
    """Follow the `.git` file of a worktree or a submodule."""
    folders = _pointed_at(entry, place)
    if folders is None:
        return _root(place, place, home)  # a submodule, or a file that points nowhere
    common = folders[1]
    if not _knows(*folders, entry):
        return _root(place, place, home, sound=False)
    return _root(common.parent if common.name == ".git" else common, place, home)


def _pointed_at(entry: Path, place: Path) -> tuple[Path, Path] | None:
    gitdir = _pointer(entry, "gitdir:", place)
    common = _pointer(gitdir / "commondir", "", gitdir) if gitdir else None
    return (gitdir, common) if gitdir and common else None


def _knows(gitdir: Path, common: Path, entry: Path) -> bool:
    return (
        _pointer(gitdir / "gitdir", "", gitdir) == entry.resolve()
        and common in gitdir.parents
        and _is_repository(common)
    )


def _root(path: Path, top: Path, home: Path | None, *, sound: bool = True) -> Root:
    person = home.resolve() if home else None
    wide = any(place in (person, Path(place.anchor)) for place in (path, top))
    if person and not (top / ".git").exists():
        wide = wide or person.is_relative_to(top)
    return Root(path, top, sound, wide)


def _is_repository(folder: Path) -> bool:
    return (folder / "HEAD").exists() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _pointer(path: Path, prefix: str, base: Path) -> Path | None:
    """Read a file that names a folder or file, relative to `base`."""
    if not path.is_file():
        return None  # opening a pipe would wait for ever
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not text.startswith(prefix) or "\n" in text or not text.removeprefix(prefix).strip():
        return None
    try:
        return (base / text.removeprefix(prefix).strip()).resolve()
    except (OSError, ValueError, RuntimeError):  # NUL bytes, loops of links
        return None
