"""The folder that tools work in: what a path means there, and what may be written."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.files.openat import open_below
from ogcode.agent.tool import ToolError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OURS = {
    ".git": "git's own files are changed with git commands only",
    ".ogcode": "ogcode's own files can't be changed by tools",
}


@dataclass(frozen=True, slots=True)
class Workspace:
    top: Path
    protected: tuple[Path, ...] = ()
    """Files and folders that no tool writes, besides every `.git` and `.ogcode`."""
    beside: tuple[Path, ...] = ()
    """Folders outside that are open to tools as well."""
    hidden: tuple[Path, ...] = ()
    """Credentials inside, by their real paths: no tool reads them, no permission covers them."""
    admitted: Callable[[Path], bool] = lambda _: False
    """Whether a person has let a real path outside be read."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "top", Path(os.path.realpath(self.top)))
        object.__setattr__(self, "beside", tuple(Path(os.path.realpath(each)) for each in self.beside))

    def base(self, real: Path) -> Path | None:
        """Give the folder of the workspace that holds a real path; None where it lies outside."""
        return next((each for each in (self.top, *self.beside) if _inside(real, each)), None)

    def resolve(self, path: str) -> Path:
        """Give the real path of what the model named.

        Raises:
            ToolError: it lies outside, or is neither a file nor a folder.
        """
        real = self.real(path)
        if self.base(real) is None:
            led = "" if real == self._asked(path) else f" (it leads to {clean(str(real))})"
            places = ", or those in " + clean(" or ".join(map(str, self.beside))) if self.beside else ""
            raise ToolError(
                f"{clean(path)} is outside the workspace{led}; use paths relative to its top folder{places}"
            )
        if self.hides(real):
            raise ToolError(f"{clean(path)} may hold credentials, which no permission covers; do without it")
        return self._usable(path, real)

    def hides(self, real: Path) -> bool:
        """Tell whether a real path inside is one of credentials."""
        return any(_inside(real, each) for each in self.hidden)

    def readable(self, path: str) -> Path:
        """Give the real path of what may be read, which can be outside where a person has admitted it.

        Raises:
            ToolError: as `resolve`.
        """
        real = self.real(path)
        return self._usable(path, real) if self.admitted(real) else self.resolve(path)

    def real(self, path: str) -> Path:
        """Tell what the model's word leads to, wherever that is.

        Raises:
            ToolError: it is no path.
        """
        try:
            return Path(os.path.realpath(self._asked(path)))
        except OSError as error:
            raise ToolError(f"{clean(path)}: {error.strerror}; try again") from error

    def _usable(self, path: str, real: Path) -> Path:
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

    def parent(self, real: Path, *, make: bool = False) -> AbstractContextManager[int]:
        """Open the folder that holds a real path, so that a link put there meanwhile is not followed."""
        base = self.base(real) or (Path("/") if not make and self.admitted(real) else self.top)
        return _opened(base, real.relative_to(base).parent, make=make)

    def folder(self, real: Path) -> AbstractContextManager[int]:
        """Open a folder by its real path, in the same way."""
        base = self.base(real) or (Path("/") if self.admitted(real) else self.top)
        return _opened(base, real.relative_to(base))

    def _asked(self, path: str) -> Path:
        if "\0" in path:
            raise ToolError("a path can't hold a NUL character")
        asked = self.top / path
        first = path.split("/", 1)[0]
        if (first.startswith("~") or first.casefold() == "file:") and not os.path.lexists(self.top / first):
            raise ToolError(f"{clean(path)}: '~' and 'file:' are not expanded; give a path relative to the workspace")
        return asked

    def _parts(self, path: Path) -> tuple[str, ...]:
        base = self.base(path)
        return path.relative_to(base).parts if base else ()


def _inside(path: Path, top: Path) -> bool:
    return os.path.commonpath([path, top]) == str(top)


@contextmanager
def _opened(base: Path, folder: Path, *, make: bool = False) -> Iterator[int]:
    opened = os.open(base, _FOLDER)
    try:
        if make:
            _make(opened, folder)
        inner = open_below(opened, folder.as_posix(), _FOLDER)
    finally:
        os.close(opened)
    try:
        yield inner
    finally:
        os.close(inner)


def _make(top: int, folder: Path) -> None:
    for place in [each for each in (*reversed(folder.parents), folder) if each.name]:
        above = open_below(top, place.parent.as_posix(), _FOLDER)
        try:
            os.mkdir(place.name, dir_fd=above)
        except FileExistsError:
            continue
        finally:
            os.close(above)
