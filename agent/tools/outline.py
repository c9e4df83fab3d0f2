"""What is in a source file or a markdown text, by name and line: for a model that need not read all of it then."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ogcode.agent.clean import clean
from ogcode.agent.memory.markdown import sections

MARKDOWN = (".md", ".markdown", ".mdx")
_SHARE = 16
"""An outline has at most one byte for so many of its file; names and numbers take more tokens a byte than sources."""
_LEAST = 60
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    depth: int
    start: int
    """First line, from 1."""
    end: int


def symbols(path: str, text: str) -> tuple[Symbol, ...] | None:
    """List the definitions or the headings of a file, in order; None for a kind of file that is not known."""
    from ogcode.agent.grammars import definitions, has_grammar  # only where a file is outlined

    if PurePath(path).suffix.lower() in MARKDOWN:
        headings = sections(text)
        top = min((each.level for each in headings), default=1)
        return tuple(Symbol(_plain(each.title), each.level - top, each.start, each.end) for each in headings)
    if not has_grammar(path):
        return None
    found, above = list[Symbol](), list[str]()
    for each in definitions(path, text):
        while above and not each.name.startswith(f"{above[-1]}."):
            above.pop()
        inner = each.name[len(above[-1]) + 1 :] if above else each.name
        found.append(Symbol(_plain(inner), len(above), each.start, each.end))
        above.append(each.name)
    return tuple(found)


def outline(found: Sequence[Symbol], size: int, most: int) -> str:
    """Write symbols a line each, as deep as a file of that many bytes is worth, and in so many bytes at most."""
    room = min(most, max(_LEAST, size // _SHARE))
    deepest = max((each.depth for each in found), default=0)
    while (text := _written(found, deepest)) and len(text.encode()) > room and deepest:
        deepest -= 1
    if len(text.encode()) <= room:
        return text
    return _bounded(text, room)


def _written(found: Sequence[Symbol], deepest: int) -> str:
    lines = list[str]()
    for at, each in enumerate(found):
        if each.depth > deepest:
            continue
        inside = 0
        if each.depth == deepest:
            inside = next((n for n, other in enumerate(found[at + 1 :]) if other.depth <= deepest), len(found) - at - 1)
        place = f"{each.start}" if each.start == each.end else f"{each.start}-{each.end}"
        lines.append(f"{' ' * each.depth}{each.name} {place}" + (f" (+{inside})" if inside else ""))
    return "\n".join(lines)


def _bounded(text: str, room: int) -> str:
    """Leave out evenly: what is at the end of a file is as good as what is at its beginning."""
    lines = text.split("\n")
    kept = max(1, (room - 40) * len(lines) // len(text.encode()))
    shown = [lines[number * len(lines) // kept] for number in range(kept)]
    return "\n".join([*shown, f"[{len(lines) - kept:,} more between these; use grep]"])


def _plain(name: str) -> str:
    return clean(" ".join(name.split()), prose=True)[:_LONGEST]
