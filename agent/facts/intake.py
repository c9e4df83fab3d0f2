"""Facts that come from elsewhere: which are new here, which are known, and which were forgotten before."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from typing import Literal

from ogcode.agent.facts.fact import Fact, FactScope, item, items, one_line, same, tidy, with_item
from ogcode.agent.facts.log import Done, Log
from ogcode.agent.facts.shelf import NEW_FILE, Known, Place, Shelf
from ogcode.agent.facts.topic import LARGE, LARGEST, Topic, new_topic, parse_topic, render_topic, titled
from ogcode.agent.memory.notes import slug
from ogcode.agent.rules import FACTS
from ogcode.agent.sensitive.finding import Finding
from ogcode.agent.sensitive.secrets import findings, scrub

Fate = Literal["new", "known", "forgotten", "refused"]

_ID = re.compile(r"m-[0-9a-f]{4,16}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[0-9T:Z.+-]{0,24}")
_LINK = re.compile(r"[\[\]\s]+")


@dataclass(frozen=True, slots=True)
class Given:
    """A fact as it was found elsewhere."""

    text: str
    updated: str = ""
    source: str = ""
    """Where it is from: the id of a note, or a name for the place."""
    summary: str = ""
    title: str = ""
    """It is a topic note."""
    id: str = ""
    stem: str = ""
    """What its file is to be called, without the ending; of a topic note."""
    head: Mapping[str, object] = field(default_factory=dict)
    timeline: str = ""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What becomes of one."""

    fact: Fact
    fate: Fate
    said: str = ""
    """Why, or what was taken out of it."""
    note: str = ""
    """Of a topic note, its file."""


def key(text: str) -> str:
    """Tell a text by what it says, without saying it."""
    return sha256(same(text).encode("utf-8", "replace")).hexdigest()[:16]


def weigh(
    given: Iterable[Given],
    scope: FactScope,
    known: Known,
    past: Iterable[Done],
    *,
    secrets: Sequence[str],
    again: bool,
) -> list[Weighed]:
    """Tell what becomes of each; what was forgotten here is new only if it is wanted `again`."""
    mine = {key(fact.text): fact for fact in known.facts if fact.scope == scope}
    held = {fact.id: fact for fact in known.facts}
    ever = _ever(past, scope)
    files = {fact.file for fact in known.facts}
    weighed = list[Weighed]()
    for each in given:
        one = _sound(each, scope, secrets)
        told = key(one.fact.text)
        there = mine.get(told) or held.get(ever.get(told, "")) or held.get(each.id)
        if one.fate == "refused":
            weighed.append(one)
            continue
        if there and there.scope == scope:
            changed = "" if key(there.text) == told else "it has another text here, which stays"
            weighed.append(replace(one, fact=replace(there, source=one.fact.source), fate="known", said=changed))
            continue
        if told in ever and not again:
            said = "forgotten here before"
            weighed.append(replace(one, fact=replace(one.fact, id=ever[told]), fate="forgotten", said=said))
            continue
        fact = replace(one.fact, id=_free(one.fact, held))
        if fact.title:
            fact, note = _noted(fact, each, files, secrets)
            files.add(fact.file)
            one = replace(one, note=scrub(note, secrets), said=_without(findings(note, secrets)) or one.said)
        held[fact.id] = mine[told] = fact
        weighed.append(replace(one, fact=fact))
    return weighed


def keep(weighed: Sequence[Weighed], place: Place, shelf: Shelf, log: Log, *, at: str) -> list[Weighed]:
    """Write what is new, at once and such that it can be taken back at once, for whoever holds the lock.

    Raises:
        FactRefused, OSError: nothing more was written.
    """
    fresh = [
        replace(each, fact=replace(each.fact, file=each.fact.file or place.name))
        for each in weighed
        if each.fate == "new"
    ]
    if not fresh:
        return [*weighed]
    batch = sha256("".join([at, *(each.fact.id for each in fresh)]).encode()).hexdigest()[:16]
    written = {each.fact.id: each.note or item(each.fact) for each in fresh}
    log.add(
        *(Done("added", each.fact.id, at, each.fact.file, after=written[each.fact.id], batch=batch) for each in fresh)
    )
    if listed := "".join(written[each.fact.id] for each in fresh if not each.note):
        shelf.rewrite(place, lambda text: with_item(text or NEW_FILE, listed))
    for each in fresh:
        if each.note:
            shelf.put(shelf.named(each.fact.file, place.scope), each.note)
    kept = {each.fact.id: each for each in fresh}
    return [kept[each.fact.id] if each.fate == "new" else each for each in weighed]


def stone(fact: Fact, past: Iterable[Done], *, at: str) -> Done:
    """Give what is left of a fact that is erased: hashes of all that it ever said, by which it is known again."""
    said = {text for done in past if done.id == fact.id for text in (done.before, done.after) if text}
    keys = {key(each.text) for text in said for each in facts_in(text, fact.file, fact.scope)}
    return Done("erased", fact.id, at, fact.file, whole=" ".join(sorted(keys)))


def _ever(past: Iterable[Done], scope: FactScope) -> dict[str, str]:
    """Tell the ids of all texts that were ever kept here."""
    found = dict[str, str]()
    for done in past:
        if done.act == "erased":
            found |= dict.fromkeys(done.whole.split(), done.id)
        for text in filter(None, (done.before, done.after)):
            found |= {key(fact.text): done.id for fact in facts_in(text, done.file, scope)}
    return found


def facts_in(text: str, file: str, scope: FactScope) -> list[Fact]:
    """Read what a change kept of a file: an item, or the whole of a topic note."""
    if file.endswith(FACTS[0]):
        return [each.fact for each in items(text, scope, file)]
    return [parse_topic(file, text, scope).fact]


def _sound(given: Given, scope: FactScope, secrets: Sequence[str]) -> Weighed:
    """Give a fact as it can be kept here: without secrets, and in words that can't pass for ours."""
    if len(given.text) > LARGEST:
        begins = one_line(scrub(given.text[:LARGE], secrets))
        return Weighed(Fact("", begins, scope), "refused", f"it is longer than {LARGEST:,} characters; split it")
    found = findings(given.text, secrets)
    text = tidy(scrub(given.text, secrets))
    title, rest = (one_line(scrub(given.title, secrets)), text) if given.title else titled(text)
    fact = Fact(
        given.id if _ID.fullmatch(given.id) else "",
        rest,
        scope,
        given.updated if _TIME.fullmatch(given.updated) else "",
        _LINK.sub(" ", tidy(scrub(given.source, secrets))).strip()[:120],
        one_line(scrub(given.summary, secrets)),
        title=title,
    )
    if not title and len(rest) > LARGE:
        fact = replace(fact, title=fact.summary)
    if not rest:
        return Weighed(fact, "refused", "it says nothing")
    if fact.title:  # as it will be read again
        fact = replace(fact, text=parse_topic("", render_topic(new_topic(fact)), scope).fact.text)
    return Weighed(fact, "new", _without(found))


def _without(found: Sequence[Finding]) -> str:
    kinds = ", ".join(dict.fromkeys(each.kind for each in found))
    return f"without a secret ({kinds})" if kinds else ""


def _free(fact: Fact, held: Mapping[str, Fact]) -> str:
    seeds = (f"{fact.text}\n{number}" if number else fact.text for number in count())
    hashed = (f"m-{sha256(seed.encode('utf-8', 'replace')).hexdigest()[:6]}" for seed in seeds)
    return fact.id if fact.id and fact.id not in held else next(each for each in hashed if each not in held)


def _noted(fact: Fact, given: Given, files: set[str], secrets: Sequence[str]) -> tuple[Fact, str]:
    """Write a topic note with the head and the history that it came with."""
    folder = "~/.ogcode/facts" if fact.scope == "global" else ".ogcode/facts"
    stem = slug(scrub(given.stem, secrets) or fact.title)
    names = (f"{folder}/{stem}.md" if number == 1 else f"{folder}/{stem}-{number}.md" for number in count(1))
    fact = replace(fact, file=next(name for name in names if name not in files))
    fresh = new_topic(fact)
    own = {"id": fact.id, "title": fact.title}
    kept = {name: value for name, value in given.head.items() if value not in (None, "")}
    return fact, render_topic(Topic(fact, {**fresh.head, **kept, **own}, given.timeline or fresh.timeline))
