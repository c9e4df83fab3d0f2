"""The files of a workspace in order, without those that `.gitignore` files leave out, and patterns for their names."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path

from ogcode.agent.tools.ignore import Rules, ignored

_NEVER = (".git", ".ogcode")
_DEEPEST = 100
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")

Stop = Callable[[], bool]


def walk(
    top: Path, start: Path, stop: Stop = lambda: False, ignoring: Sequence[Path] = (), *, everything: bool = False
) -> Iterator[Path]:
    """Give every file below `start`, by name within each folder; links are not followed, and `stop` is asked often.

    Left out is what git would ignore: by the `.gitignore` files from `top` on, by those that are `ignoring` besides.
    """
    above = start.relative_to(top).parts
    besides = [] if everything else [read for path in ignoring if (read := Rules.read(path))]
    rules = list(besides)
    for depth in range(0 if everything else len(above)):
        rules = _rules(top, "/".join(above[:depth]), rules, besides)
    yield from _walk(top, "/".join(above), None if everything else rules, besides, stop)


def fits(path: tuple[str, ...], pattern: str) -> bool:
    """Match a relative path: a pattern without `/` fits a name at any depth, `**` any number of folders."""
    return any(_fits(path, one) for one in _alternatives(pattern))


def is_bounded(pattern: str) -> bool:
    """Tell whether all that the braces of a pattern stand for is looked at."""
    return bool(_alternatives(pattern))


def _walk(top: Path, folder: str, rules: list[Rules] | None, besides: list[Rules], stop: Stop) -> Iterator[Path]:
    place = top / folder
    try:
        with os.scandir(place) as scanned:
            entries = sorted(scanned, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    if rules is not None:
        rules = _rules(top, folder, rules, besides)
    for entry in entries:
        if stop():
            return
        if entry.name.casefold() in _NEVER:
            continue
        path, is_folder = f"{folder}/{entry.name}" if folder else entry.name, entry.is_dir(follow_symlinks=False)
        if rules and ignored(os.fsencode(path), rules, is_folder=is_folder):
            continue
        if is_folder and path.count("/") < _DEEPEST:
            yield from _walk(top, path, rules, besides, stop)
        elif entry.is_file(follow_symlinks=False):
            yield place / entry.name


def _rules(top: Path, folder: str, above: list[Rules], besides: list[Rules]) -> list[Rules]:
    """Add the rules of a folder to those above it, which do not reach into a repository of its own."""
    if folder and os.path.lexists(top / folder / ".git"):
        above = besides
    own = Rules.read(top / folder / ".gitignore", os.fsencode(f"{folder}/" if folder else ""))
    return [*above, own] if own else above


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
    return () if waiting else tuple(_parts(one) for one in ready)


def _parts(pattern: str) -> tuple[str, ...]:
    anchored = "/" in pattern
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    return parts if anchored else ("**", *parts)


@lru_cache(maxsize=4_096)
def _name(part: str) -> Callable[[str], object]:
    return re.compile(translate(part)).match
