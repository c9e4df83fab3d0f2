"""The way back: a change to a fact is undone byte for byte where that can be."""

from functools import partial

from ogcode.agent.facts.fact import FactRefused, FactScope, items, with_changed, with_item, without_item
from ogcode.agent.facts.log import Done, Log, whole
from ogcode.agent.facts.shelf import Shelf, text_of
from ogcode.agent.rules import FACTS


def take_back(done: Done, scope: FactScope, shelf: Shelf, log: Log, *, at: str) -> None:
    """Undo a change, for whoever holds the lock.

    Raises:
        FactRefused: the fact has changed since.
        OSError: it can't be written.
    """
    place = shelf.named(done.file, scope)
    topic = not place.name.endswith(FACTS[0])
    text = text_of(place.path)
    there = {each.fact.id: text[each.start : each.end] for each in items(text, scope, place.name)}
    now = text if topic else there.get(done.id, "")
    if _plain(now) != _plain(done.after):
        raise FactRefused(f"{done.id} has changed since by other means; edit {place.name} yourself")
    log.add(Done("undone", done.id, at, done.file, done.after, done.before))
    if topic:
        shelf.put(place, done.before)
    elif not done.before:
        shelf.rewrite(place, partial(without_item, identity=done.id))
    elif done.after:
        shelf.rewrite(place, partial(with_changed, identity=done.id, written=done.before))
    else:
        shelf.rewrite(place, partial(_put_back, done=done))


def _put_back(text: str, *, done: Done) -> str:
    """Put what was forgotten where it was; where the file has changed since, behind the others."""
    exact = f"{text[: done.place]}{done.before}{text[done.place :]}" if done.place >= 0 else ""
    return exact if whole(exact) == done.whole else with_item(text, done.before)


def _plain(written: str) -> str:
    return "\n".join(line.rstrip() for line in written.replace("\r\n", "\n").strip().split("\n"))
