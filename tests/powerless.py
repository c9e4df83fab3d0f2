"""A disk whose cache is lost: what was written is recorded, and states are made in which part of it never arrived."""

import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from faulty import Done, struck

FileSystem = Literal["journal", "posix"]
"""journal: names arrive in order, an fsync takes along all before it (ext4, xfs); posix: each only by its own."""


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes at the end of a file."""

    file: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Names:
    """What names in a folder mean from now on, all at once; None is nothing."""

    folder: int
    means: tuple[tuple[str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Synced:
    """An fsync of a file or a folder has returned."""

    what: int
    folder: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """A turn counts as finished."""

    identity: str


Effect = Data | Names | Synced | Finished


@dataclass(slots=True)
class Disk:
    """Records what is done below a folder that is empty at first."""

    top: Path
    effects: list[Effect] = field(default_factory=list)
    folders: set[int] = field(default_factory=set)
    _open: dict[int, int] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    """A number of our own for each inode: a disk gives theirs away again."""
    _fresh: Iterator[int] = field(default_factory=itertools.count)

    def watch(self, work: Callable[[Done], None]) -> None:
        """Do something, and record it."""
        self.top.mkdir(parents=True)
        self.folders.add(self._made(self.top))
        with struck(self._operation):
            work(lambda identity: self.effects.append(Finished(identity)))

    def _operation(self, name: str, real: Callable[..., object], given: Sequence[object]) -> object:
        place = Path(os.fspath(given[0])) if not isinstance(given[0], int) else None  # type: ignore[call-overload]  # a path
        if place and not place.is_relative_to(self.top):
            return real(*given)
        there = place is not None and place.exists()
        before = self._number(place) if place and there else None
        result = real(*given)
        match name, given:
            case "open", [_, *_] if place and isinstance(result, int):
                if not there:
                    self._named(place, self._made(place))
                self._open[result] = self._number(place)
            case "write", [int(descriptor), content] if descriptor in self._open and isinstance(result, int):
                self.effects.append(Data(self._open[descriptor], bytes(content)[:result]))  # type: ignore[call-overload]
            case "fsync", [int(descriptor)] if descriptor in self._open:
                number = self._open[descriptor]
                self.effects.append(Synced(number, number in self.folders))
            case "close", [int(descriptor)]:
                self._open.pop(descriptor, None)
            case "link", [_, to]:
                self._named(Path(os.fspath(to)), before)  # type: ignore[call-overload]  # a path
            case (("rename" | "replace"), [_, to]) if place:
                target = Path(os.fspath(to))  # type: ignore[call-overload]  # a path
                assert target.parent == place.parent
                self.effects.append(Names(self._number(target.parent), ((place.name, None), (target.name, before))))
            case "unlink", [_] if place:
                self._named(place, None)
            case "mkdir", [_, *_] if place:
                self.folders.add(self._made(place))
                self._named(place, self._number(place))
        return result

    def _named(self, path: Path, number: int | None) -> None:
        self.effects.append(Names(self._number(path.parent), ((path.name, number),)))

    def _made(self, path: Path) -> int:
        self._numbers[path.lstat().st_ino] = next(self._fresh)
        return self._number(path)

    def _number(self, path: Path) -> int:
        return self._numbers[path.lstat().st_ino]


@dataclass(frozen=True, slots=True)
class State:
    """What a power loss leaves: the files, and the turns that had finished by then."""

    files: dict[str, bytes]
    folders: tuple[str, ...]
    finished: tuple[str, ...]

    def restore(self, top: Path) -> None:
        shutil.rmtree(top)
        top.mkdir()
        for folder in self.folders:
            (top / folder).mkdir()
        for path, content in self.files.items():
            (top / path).write_bytes(content)


def lose_power(effects: Sequence[Effect], folders: set[int], kind: FileSystem, chance: random.Random) -> State:
    """Make one of the states that a power loss at a random moment may leave."""
    done = effects[: chance.randrange(len(effects) + 1)]
    last_sync = max((place for place, effect in enumerate(done) if isinstance(effect, Synced)), default=-1)
    synced = {effect.what: place for place, effect in enumerate(done) if isinstance(effect, Synced)}
    behind = chance.randrange(last_sync + 1, len(done) + 1) if kind == "journal" else 0
    names, contents = dict[int, dict[str, int]](), dict[int, bytes]()
    torn = set[int]()
    for place, effect in enumerate(done):
        match effect:
            case Names(folder, means):
                safe = place < synced.get(folder, -1)
                if safe or (place < behind if kind == "journal" else chance.random() < 0.5):
                    for name, number in means:
                        names.setdefault(folder, {}).pop(name, None)
                        if number is not None:
                            names[folder][name] = number
            case Data(number, content) if place < synced.get(number, -1):
                contents[number] = contents.get(number, b"") + content
            case Data(number, content) if number not in torn:
                arrived = chance.choice((len(content), 0, chance.randrange(len(content) + 1)))
                zeros = chance.choice((0, 0, len(content) - arrived))  # the size came, the bytes did not
                contents[number] = contents.get(number, b"") + content[:arrived] + bytes(zeros)
                torn |= {number} if arrived < len(content) else set()
    found, places = dict[str, bytes](), list[str]()
    queue = [("", 0)]
    while queue:
        path, folder = queue.pop()
        for name, number in names.get(folder, {}).items():
            below = f"{path}/{name}".lstrip("/")
            if number in folders:
                places.append(below)
                queue.append((below, number))
            else:
                found[below] = contents.get(number, b"")
    return State(found, tuple(places), tuple(effect.identity for effect in done if isinstance(effect, Finished)))
