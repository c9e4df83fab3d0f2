"""What people wrote for every turn: AGENTS.md (obeyed) and MEMORY.md (known), from the user and down the repository."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RULES = ("AGENTS.md", "AGENT.md")
FACTS = ("MEMORY.md",)


@dataclass(frozen=True, slots=True)
class Written:
    """One file, with the name by which the model is told of it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    text: str
    notices: tuple[str, ...] = ()
    """What was cut or could not be read, for the user."""


def find_written(names: tuple[str, ...], *, home: Path, top: Path, folder: Path, trusted: bool) -> Iterator[Written]:
    """Find files by walking from the user's home folder, then the repository's top, down to the working folder.

    Raises:
        OSError: a file is there but can't be read.
    """
    yield from _read(names, home, "~/.ogcode", within=None)
    if not trusted:
        return
    inside = folder.is_relative_to(top)
    chain = (
        [top, *reversed([place for place in (folder, *folder.parents) if top in place.parents])] if inside else [folder]
    )
    for place in chain:
        yield from _read(names, place, place.relative_to(top).as_posix() if inside else ".", within=top)


def block(tag: str, files: Iterator[Written], room: int) -> Block:
    """Wrap files in tags, identical texts once, cut to a number of characters; the nearest come last."""
    seen = set[str]()
    parts, notices, left = list[str](), list[str](), room
    for file in files:
        text = file.text.strip()
        if not text or text in seen:
            continue
        seen.add(text)
        if len(text) > left:
            notices.append(f"{file.name}: only the first {max(0, left):,} of {len(text):,} characters fit; shorten it")
            text = text[: max(0, left)] + "\n[… cut …]"
        left -= len(text)
        inner = text.replace(f"</{tag}", f"<\\/{tag}")  # a file can't close its own tag
        parts.append(f'<{tag} file="{file.name}">\n{inner}\n</{tag}>')
    return Block("\n".join(parts), tuple(notices))


def _read(names: tuple[str, ...], place: Path, shown: str, *, within: Path | None) -> Iterator[Written]:
    """Read what is there; a link may lead anywhere from the user's own folder, and nowhere out of a repository."""
    for name in names:
        path = place / name
        if path.is_file() and (within is None or path.resolve().is_relative_to(within.resolve())):
            yield Written(name if shown == "." else f"{shown}/{name}", path.read_bytes().decode("utf-8", "replace"))
