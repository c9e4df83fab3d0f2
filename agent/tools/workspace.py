"""The folder that tools work in: what a path means there, and what may be written."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.tool import ToolError

_OURS = {
    ".git": "git's own files are changed with git commands only",
    ".ogcode": "ogcode's own files can't be changed by tools",
}


@dataclass(frozen=True, slots=True)
class Workspace:
    top: Path
    protected: tuple[Path, ...] = ()
    """Files and folders that no tool writes, besides every `.git` and `.ogcode`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "top", Path(os.path.realpath(self.top)))

    def resolve(self, path: str) -> Path:
        """Give the real path of what the model named.

        Raises:
            ToolError: it lies outside, or is neither a file nor a folder.
        """
        asked = self._asked(path)
        try:
            real = Path(os.path.realpath(asked))
        except OSError as error:
            raise ToolError(f"{clean(path)}: {error.strerror}; try again") from error
        if not _inside(real, self.top):
            led = "" if real == asked else f" (it leads to {clean(str(real))})"
            raise ToolError(f"{clean(path)} is outside the workspace{led}; use paths inside {clean(str(self.top))}")
        try:
            mode = real.stat().st_mode
        except FileNotFoundError:
            return real
        except OSError as error:
            raise ToolError(f"{clean(path)}: {error.strerror}; check the path with glob") from error
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ToolError(f"{clean(path)} is a device, pipe or socket; only files and folders can be used")
        return real

    def writable(self, path: str) -> Path:
        """Give the real path of what may be written.

        Raises:
            ToolError: as `resolve`, or it is protected.
        """
        real = self.resolve(path)
        asked = Path(os.path.normpath(self._asked(path)))
        for part in (*self._parts(asked), *self._parts(real)):
            if why := _OURS.get(part.casefold().rstrip(". ")):
                raise ToolError(f"{clean(path)} is protected: {why}")
        if any(_inside(real, Path(os.path.realpath(each))) for each in self.protected):
            raise ToolError(f"{clean(path)} is protected; leave it as it is, or ask the user to change it")
        return real

    def display(self, path: Path) -> str:
        """Name a path as the model should: relative to the top where it lies inside."""
        return clean(path.relative_to(self.top).as_posix() if _inside(path, self.top) else str(path))

    @contextmanager
    def parent(self, real: Path, *, make: bool = False) -> Iterator[int]:
        """Open the folder that holds a real path, step by step, so that a link put there meanwhile is not followed."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        opened = os.open(self.top, flags)
        try:
            for part in real.relative_to(self.top).parts[:-1]:
                if make and not _exists(part, opened):
                    os.mkdir(part, dir_fd=opened)
                deeper = os.open(part, flags, dir_fd=opened)
                os.close(opened)
                opened = deeper
            yield opened
        finally:
            os.close(opened)

    def _asked(self, path: str) -> Path:
        if "\0" in path:
            raise ToolError("a path can't hold a NUL character")
        asked = self.top / path
        first = path.split("/", 1)[0]
        if (first.startswith("~") or first.casefold() == "file:") and not os.path.lexists(self.top / first):
            raise ToolError(f"{clean(path)}: '~' and 'file:' are not expanded; give a path relative to the workspace")
        return asked

    def _parts(self, path: Path) -> tuple[str, ...]:
        return path.relative_to(self.top).parts if _inside(path, self.top) else ()


def _inside(path: Path, top: Path) -> bool:
    return os.path.commonpath([path, top]) == str(top)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
