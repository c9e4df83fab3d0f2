"""`ogcode memory import` and `ogcode memory export`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ogcode.agent.facts.fact import FactScope, tidy
from ogcode.agent.facts.intake import Given, Weighed
from ogcode.agent.facts.shelf import MOST_TOPICS, Known
from ogcode.agent.facts.store import Facts, in_turn
from ogcode.agent.rules import FACTS, RULES
from ogcode.agent.sensitive.secrets import scrub
from ogcode.tui.commands.notes import NoneNamed, counted
from ogcode.tui.commands.terminal import answer, answer_json, flat, remark
from ogcode.tui.desks.facts import may_keep
from ogcode.tui.exchange.export import MARK, SCOPES, Kept, read_exported, read_jsonl, to_folder, to_jsonl
from ogcode.tui.exchange.found import Found, NotReadable
from ogcode.tui.exchange.markdown import read_file, read_folder
from ogcode.tui.exchange.openworker import read_database
from ogcode.tui.knowledge import facts_here
from ogcode.tui.place import Here

LEFT = 12
"""Things that are left out, of which each is named."""


@dataclass(frozen=True, slots=True)
class Wanted:
    place: str
    about_user: bool = False
    again: bool = False
    """Also what was forgotten here before."""
    workspace: str = ""
    """How this folder was called in the other memory."""
    apply: bool = False


def take_in(here: Here, wanted: Wanted, *, as_json: bool) -> int:
    """Tell what would be taken in, or take it in; what is known already is so once."""
    found, secrets = _found(here, wanted), here.secrets
    by_hand = [(scope, tidy(scrub(text, secrets))) for scope, text in found.by_hand]
    scopes = [scope for scope in SCOPES if any(scope == each for each, _ in (*found.facts, *by_hand))]
    for scope in scopes:
        may_keep(here, scope)
    facts, weighed = facts_here(here), list[Weighed]()
    for scope in scopes:
        given = [each for about, each in found.facts if about == scope]
        planned = facts.weigh(given, scope, again=wanted.again)
        _have_room(facts.known(), planned, scope)
        weighed += _taken(facts, given, scope, again=wanted.again) if wanted.apply and given else planned
    hand = [(scope, text) for scope, text in by_hand if not _is_there(facts.known(), scope, text)]
    if wanted.apply:
        for scope, text in hand:
            in_turn(lambda scope=scope, text=text: facts.add_by_hand(text, scope))  # type: ignore[misc]  # bound now
    for each in weighed:
        _show(each, as_json=as_json)
    for scope, text in hand:
        remark(f"written by hand ({scope}): {flat(text)[:100]}")
    for said in found.left[:LEFT]:
        remark(f"left out: {flat(said)}")
    if len(found.left) > LEFT:
        remark(f"left out: {len(found.left) - LEFT:,} more")
    _sum_up(weighed, wanted)
    return 0


def give_out(here: Here, name: str, scope: FactScope | None, *, as_json: bool) -> int:
    """Write all facts into a new folder or a new file."""
    place, facts, secrets = Path(name).expanduser(), facts_here(here), here.secrets
    known = facts.known()
    known = Known(
        tuple(
            replace(fact, text=scrub(fact.text, secrets), given=scrub(fact.given, secrets))
            for fact in known.facts
            if scope in (None, fact.scope)
        ),
        tuple(
            replace(file, text=scrub(file.text, secrets))
            for file in known.written
            if scope in (None, "project" if file.theirs else "global")
        ),
        known.notices,
    )
    kept = Kept(known, {identity: scrub(note, secrets) for identity, note in facts.notes().items()})
    try:
        (to_jsonl if place.suffix == ".jsonl" else to_folder)(kept, place)
    except FileExistsError as error:
        raise NoneNamed(f"{place} is there already; name a new one") from error
    for notice in known.notices:
        remark(notice)
    if as_json:
        answer_json({"place": str(place), "facts": len(known.facts), "by_hand": len(known.written)})
    else:
        answer(f"{counted(len(known.facts), 'fact')} in {place}")
    return 0


def _found(here: Here, wanted: Wanted) -> Found:
    path, found = Path(wanted.place).expanduser(), Found()
    if path.is_file():
        path = path.resolve()  # who names a link means what it leads to; no other is followed
    scope: FactScope = "global" if wanted.about_user else "project"
    if not path.exists():
        raise NoneNamed(f"there is no {path}")
    if not path.is_dir() and not path.is_file():
        raise NoneNamed(f"{path} is a device, pipe or socket; name a file or a folder")
    if _known_anyway(here, path):
        raise NoneNamed(f"{path} is read with every request already; there is nothing to take in")
    named = {str(here.root.top), str(here.root.path), str(here.folder), wanted.workspace.rstrip("/")} - {""}
    try:
        if path.is_dir() and (path / MARK).is_file():
            read_exported(path, found)
        elif path.is_dir() and (path / "coworker.db").is_file():
            read_database(path / "coworker.db", frozenset(named), found)
        elif path.is_dir():
            read_folder(path, scope, found)
        elif path.suffix == ".jsonl":
            read_jsonl(path, found)
        elif path.suffix == ".md":
            read_file(path, scope, found)
        elif path.suffix in (".db", ".sqlite", ".sqlite3"):
            read_database(path, frozenset(named), found)
        else:
            raise NotReadable(f"{path} is no markdown, no coworker.db, no export (.jsonl) and no folder")
    except NotReadable as error:
        raise NoneNamed(str(error)) from error
    return found


def _known_anyway(here: Here, path: Path) -> bool:
    real, top = path.resolve(), here.root.top.resolve()
    if real.is_relative_to(here.root.store.resolve()) or real == here.home.resolve():
        return True
    above = {top, *(each for each in (here.folder, *here.folder.parents) if each.is_relative_to(top)), here.home}
    return real.name in (*RULES, *FACTS) and real.parent in {each.resolve() for each in above}


def _taken(facts: Facts, given: Sequence[Given], scope: FactScope, *, again: bool) -> list[Weighed]:
    return in_turn(lambda: facts.take_in(given, scope, again=again))


def _have_room(known: Known, planned: Sequence[Weighed], scope: FactScope) -> None:
    there = sum(1 for fact in known.facts if fact.title and fact.scope == scope)
    more = sum(1 for each in planned if each.note and each.fate == "new")
    if there + more > MOST_TOPICS:
        raise NoneNamed(f"that would make {there + more:,} topic notes; {MOST_TOPICS:,} are known at most: name a part")


def _is_there(known: Known, scope: FactScope, text: str) -> bool:
    return any(text in file.text for file in known.written if file.theirs == (scope == "project"))


def _show(each: Weighed, *, as_json: bool) -> None:
    fact = each.fact
    if as_json:
        told = {"fate": each.fate, "id": fact.id, "scope": fact.scope, "summary": fact.summary, "text": fact.text}
        answer_json({**told, "title": fact.title, "updated": fact.updated, "source": fact.source, "said": each.said})
        return
    said = f"  ({each.said})" if each.said else ""
    answer(f"{each.fate:9}  {fact.scope:7}  {fact.id or '-':8}  {flat(fact.title or fact.summary)}{said}")


def _sum_up(weighed: Sequence[Weighed], wanted: Wanted) -> None:
    fates = Counter(each.fate for each in weighed)
    remark(", ".join(f"{fates[fate]:,} {fate}" for fate in ("new", "known", "forgotten", "refused")))
    if fates["forgotten"] and not wanted.again:
        remark("what was forgotten here stays forgotten; --again brings it back")
    if wanted.apply:
        remark("ogcode memory undo takes it back at once" if fates["new"] else "nothing was changed")
    else:
        remark("nothing was changed; --apply takes in what is new")
