"""What no mount can keep a command from: looked at before, and put back after."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from ogcode.agent.sandbox.layout import GUARDED_WHERE_ABSENT
from ogcode.agent.tools.workspace import Workspace

_LARGEST = 1_000_000
_MOST_HOOKS = 200


@dataclass(frozen=True, slots=True)
class _Kept:
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Guard:
    """The files of a repository that make git run programs, as they were before a command.

    Where mounts protect what is there, only what the command makes anew is of interest (`contents` false).
    """

    workspace: Workspace
    identity: tuple[int, int] | None
    """Of the folder `.git`; None where there is none, or a worktree's, whose folder lies outside."""
    kept: dict[str, _Kept | None]
    """By path below the top; None is nothing that can be read, but there."""
    contents: bool

    @classmethod
    def taken(cls, workspace: Workspace, *, contents: bool) -> "Guard":
        identity = _identity(workspace.top / ".git")
        names = _guarded(workspace.top) if identity else []
        kept = {name: _read(workspace.top / name) if contents else None for name in names}
        return cls(workspace, identity, kept, contents)

    def restore(self) -> Sequence[str]:
        """Put back what a command changed; say what, a line each."""
        if self.identity is None:
            return ()
        top = self.workspace.top
        if _identity(top / ".git") != self.identity:
            return (
                "[.git was moved or replaced by this command: its hooks and settings may run programs; look first]",
            )
        told = list[str]()
        for name in sorted({*_guarded(top), *self.kept}):
            try:
                what = self._put_back(name)
            except OSError as error:
                what = f"was changed by this command and can't be put back ({error.strerror}): look first"
            if what:
                told.append(f"[{name} {what}; it can make git run programs]")
        return told

    def _put_back(self, name: str) -> str:
        was = self.kept.get(name)
        if name not in self.kept:
            self._remove(name)
            return "was made by this command: removed"
        if was is None or _read(self.workspace.top / name) == was:
            return ""
        self._remove(name)
        self._write(name, was)
        return "was changed by this command: put back"

    def _remove(self, name: str) -> None:
        with self.workspace.parent(self.workspace.top / name) as folder:
            try:
                os.unlink(Path(name).name, dir_fd=folder)
            except FileNotFoundError:
                pass
            except IsADirectoryError:
                os.rename(Path(name).name, f"{Path(name).name}.removed", src_dir_fd=folder, dst_dir_fd=folder)

    def _write(self, name: str, kept: _Kept) -> None:
        with self.workspace.parent(self.workspace.top / name, make=True) as folder:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            opened = os.open(Path(name).name, flags, kept.mode, dir_fd=folder)
            with os.fdopen(opened, "wb") as file:
                file.write(kept.content)
                os.fchmod(opened, kept.mode)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        state = path.lstat()
    except OSError:
        return None
    return (state.st_dev, state.st_ino) if S_ISDIR(state.st_mode) else None


def _guarded(top: Path) -> list[str]:
    """Name what is there of it, below the top."""
    names = [f".git/{name}" for name in GUARDED_WHERE_ABSENT if os.path.lexists(top / ".git" / name)]
    hooks = top / ".git" / "hooks"
    if hooks.is_symlink() or not hooks.is_dir():
        return names + ([".git/hooks"] if os.path.lexists(hooks) else [])
    return names + [f".git/hooks/{entry.name}" for entry in sorted(hooks.iterdir())[:_MOST_HOOKS]]


def _read(path: Path) -> _Kept | None:
    try:
        state = path.lstat()
        if not S_ISREG(state.st_mode) or state.st_size > _LARGEST:
            return None
        return _Kept(path.read_bytes(), state.st_mode & 0o777)
    except OSError:
        return None
