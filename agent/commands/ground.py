"""Where a command would run: what its paths, patterns and program mean there."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import iglob
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.commands.known import BUILT_IN
from ogcode.agent.tools.process import program

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


@dataclass(frozen=True, slots=True)
class Spot:
    """One folder of it."""

    ground: Ground
    folder: Path

    def name(self, path: str) -> str | None:
        """Give the name from the top of what a path leads to; None where that is outside."""
        real = Path(os.path.realpath(self.folder / path))
        return real.relative_to(self.ground.top).as_posix() if real.is_relative_to(self.ground.top) else None

    def names(self, paths: Sequence[str]) -> tuple[str, ...] | None:
        found = [self.name(path) for path in paths if path != "-"]
        inside = tuple(name for name in found if name is not None)
        return inside if len(inside) == len(found) else None

    def has(self, *names: str) -> bool:
        above = [self.folder, *(each for each in self.folder.parents if each.is_relative_to(self.ground.top))]
        return any((folder / name).exists() for folder, name in product(above, names))

    def expanded(self, word: "Word") -> list[str]:
        """Do what the shell does with `*` and `?`; raise where that is not certain."""
        if not word.pattern:
            return [word.text]
        places = word.text.split("/")
        stars = [part for part in places if "*" in part or "?" in part]
        if len(stars) > _MOST_STARS or any(part.startswith(".") for part in stars) or ".." in places:
            raise ValueError("too wide")
        if word.text.startswith("/"):
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
        return first is None or program(name, self.ground.path, outside=self.ground.top) == Path(first, name)
