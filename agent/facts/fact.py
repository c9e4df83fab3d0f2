"""A fact, and how it is written: one item of a markdown list, amid whatever else people keep in the file."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

from ogcode.agent.clean import clean
from ogcode.agent.memory.markdown import cut

FactScope = Literal["project", "global"]

SUMMARY = 120
"""Characters of a summary."""

_ALIKE, _NAMED = 0.5, 3
"""The share of words from which on two facts are alike, and how many of them are named."""

_ITEM = re.compile(
    r"^- \[(?P<id>m-[0-9a-f]{4,16})\][ \t]*(?P<body>[^\n]*(?:\n(?:\r?\n)*(?:  |\t)[^\n]*)*)(?:\n|\Z)", re.MULTILINE
)
_ORIGIN = re.compile(
    r"<!-- (?P<updated>\S+)(?: \[\[(?P<source>[^\]\n]*)\]\])?(?: (?P<of>[0-9a-f]{8}) (?P<given>.*))? -->"
)
_INDENT = re.compile(r"\n(?:  |\t)")
_SENTENCE = re.compile(r".*?(?:[.!?](?=\s)|[。！？]|$)")
_OURS = re.compile(r"<(?=/?(?:facts|rules|standing|previous_answer|so_far)\b)", re.IGNORECASE)
_WORD = re.compile(r"\w+")


class FactRefused(Exception):
    """A fact can't be kept, changed or found; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Fact:
    id: str
    text: str
    scope: FactScope
    updated: str = ""
    """ISO 8601, UTC; empty where nobody knows."""
    source: str = ""
    """The id of the note of the turn that last wrote it."""
    given: str = ""
    """The summary that was given for this very text."""
    file: str = ""
    """As people name it: `MEMORY.md`, `sub/MEMORY.md`, `~/.ogcode/MEMORY.md`."""
    title: str = ""
    """Of a topic note, which has a file of its own."""

    @property
    def summary(self) -> str:
        """One line; never that of an older text."""
        return self.given or (cut(self.title, SUMMARY, "…") if self.title else first_sentence(self.text))


@dataclass(frozen=True, slots=True)
class Item:
    """A fact and where in its file it stands."""

    fact: Fact
    start: int
    end: int


def items(text: str, scope: FactScope, file: str) -> Iterator[Item]:
    """Find the facts of a file; all else in it is left to whoever wrote it."""
    return (Item(_read(each, scope, file), each.start(), each.end()) for each in _ITEM.finditer(text))


def parted(text: str, scope: FactScope, file: str) -> tuple[tuple[Fact, ...], str]:
    """Tell the facts of a file from what people wrote there."""
    facts, rest, at = list[Fact](), list[str](), 0
    for each in _ITEM.finditer(text):
        facts.append(_read(each, scope, file))
        rest.append(text[at : each.start()])
        at = each.end()
    return tuple(facts), "".join([*rest, text[at:]]).strip()


def _read(found: re.Match[str], scope: FactScope, file: str) -> Fact:
    identity, body = found.groups()
    if "\r" in body:
        body = body.replace("\r\n", "\n").rstrip("\r")
    said = body.replace("\n  ", "\n") if "\n\t" not in body else _INDENT.sub("\n", body)
    rest, _, last = said.rpartition("\n")
    updated = source = of = given = ""
    if told := _ORIGIN.fullmatch(last.strip()):
        said = rest
        updated, source, of, given = told.groups("")
    said = said.strip()
    fresh = given if given and of == _digest(said) else ""
    return Fact(identity, said, scope, updated.strip("-"), source, fresh, file)


def item(fact: Fact) -> str:
    """Write a fact as an item that none of its lines can leave."""
    source = f" [[{fact.source}]]" if fact.source else ""
    given = f" {_digest(fact.text)} {fact.given}" if fact.given else ""
    first, *rest = fact.text.split("\n")
    lines = [f"- [{fact.id}] {first}", *(f"  {line}" if line else "" for line in rest)]
    return "\n".join([*lines, f"  <!-- {fact.updated or '-'}{source}{given} -->", ""])


def with_item(text: str, written: str, *, at: int | None = None) -> str:
    """Add an item behind the others of a file or at a place; its line ends are those of the file."""
    newline = newline_of(text)
    written = _ended(written, newline)
    last = max((found.end() for found in _ITEM.finditer(text)), default=None)
    place = at if at is not None else len(text) if last is None else last
    before, after = text[:place], text[place:]
    if before and not before.endswith("\n"):
        before += newline
    if last is None and at is None and before and not before.endswith(newline * 2):
        before += newline
    apart = newline if at is None and after and not after.startswith(("\n", "\r")) else ""
    return f"{before}{written}{apart}{after}"


def without_item(text: str, identity: str) -> str:
    """Take an item out, and nothing else."""
    return _changed(text, identity, "")


def with_changed(text: str, identity: str, written: str) -> str:
    """Put another item in the place of one."""
    return _changed(text, identity, _ended(written, newline_of(text)))


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _ended(written: str, newline: str) -> str:
    return written if "\r" in written else written.replace("\n", newline)


def _changed(text: str, identity: str, written: str) -> str:
    found = next((each for each in _ITEM.finditer(text) if each["id"] == identity), None)
    return text if found is None else f"{text[: found.start()]}{written}{text[found.end() :]}"


def safe(text: str) -> str:
    """Give a text as a request can hold it: it hides nothing, and neither opens nor closes what is ours."""
    return _OURS.sub("<\\\\", clean(text, prose=True))


def on_one_line(text: str) -> str:
    """Give it so on one line."""
    return " ".join(safe(text).split())


def tidy(text: str) -> str:
    """Give a text as it is kept: nothing invisible, no line that is more than a line."""
    plain = clean(text.encode("utf-8", "replace").decode(), prose=True)
    return "\n".join(line.rstrip() for line in plain.strip().splitlines())


def one_line(text: str, most: int = SUMMARY) -> str:
    """Give a text as one line of at most so many characters, which can't end the comment that it stands in."""
    return cut(" ".join(tidy(text).split()).replace("-->", "→"), most, "…")


def first_sentence(text: str) -> str:
    """Sum a text up by its first sentence."""
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    found = _SENTENCE.match(first)
    return cut(found[0] if found and found[0] else first, SUMMARY, "…")


def same(text: str) -> str:
    """Give what two texts have in common that say the same in the same words."""
    return " ".join(text.casefold().split()).rstrip(".!")


def alike(text: str, facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Give the facts that share at least half of their words with a text, the closest first."""
    mine = set(_WORD.findall(text.casefold()))
    words = ((fact, set(_WORD.findall(fact.text.casefold()))) for fact in facts)
    shares = [(len(mine & theirs) / (len(mine | theirs) or 1), fact) for fact, theirs in words]
    near = sorted((pair for pair in shares if pair[0] >= _ALIKE), key=lambda pair: -pair[0])
    return tuple(fact for _, fact in near[:_NAMED])


def _digest(text: str) -> str:
    """Tell a text from what it becomes by an edit; nobody gains by two that are told as one."""
    return f"{crc32(text.encode('utf-8', 'replace')):08x}"
