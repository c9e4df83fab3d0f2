"""Facts as memory shows them: each an entry of its own, cited by its id; its origin is the file that it stands in."""

import re
from collections.abc import Sequence
from pathlib import Path

from ogcode.agent.facts.fact import Fact
from ogcode.agent.facts.find import speaking
from ogcode.agent.index.passages import best_parts
from ogcode.agent.index.reading import Entry, Passage

FOLDER = "facts"
"""By which `memory_map` knows them; no conversation's tag is a word."""

CLOSE = 0.5
"""The share of what a question asks for, by weight, that a fact must hold to come with it."""

MOST, ROOM = 3, 1_000
"""Facts that come with a question, and their characters."""

_NOTE = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z--[0-9a-z]+")


def entry_of(fact: Fact, top: Path) -> Entry:
    """Show a fact as what can be opened."""
    inside = fact.file.startswith(".ogcode/")
    return Entry(
        path=fact.file.removeprefix(".ogcode/") if inside else str(top / fact.file),
        id=fact.id,
        title=fact.summary,
        topics=(),
        session_id="",
        created_at=fact.updated,
        turn=0,
        outcome="fact",
        scribe="",
        origin=fact.file,
        pending=False,
        fact=True,
    )


def text_of(fact: Fact) -> str:
    """Give all that a fact says, and the note of the turn that it is from."""
    heading = f"# {fact.title}\n\n" if fact.title else ""
    source = f"\n\n(kept in the turn of [[{fact.source}]])" if _NOTE.fullmatch(fact.source) else ""
    return f"{heading}{fact.text}{source}"


def called(name: str, facts: Sequence[Fact]) -> list[Fact]:
    """Find the facts that an id, the beginning of one, a title or a file name could mean; an exact one wins."""
    wanted = name.strip().removeprefix("[[").removesuffix("]]").partition("#")[0].strip()
    near = [fact for fact in facts if wanted.startswith("m-") and len(wanted) > 3 and fact.id.startswith(wanted)]
    names = (wanted, f"{wanted.removesuffix('.md')}.md")
    exact = [
        fact
        for fact in facts
        if wanted == fact.id or (fact.title and (wanted == fact.title or fact.file.rpartition("/")[2] in names))
    ]
    return exact[-1:] or near


def coming(question: str, facts: Sequence[Fact], top: Path) -> list[Passage]:
    """Pick the few facts that hold most of what a question asks for, as passages."""
    best = [fact for share, fact in speaking(question, facts)[:MOST] if share >= CLOSE]
    parts = best_parts(question, [(text_of(fact), 1.0) for fact in best], ROOM)
    return [Passage(entry_of(best[part.note], top), part.section, part.text) for part in parts]
