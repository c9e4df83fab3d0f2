"""Where a command would run: what its paths, patterns and program mean there."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import iglob
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.commands.known import BUILT_IN, CHOOSERS
from ogcode.agent.tools.process import is_shim, program

if TYPE_CHECKING:
    from ogcode.agent.commands.words import Word

_MOST_NAMES = 5_000
_MOST_STARS = 3


@dataclass(frozen=True, slots=True)
class Ground:
    """What the paths and programs of a command mean."""

    top: Path
    """Real."""
    path: str
    """The PATH that commands get."""
    hidden: tuple[Path, ...] = ()
    """Credentials inside: to read these is asked for."""
    beside: tuple[Path, ...] = ()
    """Folders outside that are part of the workspace as well; real."""

    def base(self, real: Path) -> Path | None:
        """Give the folder of the workspace that holds a real path; None where it lies outside."""
        return next((each for each in (self.top, *self.beside) if real.is_relative_to(each)), None)


@dataclass(frozen=True, slots=True)
class Spot:
    """One folder of it."""

    ground: Ground
    folder: Path

    @property
    def base(self) -> Path:
        """The folder of the workspace that holds it."""
        return self.ground.base(self.folder) or self.ground.top

    def name(self, path: str) -> str | None:
        """Give the name from the top of what a path leads to, in folders beside it the whole path.

        None where that is outside, or among credentials.
        """
        real = Path(os.path.realpath(self.folder / path))
        if any(real.is_relative_to(each) for each in self.ground.hidden):
            return None
        base = self.ground.base(real)
        return None if base is None else os.path.relpath(real, base) if base == self.ground.top else str(real)

    def names(self, paths: Sequence[str]) -> tuple[str, ...] | None:
        found = [self.name(path) for path in paths if path != "-"]
        inside = tuple(name for name in found if name is not None)
        return inside if len(inside) == len(found) else None

    def holds_hidden(self, path: str) -> bool:
        """Tell whether credentials lie below a path."""
        real = Path(os.path.realpath(self.folder / path))
        return any(each.is_relative_to(real) for each in self.ground.hidden)

    def has(self, *names: str) -> bool:
        above = [self.folder, *(each for each in self.folder.parents if each.is_relative_to(self.base))]
        return any((folder / name).exists() for folder, name in product(above, names))

    def expanded(self, word: "Word") -> list[str]:
        """Do what the shell does with `*` and `?`; raise where that is not certain."""
        if not word.pattern:
            return [word.text]
        places = word.text.split("/")
        stars = [part for part in places if "*" in part or "?" in part]
        if len(stars) > _MOST_STARS or any(part.startswith(".") for part in stars) or ".." in places:
            raise ValueError("too wide")
        if word.text.startswith("/") and self.name(word.text[: word.text.index(stars[0])]) is None:
            raise ValueError("outside")
        found = list(islice(iglob(word.text, root_dir=self.folder), _MOST_NAMES + 1))  # noqa: PTH207  # as the shell names them
        if len(found) > _MOST_NAMES:
            raise ValueError("too many")
        return sorted(found) or [word.text]

    def is_theirs(self, name: str) -> bool:
        """Tell whether a program is the system's or the user's, not one of the workspace."""
        if name in BUILT_IN:
            return True
        first = next((place for place in self.ground.path.split(os.pathsep) if Path(place, name).exists()), None)
        places = (self.ground.top, *self.ground.beside)
        if first is not None and is_shim(first):
            return not self.has(*CHOOSERS) and not any(
                Path(os.path.realpath(first)).is_relative_to(at) for at in places
            )
        return first is None or all(
            program(name, self.ground.path, outside=each) == Path(first, name) for each in places
        )
