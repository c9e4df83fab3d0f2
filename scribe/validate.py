"""Check what the scribe's model wrote: its shape, and that it names nothing that was not there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ogcode.agent.memory.extract import ended, key_files, outcome, title_of, topics_of, what_was_done
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.memory.markdown import Section, cut, sections
from ogcode.agent.memory.notes import SECTIONS
from ogcode.scribe.names import Named
from ogcode.scribe.prompts import rules

LONGEST = 7_200
"""Characters of an answer that are looked at."""

ECHO = 5
"""Words in a row that are no accident."""

DONE, KEYS, WHY, OUTCOME = SECTIONS[1:]
_ROOM = {DONE: 700, KEYS: 350, WHY: 400, OUTCOME: 450}
"""Bytes of each section of a note."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|(?<=[。！？])|\n+")
_NO_PROSE = re.compile(r"[*`_…\s]*$|Topics:|<|#|\||---|```|~~~|\[end of turn |\(n(?:one|o tool was called)\)$")
_LABEL = re.compile(r"(?:Request|Tool calls, in order|Symbols touched|Final answer|The turn ended as):")
"""What stands over the parts of a digest."""
_MARKS = re.compile(r"^[\s>*+-]*(?:\d+[.)]\s+)?")
_AROUND = " .*`\"'"
_OF_A_KEY = re.compile(r":\s+|(?<=`)\s+(?=\w)|\s+[—–-]\s+|\s+(?=\()|:$")


class NoteRefused(Exception):
    """The text is no note; the reason is told to the model once."""


@dataclass(frozen=True, slots=True)
class Written:
    title: str
    topics: tuple[str, ...]
    told: Mapping[str, str]
    """The text of each section, in order."""


def validate(text: str, job: Job, *, lenient: bool = False) -> Written:
    """Take a model's note apart, keep what holds, and add what only code knows.

    With `lenient` code supplies the title and the topics where the model gave none that hold.

    Raises:
        NoteRefused: it has not the shape of a note.
    """
    text = _unfenced(text.strip())[:LONGEST]
    parts = sections(text)
    lines = text.split("\n")
    named = Named("\n".join([digest(job), *job.files]))
    try:
        title, topics = _title(parts, named), _topics(lines, named)
    except NoteRefused:
        if not lenient:
            raise
        title, topics = title_of(job), ()
    if len(topics) < 3:
        topics = tuple(dict.fromkeys([*topics, *topics_of(job)]))[:3]
    told = _told(parts, lines, named)
    if not told[DONE] and not told[OUTCOME]:
        raise NoteRefused(f"it must have a section '## {DONE}' or '## {OUTCOME}' that names only what is in the text")
    return Written(cut(title, 90, "…"), topics, _completed(told, job))


def _completed(told: Mapping[str, str], job: Job) -> dict[str, str]:
    """Add from the turn itself what the model left out, and what is not its to say."""
    return {
        DONE: told[DONE] or what_was_done(job),
        KEYS: "\n".join(part for part in (told[KEYS], key_files(job, named=told[KEYS])) if part),
        WHY: told[WHY],
        OUTCOME: ended(job) + (told[OUTCOME] or outcome(job, _ROOM[OUTCOME])),
    }


def _title(parts: Sequence[Section], named: Named) -> str:
    heads = [part.title for part in parts if part.level == 1]
    if len(heads) != 1 or not heads[0]:
        raise NoteRefused(f"it must have exactly one '# title' line, and has {len(heads)}")
    title = " ".join(heads[0].split())
    if _echoes(title) or any(_same(title, section) for section in SECTIONS):
        raise NoteRefused("the title must say what the turn was about, in your own words")
    if invented := named.invented(title):
        raise NoteRefused(f"the title names {invented[0]}, which is not in the text")
    return title


def _topics(lines: Sequence[str], named: Named) -> tuple[str, ...]:
    line = next((line for line in lines if line.startswith("Topics:")), "Topics:").removeprefix("Topics:")
    topics = dict.fromkeys(cut(topic.strip(" .*`"), 60, "") for topic in line.split(",") if topic.strip(" .*`"))
    if not topics:
        raise NoteRefused("below the title it must have a line that begins with 'Topics:' and names three to six")
    return tuple(topic for topic in topics if len(topic) > 1 and not named.invented(topic))[:6]


def _same(title: str, wanted: str) -> bool:
    return re.sub(r"\W+", "", title).casefold() == re.sub(r"\W+", "", wanted).casefold()


def _told(parts: Sequence[Section], lines: Sequence[str], named: Named) -> dict[str, str]:
    """Give what holds of each section that a note may have; no line twice in all of them."""
    found, seen = dict[str, str](), set[str]()
    for section in _ROOM:
        kept, room = list[str](), _ROOM[section]
        for part in parts:
            if not _same(part.title, section):
                continue
            for line in _true_lines(lines[part.start : _own_end(part, parts)], section, named):
                bare = _MARKS.sub("", line).casefold()
                if bare in seen or room <= 0:
                    continue
                seen.add(bare)
                short = line.encode()[: _ROOM[section]].decode("utf-8", "ignore")
                room -= len(short.encode())
                if room >= 0:
                    kept.append(short if short == line else f"{short} …")
        found[section] = "\n".join(kept)
    return found


def _own_end(part: Section, parts: Sequence[Section]) -> int:
    """End a section where another one begins, though it has the mark of a title."""
    return min([part.end, *(other.start - 1 for other in parts if other.start > part.start and other.level <= 2)])


def _true_lines(lines: Sequence[str], section: str, named: Named) -> Iterator[str]:
    """Keep of each line what names only what the turn named."""
    for line in lines:
        marks = _MARKS.match(line)
        start = marks[0] if marks else ""
        bare = line[len(start) :].rstrip()
        if _NO_PROSE.match(bare) or _LABEL.match(bare):
            continue
        if section == KEYS:
            kept = _true_keys(bare, named)
        else:
            said = (each for each in _SENTENCE.split(bare) if each and not _echoes(each))
            kept = " ".join(each for each in said if not named.invented(each))
        if kept:
            yield f"{start}{kept}"


def _true_keys(line: str, named: Named) -> str:
    """Keep the files of a line that the turn named, and what is said of them where that holds."""
    mark = _OF_A_KEY.search(line)
    heads, about = (line[: mark.start()], line[mark.end() :]) if mark else (line, "")
    real = [head.strip() for head in heads.split(",") if _is_key(head, named)]
    if not real:
        return ""
    said = [each.strip() for each in about.split(",") if _is_named(each, named)]
    return ", ".join(real) + (f": {', '.join(said)}" if said else "")


def _is_key(head: str, named: Named) -> bool:
    """Tell whether the turn named a file or a symbol; a plain word is one only where it is written as code."""
    bare = head.strip(_AROUND).removesuffix("()")
    one = not re.search(r"[\s=]", bare) or "`" in head
    return one and named.holds(bare) and ("`" in head or not bare.isalpha() or not bare.islower())


def _is_named(text: str, named: Named) -> bool:
    """Tell whether a single word stands in the turn, or whether of several none is made up."""
    bare = text.strip(_AROUND)
    return bool(bare) and (not named.invented(text) if " " in bare else named.holds(bare.removesuffix("()")))


def _echoes(text: str) -> bool:
    """Tell whether a sentence is copied from the prompt, as small models do: as a whole, or five words in a row."""
    words = _words(text)
    told, sentences = _of_the_rules()
    rows = [f" {' '.join(words[at : at + ECHO])} " for at in range(len(words) - ECHO + 1)]
    return any(row in told for row in rows) or words in sentences


@cache
def _of_the_rules() -> tuple[str, list[list[str]]]:
    return f" {' '.join(_words(rules()))} ", [_words(said) for said in _SENTENCE.split(rules())]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _unfenced(text: str) -> str:
    """Unwrap a note that came inside one code fence."""
    match = re.fullmatch(r"(`{3,}|~{3,})[^\n]*\n(.*)\n\1", text, re.DOTALL)
    return match[2].strip() if match else text
