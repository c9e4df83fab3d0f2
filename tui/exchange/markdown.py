"""Markdown that other tools or people wrote: a file of rules or memories, or a folder of notes."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ogcode.agent.facts.fact import FactScope, parted
from ogcode.agent.facts.intake import Given
from ogcode.agent.memory.markdown import sections
from ogcode.agent.memory.notes import read_head
from ogcode.agent.rules import FACTS
from ogcode.tui.exchange.found import Found, read_text, written_at

LARGEST = 1_000_000
MOST = 5_000
"""Files of a folder that are looked at."""

_TRUTH, _TIMELINE = "compiled truth", "timeline"
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.*?)(?:[ \t]+#*)?$")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<rest>.*)")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})")
_POINTER = re.compile(r"\W*\[[^\]\n]*\]\((?P<target>[^()\s]+\.md)\)")
_IMPORT = re.compile(r"@\S+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def read_file(path: Path, scope: FactScope, found: Found, *, beside: Sequence[str] = ()) -> None:
    """Take each item and each paragraph of a file for a fact; what only points to a file `beside` it is none."""
    text = read_text(path.parent, path.name, LARGEST, found.left)
    own, rest = parted(text, scope, path.name)
    at = written_at(path)
    found.facts += ((scope, Given(each.text, each.updated or at, each.source, each.given, id=each.id)) for each in own)
    for heading, block in _blocks(read_head(rest)[1]):
        pointer = _POINTER.match(block)
        said = _COMMENT.sub("", block).strip()
        first = block.partition("\n")[0][:80]
        if pointer and pointer["target"] in beside:
            found.left.append(f"{path.name}: '{first}' only points to a file that is taken in itself")
        elif not said or _IMPORT.fullmatch(said):
            found.left.append(f"{path.name}: '{first}' is no fact (an import or a comment)")
        else:
            text = f"{heading}: {said}" if heading else said
            found.facts.append((scope, Given(text, at, path.name)))


def read_folder(folder: Path, scope: FactScope, found: Found) -> None:
    """Take each file of a folder for a topic note, but for a MEMORY.md, whose items are facts."""
    paths = sorted(_files(folder, found))
    names = [path.relative_to(folder).as_posix() for path in paths]
    for path, name in zip(paths[:MOST], names, strict=False):
        if path.name == FACTS[0]:
            read_file(path, scope, found, beside=names)
        elif text := read_text(folder, name, LARGEST, found.left):
            found.facts.append((scope, topic(name, text, written_at(path))))
    if len(paths) > MOST:
        found.left.append(f"{len(paths) - MOST:,} files beyond the first {MOST:,}; name a folder below")


def topic(name: str, text: str, at: str) -> Given:
    """Read a file as a topic note: its title, what it holds true, and its history; nothing of it is dropped."""
    head, body, _ = read_head(text)
    lines = body.strip("\n").split("\n")
    stem = name.rpartition("/")[2].removesuffix(".md")
    title = str(head.get("title") or head.get("name") or "")
    begins = _HEADING.match(lines[0])
    heads = begins["title"] if begins and len(begins["marks"]) == 1 else ""
    if heads and heads.casefold() not in (_TRUTH, _TIMELINE) and title in ("", heads):
        title, lines = heads, lines[1:]
    timeline = list[str]()
    for part in reversed(sections("\n".join(lines))):
        if part.level == 1 and part.title.casefold() == _TIMELINE:
            timeline = [*lines[part.start : part.end], *timeline]
            del lines[part.start - 1 : part.end]
        elif part.level == 1 and part.title.casefold() == _TRUTH:
            del lines[part.start - 1]
    dated = str(head.get("updated") or head.get("created") or at).replace(" ", "T")
    return Given(
        "\n".join(lines).strip("\n"),
        dated,
        name,
        str(head.get("description") or ""),
        title or stem.replace("-", " "),
        str(head.get("id") or ""),
        stem,
        head,
        "\n".join(timeline).strip("\n"),
    )


def _files(top: Path, found: Found) -> Iterator[Path]:
    """Find the markdown of a folder: no links, nothing hidden."""
    for folder, folders, names in os.walk(top):
        inside = Path(folder).relative_to(top)
        found.left += (f"{inside / name}: a link" for name in folders if Path(folder, name).is_symlink())
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(folder, name)
            if path.is_symlink() or not path.is_file():
                found.left.append(f"{inside / name}: a link, or no file")
            elif path.suffix != ".md" or name.startswith("."):
                found.left.append(f"{inside / name}: {'hidden' if name.startswith('.') else 'not markdown'}")
            else:
                yield path


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Take a text apart: items of lists, and paragraphs; each with the heading above it. Code stays with its words."""
    heading, block, fence, listed, blank = "", list[str](), "", False, False

    def ended() -> Iterator[tuple[str, str]]:
        if said := "\n".join(block).strip():
            yield heading, said
        block.clear()

    for line in text.split("\n"):
        mark = _FENCE.match(line)
        item = _ITEM.match(line) if not fence else None
        title = _HEADING.match(line) if not fence else None
        if fence or mark:
            closes = mark and mark["fence"].startswith(fence) and fence
            fence = "" if closes else fence or (mark["fence"] if mark else "")
            block += ["", line] if blank and block else [line]
        elif title:
            yield from ended()
            heading, listed = title["title"] if len(title["marks"]) > 1 else "", False
        elif item and not (block and not listed and block[-1].rstrip().endswith(":")) and not _led(block):
            yield from ended()
            block, listed = [item["rest"]], True
        elif not line.strip():
            blank = True
            continue
        elif blank and block and not line.startswith((" ", "\t")) and not (item and _led(block)):
            yield from ended()
            block, listed = [line], False
        else:
            said = line.removeprefix("  ") if listed else line
            block += ["", said] if blank and block and not item else [said]
        blank = False
    yield from ended()


def _led(block: Sequence[str]) -> bool:
    """Tell whether a block is a list with the line that leads to it: its items make no sense without it."""
    return bool(block) and block[0].rstrip().endswith(":") and len(block[0]) > 1
