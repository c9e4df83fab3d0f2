"""What people do with facts, in the app and on the command line: list, find, keep, change, forget, take back."""

from collections.abc import Sequence

from ogcode.agent.facts.fact import Fact, FactRefused, FactScope
from ogcode.agent.facts.find import speaking
from ogcode.agent.facts.log import Done
from ogcode.agent.facts.store import Saved, in_turn
from ogcode.tui.knowledge import facts_here
from ogcode.tui.place import Here

NOT_TRUSTED = (
    "this folder is not trusted, so its facts are not believed: --trust trusts it, -g keeps a fact about yourself"
)


def listed(here: Here, scope: FactScope | None = None) -> Sequence[Fact]:
    """List the facts that are known here, of one scope or of both, the last changed first.

    Raises:
        OSError: they can't be read.
    """
    facts = [fact for fact in facts_here(here).known().facts if scope in (None, fact.scope)]
    facts.sort(key=lambda fact: fact.updated)
    facts.reverse()
    return facts


def matching(here: Here, words: str) -> Sequence[Fact]:
    """List the facts that hold any of the words, the best first. Raises as `listed`."""
    return [fact for _, fact in speaking(words, listed(here))]


def remembered(here: Here, text: str, scope: FactScope, *, summary: str = "") -> Saved:
    """Keep a fact.

    Raises:
        FactRefused, OSError: nothing was kept.
    """
    may_keep(here, scope)
    return in_turn(lambda: facts_here(here).remember(text, scope, summary=summary))


def updated(here: Here, identity: str, text: str, *, summary: str = "") -> Fact:
    """Put another text in the place of a fact's.

    Raises:
        FactRefused, OSError: nothing was changed.
    """
    return in_turn(lambda: facts_here(here).update(identity, text, summary=summary))


def forgotten(here: Here, identity: str, *, for_good: bool = False) -> Fact:
    """Forget a fact: to where `taken_back` finds it, or for good.

    Raises:
        FactRefused, OSError: nothing was forgotten.
    """
    facts = facts_here(here)
    return in_turn(lambda: facts.erase(identity) if for_good else facts.forget(identity))


def taken_back(here: Here, identity: str = "") -> Sequence[Done]:
    """Take back what was last done to a fact, or what was last done at all.

    Raises:
        FactRefused, OSError: nothing was taken back.
    """
    return in_turn(lambda: facts_here(here).undo(identity))


def may_keep(here: Here, scope: FactScope) -> None:
    """Refuse what would be kept and not believed.

    Raises:
        FactRefused: the folder is not trusted.
    """
    if scope == "project" and not here.trusted and not here.root.wide:
        raise FactRefused(NOT_TRUSTED)
