"""A larger fact: a topic note, with what is held true first and how it came to be below."""

import json
import re
from dataclasses import dataclass, replace
from hashlib import sha256

from ogcode.agent.facts.fact import Fact, FactScope, first_sentence, one_line, tidy
from ogcode.agent.memory.markdown import closed, sections
from ogcode.agent.memory.notes import frontmatter, read_head

LARGE = 1_200
"""Characters from which on a fact gets a file of its own."""

LARGEST = 40_000
"""Characters of what a topic note holds true."""

_ENTRY = 500
"""Characters of a line of its history."""

_TITLED = re.compile(r"#[ \t]+(?P<title>[^\n]+)\n(?P<rest>.*)", re.DOTALL)
_TRUTH, _TIMELINE = ("compiled truth", "current"), ("timeline",)
_ID = re.compile(r"m-[0-9a-f]{4,16}")


@dataclass(frozen=True, slots=True)
class Topic:
    fact: Fact
    head: dict[str, object]
    """Its frontmatter, what ogcode does not know included."""
    timeline: str

    @property
    def names(self) -> set[str]:
        """By what it can be called."""
        aliases = self.head.get("aliases")
        others = aliases if isinstance(aliases, list) else []
        return {str(name).casefold().strip() for name in (self.fact.title, *others)}


def titled(text: str) -> tuple[str, str]:
    """Split a text that begins with a heading into that and the rest; without one the title is empty."""
    found = _TITLED.fullmatch(text)
    return (one_line(found["title"]), found["rest"].strip()) if found and found["rest"].strip() else ("", text)


def parse_topic(file: str, text: str, scope: FactScope) -> Topic:
    """Read any markdown file as a topic note; one without an id has one by its name."""
    head, body, _ = read_head(text.replace("\r\n", "\n").lstrip("\ufeff"))
    lines = body.split("\n")
    parts = {part.title.casefold(): part for part in sections(body) if part.level == 1}

    def section(names: tuple[str, ...]) -> str:
        part = next((parts[name] for name in names if name in parts), None)
        return "\n".join(lines[part.start : part.end]).strip() if part else ""

    known = any(name in parts for name in (*_TRUTH, *_TIMELINE))
    stem = file.rpartition("/")[2].removesuffix(".md")
    given = str(head.get("id", ""))
    identity = given if _ID.fullmatch(given) else f"m-{sha256(file.encode('utf-8', 'replace')).hexdigest()[:6]}"
    fact = Fact(
        identity,
        tidy(section(_TRUTH) if known else body),
        scope,
        str(head.get("updated") or head.get("created") or ""),
        given=one_line(str(head.get("description") or "")),
        file=file,
        title=one_line(str(head.get("title") or "")) or stem.replace("-", " "),
    )
    return Topic(fact, head, section(_TIMELINE))


def new_topic(fact: Fact) -> Topic:
    """Start a topic note."""
    head: dict[str, object] = {
        "id": fact.id,
        "title": fact.title,
        "description": fact.given or first_sentence(fact.text),
        "type": "user" if fact.scope == "global" else "reference",
        "aliases": [],
        "created": fact.updated,
        "updated": fact.updated,
    }
    return Topic(fact, head, entry(fact, f"began: {first_sentence(fact.text)}"))


def changed_topic(topic: Topic, fact: Fact, what: str) -> Topic:
    """Give a topic another text, and its history a line that says what happened."""
    described = fact.given or first_sentence(fact.text)
    head = {**topic.head, "id": fact.id, "title": fact.title, "description": described, "updated": fact.updated}
    timeline = "\n".join(filter(None, [topic.timeline, entry(fact, what)]))
    return Topic(replace(fact, given=described), head, timeline)


def entry(fact: Fact, what: str) -> str:
    """Write a line of history, with the turn that it comes from."""
    source = f" [Source: [[{fact.source}]]]" if fact.source else ""
    return f"- {fact.updated[:10]}: {one_line(what, _ENTRY)}{source}"


def render_topic(topic: Topic) -> str:
    """Write a topic note; a heading in its text does not become one of its sections."""
    lines = closed(topic.fact.text).split("\n")
    for part in sections("\n".join(lines)):
        if part.level == 1:
            lines[part.start - 1] = f"#{lines[part.start - 1].lstrip()}"
    text = "\n".join(lines)
    head = frontmatter({key: _plain(value) for key, value in topic.head.items()})
    return f"{head}\n# Compiled truth\n\n{text}\n\n# Timeline\n\n{topic.timeline}\n"


def _plain(value: object) -> object:
    """Give what YAML made of a hand-written head as JSON can hold it."""
    return json.loads(json.dumps(value, default=str))
