"""Keep, change, forget and bring back facts: one at a time, under a lock, with secrets refused."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TypeVar

from ogcode.agent.facts.back import take_back
from ogcode.agent.facts.fact import (
    Fact,
    FactRefused,
    FactScope,
    alike,
    item,
    items,
    one_line,
    same,
    tidy,
    with_changed,
    with_item,
    without_item,
)
from ogcode.agent.facts.intake import Given, Weighed, keep, stone, weigh
from ogcode.agent.facts.log import Act, Done, Log, whole
from ogcode.agent.facts.shelf import NEW_FILE, Known, Place, Shelf, text_of
from ogcode.agent.facts.topic import LARGE, LARGEST, Topic, changed_topic, new_topic, parse_topic, render_topic, titled
from ogcode.agent.files.durable import Lock, make_folder
from ogcode.agent.files.root import Root
from ogcode.agent.memory.notes import slug
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.rights.accepted import Accepted
from ogcode.agent.rules import Written
from ogcode.agent.sensitive.secrets import findings, scrub

WAIT = 10.0
"""Seconds that a change waits for its turn."""

_Made = TypeVar("_Made")


class FactsBusy(FactRefused):
    """Someone else is changing facts right now."""


@dataclass(frozen=True, slots=True)
class Saved:
    fact: Fact
    new: bool = True
    """It was not known in the same words."""
    alike: tuple[Fact, ...] = ()


class Facts:
    """The facts of one place: those about the user, and those of the project if its folder is trusted."""

    def __init__(
        self,
        root: Root,
        home: Path,
        folder: Path,
        *,
        trusted: bool,
        accepted: Accepted | None,
        secrets: Callable[[], Sequence[str]],
        now: Callable[[], datetime],
    ) -> None:
        self._shelf = Shelf(root, home, folder, trusted=trusted, accepted=accepted)
        self._root = root
        self._home = home
        self._secrets = secrets
        self._now = now

    def known(self) -> Known:
        """Read what is known now.

        Raises:
            OSError: a file is there but can't be read.
        """
        return self._shelf.known()

    def accept(self) -> None:
        """Believe all that is there now.

        Raises:
            OSError: the copies can't be written.
        """
        self._shelf.accept()

    def unbelieved(self) -> list[tuple[Written, str]]:
        """Give the files that were changed outside ogcode and not accepted, each with the difference for a person.

        Raises:
            OSError: a file is there but can't be read.
        """
        return self._shelf.unbelieved()

    def believe(self, file: Written) -> None:
        """Believe a file as it is given.

        Raises:
            OSError: the copy can't be written.
        """
        self._shelf.believe(file)

    def read(self, asked: Iterable[str], known: Known | None = None) -> tuple[list[Fact], list[str]]:
        """Give facts by id or the beginning of one, and what of it is not there."""
        known = known or self.known()
        found, missing = dict[str, Fact](), list[str]()
        for each in asked:
            near = [fact for fact in known.facts if fact.id == each][-1:] or [
                fact for fact in known.facts if len(each) > 3 and fact.id.startswith(each)
            ]
            found |= {fact.id: fact for fact in near[:1]}
            missing += [] if len(near) == 1 else [each]
        return [*found.values()], missing

    def remember(self, text: str, scope: FactScope, *, summary: str = "", source: str = "") -> Saved:
        """Keep a fact; in the same words it is kept once.

        Raises:
            FactRefused, OSError: nothing was kept.
        """
        text, summary = self._sound(text, summary)
        self._needs(scope)
        with self._alone(scope):
            known = self.known()
            mine = [fact for fact in known.facts if fact.scope == scope]
            if again := next((fact for fact in mine if same(fact.text) == same(text)), None):
                return Saved(again, new=False)
            near = alike(text, mine)
            fact = Fact(_free(text, known), text, scope, self._time(), source, summary)
            title, rest = titled(text)
            if title or len(text) > LARGE:
                return Saved(self._to_topic(replace(fact, text=rest, title=title or fact.summary)), alike=near)
            place = self._shelf.place(scope)
            self._add(place, replace(fact, file=place.name))
            return Saved(replace(fact, file=place.name), alike=near)

    def update(self, identity: str, text: str, *, summary: str = "", source: str = "") -> Fact:
        """Put another text in the place of a fact's, and no summary of the old one.

        Raises:
            FactRefused, OSError: nothing was changed.
        """
        text, summary = self._sound(text, summary)
        before = self._one(identity)
        with self._alone(before.scope):
            before = self._one(before.id)
            after = replace(before, text=text, updated=self._time(), source=source, given=summary)
            if before.title:
                title, rest = titled(text)
                after = replace(after, text=rest, title=title or before.title)
                self._write_topic(after, lambda topic: changed_topic(topic, after, f"was: {before.text}"), "changed")
            elif len(text) > LARGE:
                raise FactRefused(f"the text is longer than {LARGE:,} characters; remember it as '# Title' and text")
            else:
                self._change(before, after)
            return after

    def forget(self, identity: str) -> Fact:
        """Take a fact out; what it was can be brought back.

        Raises:
            FactRefused, OSError: nothing was forgotten.
        """
        scope = self._one(identity).scope
        with self._alone(scope):
            fact = self._one(identity)
            if fact.title:
                self._write_topic(fact, None, "forgotten")
            else:
                self._change(fact, None)
            return fact

    def erase(self, identity: str) -> Fact:
        """Forget a fact for good: nothing can bring it back, and what it said is not kept.

        Raises:
            FactRefused, OSError: nothing was forgotten.
        """
        fact = self.forget(identity)
        with self._alone(fact.scope):
            log = self._log(fact.scope)
            log.erase(fact.id, stone(fact, log.all(), at=self._time()))
        return fact

    def undo(self, identity: str = "") -> list[Done]:
        """Take back what was last done to a fact, or what was last done at all: what was taken in at once, at once.

        Raises:
            FactRefused: there is nothing to take back, or it has changed since.
            OSError: it can't be written.
        """
        could = [(done, scope) for scope, done in self.undoable() if done.id.startswith(identity)]
        if not could:
            raise FactRefused(f"nothing can be taken back{f' of {identity}' if identity else ''}")
        _, scope = max(could, key=lambda pair: pair[0].at)
        with self._alone(scope):
            log = self._log(scope)
            left = [done for done in log.undoable() if done.id.startswith(identity)]
            batch = "" if identity else left[-1].batch
            last = [done for done in reversed(left) if done.batch == batch] if batch else left[-1:]
            for done in last:
                take_back(done, scope, self._shelf, log, at=self._time())
            return last

    def undoable(self) -> list[tuple[FactScope, Done]]:
        """List what can be taken back, the last of each scope last."""
        scopes: tuple[FactScope, ...] = ("global",) if self._root.wide else ("global", "project")
        return [(scope, done) for scope in scopes for done in self._log(scope).undoable()]

    def weigh(self, given: Iterable[Given], scope: FactScope, *, again: bool = False) -> list[Weighed]:
        """Tell what would become of facts from elsewhere; nothing is changed.

        Raises:
            FactRefused, OSError: there is no place for them, or what is known can't be read.
        """
        self._needs(scope)
        return weigh(given, scope, self.known(), self._log(scope).all(), secrets=self._secrets(), again=again)

    def take_in(self, given: Sequence[Given], scope: FactScope, *, again: bool = False) -> list[Weighed]:
        """Keep what is new of facts from elsewhere, at once, with the dates they have.

        Raises:
            FactRefused, OSError: nothing more was kept.
        """
        with self._alone(scope):
            weighed = self.weigh(given, scope, again=again)
            return keep(weighed, self._shelf.place(scope), self._shelf, self._log(scope), at=self._time())

    def add_by_hand(self, text: str, scope: FactScope) -> None:
        """Put what people wrote elsewhere behind what they wrote here, without secrets; it is no fact of ours.

        Raises:
            FactRefused, OSError: it was not written.
        """
        self._needs(scope)
        plain = tidy(scrub(text, self._secrets()))
        with self._alone(scope):
            place = self._shelf.place(scope)
            self._shelf.rewrite(
                place, lambda there: there if plain in there else f"{(there or NEW_FILE).rstrip()}\n\n{plain}\n"
            )

    def notes(self) -> dict[str, str]:
        """Give the topic notes as they are believed, by the ids of their facts.

        Raises:
            OSError: one can't be read.
        """
        return {topic.fact.id: text for topic, text in self._shelf.topic_notes([])}

    # What follows is done by whoever holds the lock.

    def _add(self, place: Place, fact: Fact) -> None:
        written = item(fact)
        self._log(fact.scope).add(Done("added", fact.id, fact.updated, place.name, after=written))
        self._shelf.rewrite(place, lambda text: with_item(text or NEW_FILE, written))

    def _change(self, before: Fact, after: Fact | None) -> None:
        place = self._shelf.named(before.file, before.scope)
        text = text_of(place.path)
        stood = next((each for each in items(text, before.scope, place.name) if each.fact.id == before.id), None)
        old = text[stood.start : stood.end] if stood else item(before)
        new = item(after) if after else ""
        self._log(before.scope).add(
            Done(
                "changed" if after else "forgotten",
                before.id,
                self._time(),
                place.name,
                old,
                new,
                stood.start if stood else -1,
                whole(text),
            )
        )
        change = (
            partial(with_changed, identity=before.id, written=new)
            if after
            else partial(without_item, identity=before.id)
        )
        self._shelf.rewrite(place, change)

    def _to_topic(self, fact: Fact) -> Fact:
        """Start a topic note, or add to the one of that title."""
        names = {topic.fact.file: topic for topic in self._shelf.topics([]) if topic.fact.scope == fact.scope}
        named = next((each for each in names.values() if fact.title.casefold().strip() in each.names), None)
        if named is None:
            folder = "~/.ogcode/facts" if fact.scope == "global" else ".ogcode/facts"
            stems = (slug(fact.title) if n == 1 else f"{slug(fact.title)}-{n}" for n in count(1))
            file = next(name for stem in stems if (name := f"{folder}/{stem}.md") not in names)
            fact = replace(fact, file=file)
            self._write_topic(fact, None, "added")
            return fact
        old = named.fact
        after = replace(fact, id=old.id, file=old.file, title=old.title, text=f"{old.text}\n\n{fact.text}".strip())
        what = fact.given or fact.text
        self._write_topic(after, lambda topic: changed_topic(topic, after, f"added: {what}"), "changed")
        return after

    def _write_topic(self, fact: Fact, change: "Callable[[Topic], Topic] | None", act: Act) -> None:
        if act != "forgotten" and len(fact.text) > LARGEST:
            raise FactRefused(
                f"'{fact.title}' would be longer than {LARGEST:,} characters; sum it up with memory_update"
            )
        place = self._shelf.named(fact.file, fact.scope)
        before = text_of(place.path)
        after = ""
        if change:
            after = render_topic(change(parse_topic(place.name, before, fact.scope)))
        elif act == "added":
            after = render_topic(new_topic(fact))
        self._log(fact.scope).add(Done(act, fact.id, self._time(), place.name, before, after))
        self._shelf.put(place, after)

    def _one(self, identity: str) -> Fact:
        found, _ = self.read([identity.strip()])
        if not found:
            raise FactRefused(
                f"no fact with id {one_line(identity, 40)} is known here; <facts> and memory_read tell ids"
            )
        return found[0]

    def _needs(self, scope: FactScope) -> None:
        if scope == "project" and self._root.wide:
            raise FactRefused("this folder is no project; keep it with scope global if it is about the user")

    def _sound(self, text: str, summary: str) -> tuple[str, str]:
        text, summary = tidy(text), one_line(summary)
        if not text:
            raise FactRefused("the text is empty; say the fact in a sentence")
        if found := findings(f"{text}\n{summary}", self._secrets()):
            raise FactRefused(f"it holds a secret ({found[0].kind}), and secrets are never kept; say it without")
        return text, summary

    def _log(self, scope: FactScope) -> Log:
        return Log(self._home, self._root.path if scope == "project" else None)

    def _time(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    @contextmanager
    def _alone(self, scope: FactScope) -> Iterator[None]:
        if scope == "project":
            prepare_store(self._root.store)
            path = self._root.locks / "facts"
        else:
            make_folder(self._home)
            path = self._home / "facts.lock"
        lock = Lock.take(path)
        if lock is None:
            raise FactsBusy("facts are being changed by another ogcode; try again")
        try:
            yield
        finally:
            lock.release()


def in_turn(change: Callable[[], _Made]) -> _Made:
    """Change facts as soon as nobody else does.

    Raises:
        FactRefused, OSError: it could not be done.
    """
    until = time.monotonic() + WAIT
    while True:
        try:
            return change()
        except FactsBusy:
            if time.monotonic() > until:
                raise
            time.sleep(0.003)


def _free(text: str, known: Known) -> str:
    """Give an id that no fact has here; in another clone it is another one as well, most likely."""
    taken = {fact.id for fact in known.facts}
    seeds = (f"{text}\n{n}" if n else text for n in count())
    return next(each for seed in seeds if (each := f"m-{sha256(seed.encode()).hexdigest()[:6]}") not in taken)
