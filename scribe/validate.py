"""Check what the scribe's model wrote: its shape, and that it names nothing that was not there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ogcode.agent.memory.extract import title_of, topics_of
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.memory.markdown import Section, closed, cut, sections
from ogcode.agent.memory.notes import SECTIONS

LONGEST = 3_600
"""Characters of a body: about 900 tokens."""

_WRITTEN = SECTIONS[1:]
_PATH = re.compile(
    r"(?<![\w:/])(?:[\w.@~+-]*/)+[\w.@+-]*\w|\b[\w-]+\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|md|toml|json|ya?ml|sh)\b"
)


_PLACEHOLDER = "what this turn was about"
"""How the prompt describes a title; small models copy it."""


class NoteRefused(Exception):
    """The text is no note; the reason is told to the model once."""


@dataclass(frozen=True, slots=True)
class Written:
    title: str
    topics: tuple[str, ...]
    body: str


def validate(text: str, job: Job, *, lenient: bool = False) -> Written:
    """Take a model's note apart and keep what holds; `lenient` lets code supply the title and the topics.

    Raises:
        NoteRefused: it has not the shape of a note.
    """
    text = _unfenced(text.strip())[: 2 * LONGEST]
    parts = sections(text)
    lines = text.split("\n")
    known = digest(job)
    try:
        title, topics = _title(parts, known), _topics(lines, known)
    except NoteRefused:
        if not lenient:
            raise
        title, topics = title_of(job), ()
    if len(topics) < 3:
        topics = tuple(dict.fromkeys([*topics, *topics_of(job)]))[:3]
    kept = list[str]()
    for wanted in _WRITTEN:
        for part in parts:
            if part.level == 2 and _same(part.title, wanted):
                told = _true_lines(lines[part.start : part.end], wanted, known)
                if told:
                    kept.append(closed(f"## {wanted}\n" + "\n".join(told)))
    if not any(part.startswith(("## What was done", "## Outcome")) for part in kept):
        raise NoteRefused(
            "it must have a section '## What was done' or '## Outcome' that names only what is in the text"
        )
    return Written(cut(title, 90, "…"), topics, cut("\n\n".join(kept), LONGEST, "\n[… cut …]"))


def _title(parts: Sequence[Section], known: str) -> str:
    heads = [part.title for part in parts if part.level == 1]
    if len(heads) != 1 or not heads[0]:
        raise NoteRefused(f"it must have exactly one '# title' line, and has {len(heads)}")
    title = " ".join(heads[0].split())
    if title.casefold().startswith(_PLACEHOLDER):
        raise NoteRefused("the title must say what the turn was about, in your own words")
    if invented := _invented(title, known):
        raise NoteRefused(f"the title names {invented[0]}, which is not in the text")
    return title


def _topics(lines: Sequence[str], known: str) -> tuple[str, ...]:
    named = next((line for line in lines if line.startswith("Topics:")), "Topics:").removeprefix("Topics:")
    topics = dict.fromkeys(cut(topic.strip(" .*`"), 60, "") for topic in named.split(",") if topic.strip(" .*`"))
    if not topics:
        raise NoteRefused("it must have a line 'Topics: a, b, c' below the title")
    return tuple(topic for topic in topics if not _invented(topic, known))[:6]


def _same(title: str, wanted: str) -> bool:
    return re.sub(r"\W+", "", title).casefold() == re.sub(r"\W+", "", wanted).casefold()


def _true_lines(lines: Sequence[str], section: str, known: str) -> list[str]:
    """Drop lines that name a path the turn did not, and symbols it did not name; and lines left empty."""
    kept = list[str]()
    for line in lines:
        if not line.strip() or line.lstrip().startswith(("Topics:", "<")):
            continue
        if _invented(line, known):
            continue
        if section == "Key files & symbols":
            line = _true_symbols(line, known)
        if line:
            kept.append(line.rstrip())
    return kept


def _invented(line: str, known: str) -> list[str]:
    """List the paths in a line that the turn did not name; `and/or` is no path."""
    return [
        path
        for path in _PATH.findall(line)
        if path not in known and ("." in path or path.count("/") > 1 or path.startswith(("/", "~")))
    ]


def _true_symbols(line: str, known: str) -> str:
    path, colon, named = line.partition(": ")
    if re.sub(r"^[\s*-]+|[`*]", "", path).strip() not in known:
        return ""
    real = [name for name in named.split(",") if name.strip(" .`*()") and name.strip(" .`*()") in known]
    return f"{path}{colon}{','.join(real).strip()}" if real else path


def _unfenced(text: str) -> str:
    """Unwrap a note that came inside one code fence."""
    match = re.fullmatch(r"(`{3,}|~{3,})[^\n]*\n(.*)\n\1", text, re.DOTALL)
    return match[2].strip() if match else text
