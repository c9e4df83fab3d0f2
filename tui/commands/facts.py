"""`ogcode memory facts | remember | update | read`, and what `forget` and `undo` do with facts."""

import re
from collections.abc import Sequence
from datetime import datetime

from ogcode.agent.facts.block import entry
from ogcode.agent.facts.fact import Fact, FactRefused, FactScope
from ogcode.agent.facts.log import Done
from ogcode.tui.commands.notes import NoneNamed
from ogcode.tui.commands.terminal import answer, answer_json, flat, remark
from ogcode.tui.desks.facts import forgotten, listed, matching, remembered, taken_back, updated
from ogcode.tui.knowledge import facts_here
from ogcode.tui.place import Here

ACTS = {
    "added": "kept no longer",
    "changed": "as before",
    "forgotten": "back again",
}

_FACT = re.compile(r"m-[0-9a-f]{2,16}")


def is_fact(name: str) -> bool:
    """Tell a fact's id, or the beginning of one, from the name of a note."""
    return bool(_FACT.fullmatch(name.strip()))


def list_facts(here: Here, scope: FactScope | None, *, as_json: bool) -> int:
    """Print a line for each fact, the last changed first; and what is not believed, on stderr."""
    known = facts_here(here).known()
    for fact in listed(here, scope):
        if as_json:
            answer_json(_told(fact))
        else:
            answer(
                f"{fact.id}  {fact.scope:7}  {fact.updated[:10] or 'no date':10}  {flat(fact.summary)}{_where(fact)}"
            )
    for notice in known.notices:
        remark(notice)
    hand = [file.name for file in known.written if scope in (None, "project" if file.theirs else "global")]
    if hand:
        remark(f"written by hand, and known as it stands: {', '.join(hand)}")
    if not known.facts and not hand:
        remark("no fact is known here; ogcode memory remember TEXT keeps one")
    return 0


def read_facts(here: Here, asked: Sequence[str], *, as_json: bool) -> int:
    """Print facts in full: by their ids, or those that hold the words."""
    facts = [_one(here, name) for name in asked] if all(map(is_fact, asked)) else matching(here, " ".join(asked))
    if not facts:
        raise NoneNamed(f"no fact speaks of '{flat(' '.join(asked))}'; ogcode memory facts lists them")
    for fact in facts:
        if as_json:
            answer_json(_told(fact))
        else:
            source = f" (from {fact.source})" if fact.source else ""
            answer(f"{entry(fact)}\n  {fact.file}{source}")
    return 0


def remember_fact(here: Here, text: str, scope: FactScope, *, summary: str, as_json: bool) -> int:
    """Keep a fact, and say what is like it."""
    saved = remembered(here, text, scope, summary=summary)
    if as_json:
        answer_json({**_told(saved.fact), "new": saved.new, "alike": [fact.id for fact in saved.alike]})
    elif saved.new:
        answer(f"remembered {saved.fact.id} ({saved.fact.scope}, {saved.fact.file}): {flat(saved.fact.summary)}")
    else:
        answer(f"already known as {saved.fact.id} ({saved.fact.scope})")
    for fact in saved.alike:
        remark(f"alike: {fact.id} {flat(fact.summary)}")
    return 0


def update_fact(here: Here, name: str, text: str, *, summary: str, as_json: bool) -> int:
    """Put another text in the place of a fact's."""
    fact = updated(here, _one(here, name).id, text, summary=summary)
    if as_json:
        answer_json(_told(fact))
    else:
        answer(f"updated {fact.id} ({fact.scope}): {flat(fact.summary)}")
        remark(f"ogcode memory undo {fact.id} takes it back")
    return 0


def forget_facts(here: Here, names: Sequence[str], *, for_good: bool) -> Sequence[Fact]:
    """Forget facts by their ids; all of them are known before the first is forgotten."""
    facts = [_one(here, name) for name in names]
    return [forgotten(here, fact.id, for_good=for_good) for fact in dict.fromkeys(facts)]


def last_done(here: Here) -> datetime | None:
    """Tell when a fact was last kept, changed or forgotten, if that can be taken back."""
    times = [done.at for _, done in facts_here(here).undoable()]
    return datetime.fromisoformat(max(times)) if times else None


def undo_fact(here: Here, name: str, *, as_json: bool) -> int:
    """Take back what was last done to a fact, or to facts at all."""
    try:
        done = taken_back(here, name)
    except FactRefused as error:
        raise NoneNamed(str(error)) from error
    if as_json:
        files = list(dict.fromkeys(each.file for each in done))
        answer_json({"act": done[0].act, "facts": [each.id for each in done], "files": files})
        return 0
    for each in done:
        answer(f"{ACTS[each.act]}: {each.id} in {each.file}{_said(each)}")
    return 0


def _said(done: Done) -> str:
    now = {"added": "", "changed": done.before, "forgotten": done.before}[done.act]
    return f": {flat(now)[:100]}" if now and done.file.endswith("MEMORY.md") else ""


def _one(here: Here, name: str) -> Fact:
    """Find the fact that an id or the beginning of one means.

    Raises:
        NoneNamed: none, or several.
    """
    wanted = name.strip()
    near = [fact for fact in listed(here) if fact.id.startswith(wanted)]
    near = [fact for fact in near if fact.id == wanted][:1] or near
    if not near:
        raise NoneNamed(f"'{flat(name)}' is no fact here; ogcode memory facts lists them")
    if len(near) > 1:
        raise NoneNamed(f"'{flat(name)}' could be {', '.join(fact.id for fact in near[:6])}; name one")
    return near[0]


def _told(fact: Fact) -> dict[str, object]:
    return {
        "id": fact.id,
        "scope": fact.scope,
        "summary": fact.summary,
        "text": fact.text,
        "title": fact.title,
        "updated": fact.updated,
        "source": fact.source,
        "file": fact.file,
    }


def _where(fact: Fact) -> str:
    return "" if fact.file in ("MEMORY.md", "~/.ogcode/MEMORY.md") else f"  [{flat(fact.file)}]"
