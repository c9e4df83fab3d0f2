"""A note as it is read: its marks shown as what they mean, its links to follow, its hits to be seen."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from textual.content import Content, Span
from textual.style import Style

from ogcode.agent.clean import clean

LONGEST = 60_000
"""Characters that are shown."""

HITS = 500
"""Hits that are marked."""

HIT = "bold reverse"

_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_BULLET = re.compile(r"([ \t]*)[-*+] (?=\S)")
_INLINE = re.compile(
    r"`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[\[([^\[\]\n#|]{1,200})((?:#[^\[\]\n]{0,200})?)\]\]|^\\(?=[#\-=T])"
)
_TONES = {1: "bold underline", 2: "bold $accent"}


@dataclass(frozen=True, slots=True)
class Link:
    """A place in a text that leads to a note or a file."""

    start: int
    end: int
    note: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Painted:
    content: Content
    links: Sequence[Link] = ()


def painted(text: str, files: Iterable[str] = ()) -> Painted:
    """Show markdown as what it means; a line stays a line."""
    plain, spans, links = list[str](), list[Span](), list[Link]()
    at, fenced = 0, False
    for line in _bounded(text).split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        for piece, tone, note in [(line, "$secondary", "")] if fenced else _pieces(line):
            end = at + len(piece)
            if note:
                links.append(Link(at, end, note=note))
            elif tone:
                spans.append(Span(at, end, tone))
            plain.append(piece)
            at = end
        plain.append("\n")
        at += 1
    whole = "".join(plain).rstrip("\n")
    links += _named(whole, files)
    links.sort(key=lambda link: link.start)
    spans += [Span(link.start, link.end, _of(link)) for link in links]
    return Painted(Content(whole, spans), links)


def source(text: str) -> Painted:
    """Show a file as it is."""
    return Painted(Content(_bounded(text)))


def marked(content: Content, hits: re.Pattern[str] | None) -> Content:
    """Mark what is searched for, where it stands."""
    if hits is None:
        return content
    spans = [Span(*found.span(), HIT) for found, _ in zip(hits.finditer(content.plain), range(HITS), strict=False)]
    return content.add_spans(spans) if spans else content


def in_one_tone(content: Content) -> Content:
    """Leave colours out, for a row that has a colour of its own; what is bold or was found stays so."""
    return Content(content.plain, [span for span in content.spans if str(span.style) in ("bold", HIT)])


def chosen(content: Content, link: Link | None) -> Content:
    """Mark the link that Enter follows."""
    return content.add_spans([Span(link.start, link.end, "reverse")]) if link else content


def _bounded(text: str) -> str:
    if len(text) <= LONGEST:
        return clean(text, prose=True)
    shown = clean(text[:LONGEST], prose=True)
    return f"{shown}\n\n… {len(text) - LONGEST:,} more characters; e opens all of it in your editor"


def _pieces(line: str) -> Iterator[tuple[str, str, str]]:
    """Take a line apart: texts, each with its tone and the note that it leads to."""
    if heading := _HEADING.match(line):
        yield heading[2], _TONES.get(len(heading[1]), "bold"), ""
        return
    if line.startswith("Topics:"):
        yield line, "dim", ""
        return
    if bullet := _BULLET.match(line):
        yield f"{bullet[1]}• ", "$accent", ""
        line = line[bullet.end() :]
    tone = "dim" if line.startswith(">") else ""
    at = 0
    for found in _INLINE.finditer(line):
        yield line[at : found.start()], tone, ""
        code, bold, note, section = found.groups("")
        if note:
            yield f"[[{note}{section}]]", "", note.strip()
        else:
            yield (code, "$secondary", "") if code else (bold, "bold", "")
        at = found.end()
    yield line[at:], tone, ""


def _named(text: str, files: Iterable[str]) -> Iterator[Link]:
    """Find the files that a note says it worked on."""
    for file in files:
        at = text.find(file) if len(file) > 2 else -1
        if at >= 0:
            yield Link(at, at + len(file), file=file)


def _of(link: Link) -> Style:
    return Style.parse("underline $accent") + Style.from_meta({"note": link.note, "file": link.file})
