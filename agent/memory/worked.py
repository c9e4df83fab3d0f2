"""What a turn worked on: files, and the definitions that its edits touched."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from stat import S_ISLNK, S_ISREG

from ogcode.agent.memory.calls import arguments
from ogcode.agent.memory.touched import Names
from ogcode.agent.turn import Step

FILES = 40
"""Paths that a turn is remembered by at most; changed ones come first."""

HASHED = 50_000_000
"""Bytes; of a larger file it is not kept what it held."""

NAMED = 12
"""Changed files whose definitions are named."""

PARSED = 40_000
"""Bytes of a turn's changed files that are parsed for the definitions in them: five milliseconds or so."""

SEARCHED = 500_000
"""Bytes of a changed file in which its edits are looked for."""


@dataclass(frozen=True, slots=True)
class Work:
    files: tuple[str, ...]
    """Paths within the checkout that are files now, changed ones first."""
    written: Mapping[str, tuple[str, ...]]
    """The texts that edits put into each changed file."""


def worked_on(steps: Iterable[Step], top: Path) -> Work:
    """List the files that the calls of a turn worked on."""
    read, written = dict[str, None](), dict[str, list[str]]()
    root, real = str(top.resolve()), cache(os.path.realpath)
    inside = cache(lambda path: _inside(path, root, real))
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
            more = given.get("more")
            further = [each.get("new") for each in more if isinstance(each, dict)] if isinstance(more, list) else []
            texts = [given.get("new", given.get("content")), *further]
            written.setdefault(named, []).extend(text for text in texts if isinstance(text, str))
    files = tuple(dict.fromkeys([*written, *read]))[:FILES]
    return Work(files, {path: tuple(texts) for path, texts in written.items() if path in files})


def file_digest(path: Path) -> str:
    """Give the start of a file's SHA-256: 12 hexadecimal digits, or empty where it can't be read or is huge."""
    try:
        if not path.is_file() or path.stat().st_size > HASHED:
            return ""
        with path.open("rb", buffering=0) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]
    except OSError:
        return ""


def symbols(work: Work, top: Path, room: int) -> Mapping[str, tuple[str, ...]]:
    """Name the definitions that the edits touched, within so many bytes."""
    found, naming = dict[str, tuple[str, ...]](), Names(PARSED)
    for path, texts in islice(work.written.items(), NAMED):
        try:
            with (top / path).open("rb") as file:
                text = file.read(SEARCHED).decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:
            continue
        names = naming.of(path, text, texts)
        room -= len(path.encode("utf-8", "replace")) + sum(len(name.encode()) + 2 for name in names)
        if names and room >= 0:
            found[path] = names
    return found


def _inside(path: str, root: str, real: Callable[[str], str]) -> str | None:
    """Name a path relative to the checkout, if it is a file in there; `real` resolves the links in its folder."""
    try:
        folder, name = os.path.split(f"{root}/{path}" if path[:1] != "/" else path)
        place = f"{real(folder)}/{name}"
        facts = os.lstat(place)
        if S_ISLNK(facts.st_mode):
            place = os.path.realpath(place)
            facts = os.lstat(place)
    except (OSError, ValueError):  # gone, loops of links, NUL bytes
        return None
    top = f"{root.rstrip('/')}/"
    return place.removeprefix(top) if S_ISREG(facts.st_mode) and place.startswith(top) else None
