"""What people wrote for every turn: AGENTS.md and its like, from the user's home and down the repository."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.clean import attribute, clean, unclosing

RULES = ("AGENTS.md", "AGENT.md", "CLAUDE.md")
FACTS = ("MEMORY.md",)

DEEPEST = 5
"""Imports that lead to each other."""

LARGEST = 4_000_000
"""Bytes of a file that are read."""

_IMPORT = re.compile(r"(?:^|(?<=[\s(]))@(?P<path>(?:[\w.~/-]|\\ )+)", re.MULTILINE)
_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|(?P<ticks>`+)[^\n]*?(?P=ticks)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Written:
    """One file, with the name by which the model is told of it."""

    name: str
    text: str
    theirs: bool = False
    """It stands in the repository, where others may change it."""


@dataclass(frozen=True, slots=True)
class Block:
    text: str
    notices: tuple[str, ...] = ()
    """What was cut or could not be read, for the user."""


@dataclass(frozen=True, slots=True)
class _Base:
    """The folder that files of one kind may lie in."""

    folder: Path
    shown: str
    """Before their names; empty for the repository."""

    @property
    def theirs(self) -> bool:
        return not self.shown

    def name(self, path: Path) -> str:
        inside = path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else path.name
        return f"{self.shown}/{inside}" if self.shown else inside

    def holds(self, path: Path) -> bool:
        """A link may lead anywhere from the user's own folder, and in a repository to what others may know."""
        return not self.theirs or _is_open(path, self.folder)


def find_written(names: tuple[str, ...], *, home: Path, top: Path, folder: Path, trusted: bool) -> Iterator[Written]:
    """Find files by walking from the user's home folder, then the repository's top, down to the working folder.

    Raises:
        OSError: a file is there but can't be read.
    """
    for base, place in _places(home, top, folder, trusted=trusted):
        for path in _there(names, base, place):
            yield _read(path, base)


def find_rules(*, home: Path, top: Path, folder: Path, trusted: bool, notices: list[str]) -> Iterator[Written]:
    """Find the rules that hold in a folder, each behind what it imports; the nearest come last.

    Raises:
        OSError: a file is there but can't be read.
    """
    seen = set[Path]()
    for base, place in _places(home, top, folder, trusted=trusted):
        for path in _there(RULES, base, place):
            yield from _with_imports(path, base, seen, notices, 0)


def nested_rules(top: Path, folder: Path, below: Path, notices: list[str]) -> Iterator[Written]:
    """Find the rules between the working folder and a folder that a tool works in, which hold for that.

    Raises:
        OSError: a file is there but can't be read.
    """
    base, seen = _Base(top, ""), set[Path]()
    known = {top, folder, *folder.parents}
    for place in reversed([each for each in (below, *below.parents) if top in each.parents and each not in known]):
        if not {".git", ".ogcode"} & {*place.relative_to(top).parts}:
            for path in _there(RULES, base, place):
                yield from _with_imports(path, base, seen, notices, 0)


def block(tag: str, files: Iterable[Written], room: int) -> Block:
    """Wrap files in tags, identical texts once, each cut to its share of a number of UTF-8 bytes."""
    found = {text: file for file in files if (text := file.text.strip())}
    sizes = [len(text.encode("utf-8", "replace")) for text in found]
    parts, notices = list[str](), list[str]()
    for (text, file), size, share in zip(found.items(), sizes, shares(sizes, room), strict=True):
        if share < size:
            notices.append(f"{clean(file.name)}: only the first {share:,} of {size:,} bytes fit; shorten it")
            text = text.encode("utf-8", "replace")[:share].decode("utf-8", "ignore") + "\n[… cut …]"
        parts.append(f'<{tag} file="{attribute(file.name)}">\n{unclosing(text, tag)}\n</{tag}>')
    return Block("\n".join(parts), tuple(notices))


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """Share room out: what is small is whole, and what is large gets as much as any other."""
    given, left = [0] * len(sizes), room
    for count, place in enumerate(sorted(range(len(sizes)), key=lambda each: sizes[each])):
        given[place] = min(sizes[place], left // (len(sizes) - count))
        left -= given[place]
    return given


def _places(home: Path, top: Path, folder: Path, *, trusted: bool) -> Iterator[tuple[_Base, Path]]:
    yield _Base(home, "~/.ogcode"), home
    if not trusted:
        return
    if not folder.is_relative_to(top):
        yield _Base(folder, ""), folder
        return
    for place in (top, *reversed([each for each in (folder, *folder.parents) if top in each.parents])):
        yield _Base(top, ""), place


def _there(names: tuple[str, ...], base: _Base, place: Path) -> Iterator[Path]:
    for name in names:
        if (place / name).is_file() and base.holds(place / name):
            yield place / name


def _read(path: Path, base: _Base) -> Written:
    with path.open("rb") as file:
        content = file.read(min(LARGEST, os.fstat(file.fileno()).st_size))  # as much is set aside as is asked for
    return Written(base.name(path), content.decode("utf-8", "replace"), base.theirs)


def _with_imports(path: Path, base: _Base, seen: set[Path], notices: list[str], depth: int) -> Iterator[Written]:
    """Give a file behind what it imports by `@path`; what is not there is none, what lies outside is told."""
    if path.resolve() in seen:
        return
    seen.add(path.resolve())
    file = _read(path, base)
    plain = _CODE.sub("", file.text) if "@" in file.text else ""
    for found in _IMPORT.finditer(plain):
        named = found["path"].replace("\\ ", " ").rstrip(".")
        target = path.parent / named
        name, told = clean(file.name), f"@{clean(named)}"
        if not target.is_file() or named.startswith("~"):
            notices += [f"{name}: there is no {told}"] if named.endswith(".md") else []
        elif not _is_open(target, base.folder):
            notices.append(f"{name}: {told} is not read: it lies outside, or holds no rules")
        elif depth == DEEPEST:
            notices.append(f"{name}: {told} is not read: it is imported over more than {DEEPEST} files")
        else:
            yield from _with_imports(target, base, seen, notices, depth + 1)
    yield file


def _is_open(path: Path, folder: Path) -> bool:
    real, folder = path.resolve(), folder.resolve()
    if not real.is_relative_to(folder):
        return False
    parts = real.relative_to(folder).parts
    return not {".git", ".ogcode"} & {*parts} and not real.name.startswith(".env")
