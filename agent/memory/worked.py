"""What a turn worked on: files, and the definitions that its edits touched."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from ogcode.agent.memory.calls import arguments
from ogcode.agent.turn import Step

FILES = 40
"""Paths that a turn is remembered by at most; changed ones come first."""

HASHED = 50_000_000
"""Bytes; of a larger file it is not kept what it held."""

PARSED = 12
"""Changed files whose definitions are named: parsing takes a few milliseconds each."""

NAMES = 12
"""Definitions that are named of one file."""


@dataclass(frozen=True, slots=True)
class Work:
    files: tuple[str, ...]
    """Paths within the checkout that are files now, changed ones first."""
    written: Mapping[str, tuple[str, ...]]
    """The texts that edits put into each changed file."""


def worked_on(steps: Iterable[Step], top: Path) -> Work:
    """List the files that the calls of a turn worked on."""
    read, written = dict[str, None](), dict[str, list[str]]()
    root = top.resolve()
    inside = cache(lambda path: _inside(path, root))
    for step in steps:
        if step.failed or step.name not in ("read", "write", "edit"):
            continue
        given = arguments(step)
        path = given.get("path")
        if not isinstance(path, str) or (named := inside(path)) is None:
            continue
        if step.name == "read":
            read[named] = None
        else:
            new = given.get("new", given.get("content"))
            written.setdefault(named, []).extend([new] if isinstance(new, str) else [])
    files = tuple(dict.fromkeys([*written, *read]))[:FILES]
    return Work(files, {path: tuple(texts) for path, texts in written.items() if path in files})


def file_digest(path: Path) -> str:
    """Give the start of a file's SHA-256: 12 hexadecimal digits, or empty where it can't be read or is huge."""
    try:
        if not path.is_file() or path.stat().st_size > HASHED:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]
    except OSError:
        return ""


def symbols(work: Work, top: Path, room: int) -> Mapping[str, tuple[str, ...]]:
    """Name the definitions that the edits touched, within so many bytes."""
    found = dict[str, tuple[str, ...]]()
    for path, texts in islice(work.written.items(), PARSED):
        names = _touched(path, top, texts)
        room -= len(path.encode("utf-8", "replace")) + sum(len(name.encode()) + 2 for name in names)
        if names and room >= 0:
            found[path] = names
    return found


def _touched(path: str, top: Path, texts: Iterable[str]) -> tuple[str, ...]:
    from ogcode.agent.grammars import LARGEST, definitions, touched  # only where something was written

    try:
        text = (top / path).read_bytes()[: LARGEST + 1].decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ()
    plain = [new.replace("\r\n", "\n") for new in texts]
    if any(new.strip() == text.strip() for new in plain):  # it wrote the whole file
        names = dict.fromkeys(each.name for each in islice(definitions(path, text), NAMES))
    else:
        lines = [lines for new in plain if (lines := _lines(new, text))]
        known = tuple(definitions(path, text, lines)) if lines else ()
        names = dict.fromkeys(name for part in lines for name in touched(known, part))
    return tuple(" ".join(name.split()) for name in islice(names, NAMES))


def _lines(new: str, text: str) -> range:
    """Tell which lines of a file an edit has put there; none where it stands no more."""
    at = text.find(new) if new.strip() else -1
    first = text.count("\n", 0, at) + 1
    return range(first, first + new.rstrip("\n").count("\n") + 1) if at >= 0 else range(0)


def _inside(path: str, root: Path) -> str | None:
    """Name a path relative to the checkout, if it is a file in there."""
    try:
        place = (root / path).resolve()
        return place.relative_to(root).as_posix() if place.is_file() else None
    except (OSError, ValueError, RuntimeError):  # gone, NUL bytes, loops of links
        return None
