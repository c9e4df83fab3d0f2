"""The files of a workspace in order, without those that `.gitignore` files leave out, and patterns for their names."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

_NEVER = (".git", ".ogcode")
_DEEPEST = 100
_MOST_RULES = 2_000
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a `.gitignore`."""

    pattern: str
    folder: tuple[str, ...]
    """Where the file lies that it stands in, from the top."""
    keeps: bool
    """It starts with `!`: what an earlier line left out is kept."""
    folders_only: bool

    def fits(self, path: tuple[str, ...], *, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return fits(path[len(self.folder) :], self.pattern)


def walk(top: Path, start: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Path]:
    """Give every file below `start`, by name within each folder; links are not followed, and `stop` is asked often."""
    above = start.relative_to(top).parts
    rules = [rule for depth in range(len(above)) for rule in _rules(top, above[:depth])]
    yield from _walk(top, above, rules, stop)


def fits(path: tuple[str, ...], pattern: str) -> bool:
    """Match a relative path: a pattern without `/` fits a name at any depth, `**` any number of folders."""
    return any(_fits(path, one) for one in _alternatives(pattern))


def _walk(top: Path, above: tuple[str, ...], rules: list[Rule], stop: Callable[[], bool]) -> Iterator[Path]:
    folder = top.joinpath(*above)
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    rules = rules + _rules(top, above)
    for entry in entries:
        if stop():
            return
        path, is_folder = (*above, entry.name), entry.is_dir(follow_symlinks=False)
        if entry.name.casefold() in _NEVER or _ignored(path, rules, is_folder=is_folder):
            continue
        if is_folder and len(path) < _DEEPEST:
            yield from _walk(top, path, rules, stop)
        elif entry.is_file(follow_symlinks=False):
            yield folder / entry.name


def _ignored(path: tuple[str, ...], rules: list[Rule], *, is_folder: bool) -> bool:
    last = next((rule for rule in reversed(rules) if rule.fits(path, is_folder=is_folder)), None)
    return last is not None and not last.keeps


def _rules(top: Path, folder: tuple[str, ...]) -> list[Rule]:
    path = top.joinpath(*folder, ".gitignore")
    try:
        if not path.is_file() or path.is_symlink():
            return []
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            written = file.read(200_000).split("\n")
    except OSError:
        return []
    return [rule for line in written[:_MOST_RULES] if (rule := _rule(line.rstrip("\r"), folder))]


def _rule(line: str, folder: tuple[str, ...]) -> Rule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    keeps, line = line.startswith("!"), line.removeprefix("!")
    pattern = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], line)
    folders_only, pattern = pattern.endswith("/"), pattern.rstrip("/")
    pattern = pattern.replace("{", "[{]")
    return Rule(pattern, folder, keeps, folders_only) if pattern else None


def _fits(path: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Match part by part, with `**` as the set of places that it lets the rest start from: never exponential."""
    places = {0}
    for number, part in enumerate(parts):
        if part == "**":
            last = number == len(parts) - 1
            places = set(range(min(places) + last, len(path) + 1))
        else:
            places = {at + 1 for at in places if at < len(path) and _name(part)(path[at])}
        if not places:
            return False
    return len(path) in places


@lru_cache(maxsize=4_096)
def _alternatives(pattern: str) -> tuple[tuple[str, ...], ...]:
    ready, waiting = list[str](), [pattern]
    while waiting and len(ready) + len(waiting) <= 64:
        one = waiting.pop()
        found = _BRACES.search(one)
        if not found:
            ready.append(one)
            continue
        waiting += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
    return tuple(_parts(one) for one in ready)


def _parts(pattern: str) -> tuple[str, ...]:
    anchored = "/" in pattern
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    return parts if anchored else ("**", *parts)


@lru_cache(maxsize=4_096)
def _name(part: str) -> Callable[[str], object]:
    return re.compile(translate(part)).match
