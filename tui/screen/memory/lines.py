"""What the lists of the memory view say in each row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from textual.content import Content

from ogcode.agent.facts.fact import Fact
from ogcode.agent.index.reading import Entry
from ogcode.tui.commands.notes import counted
from ogcode.tui.memory.desk import Item, Noted, Overview, Ruled, Saving, Spoiled
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.memory.paint import marked
from ogcode.tui.screen.status import short

BARS = "▁▂▃▄▅▆▇█"
WEEK, DAYS = 7, 91
"""Days that are drawn at least, and at most."""

WIDE = 80
"""Columns from which on sentences are whole."""

_SCOPES = {"project": "of this project", "global": "about you"}


@dataclass(frozen=True, slots=True)
class Place:
    """A part of memory: the items that are listed together."""

    name: str
    items: Sequence[Item]
    tag: str = ""
    """Of a conversation."""


def places_of(overview: Overview) -> list[Place]:
    """Divide memory up: all, what is pinned or waits, facts and rules by scope, then each conversation."""
    notes = sorted(overview.notes, key=lambda note: not note.entry.pinned)  # stable: newest first in both
    waiting = [note for note in overview.notes if note.entry.pending or note.trouble]
    parts = [
        Place("All notes", notes),
        Place("★ Pinned", [note for note in notes if note.entry.pinned]),
        Place("Waiting for a note", [*waiting, *overview.spoiled]),
        *(
            Place(f"Facts {name}", [fact for fact in overview.facts if fact.scope == scope])
            for scope, name in _SCOPES.items()
        ),
        Place("Rules", overview.rules),
    ]
    held = dict[str, list[Noted]]()
    for note in overview.notes:
        held.setdefault(note.entry.session_id, []).append(note)
    return [
        *(part for part in parts if part.items or part is parts[0]),
        *(Place(_about(some), some, session[:8] or "unnamed") for session, some in held.items()),
    ]


def place_row(place: Place, width: int) -> Content:
    """Lay out a place in one line: its name, and how much there is."""
    count = f" {len(place.items):,}"
    tag = (f"{flat(place.tag)} ", "dim") if place.tag else ("", "")
    name = Content.assemble(tag, (flat(place.name), "" if place.tag else "bold"))
    return name.truncate(max(width - len(count), 1), ellipsis=True, pad=True) + Content.styled(count, "dim")


def item_row(item: Item, width: int, *, mark: bool, hits: re.Pattern[str] | None) -> tuple[Content, Content]:
    """Lay out an item in two lines."""
    before = Content.styled("● " if mark else "  ", "$accent")
    first, second = _told(item)
    return (
        (before + marked(first, hits)).truncate(max(width, 1), ellipsis=True),
        ("  " + marked(second, hits)).truncate(max(width, 1), ellipsis=True),
    )


def _told(item: Item) -> tuple[Content, Content]:
    match item:
        case Noted(entry, trouble, excerpt):
            star = ("★ ", "$warning") if entry.pinned else ("", "")
            about = excerpt or trouble or "; ".join(entry.topics)
            tone = "$warning" if trouble and not excerpt else "dim"
            title = Content.assemble(star, (flat(entry.title), "bold"))
            moment = when(entry, short=bool(excerpt))
            parts = [
                moment,
                *state(entry),
                *([Content.styled("·", "dim"), Content.styled(flat(about[:400]), tone)] if about else []),
            ]
            return title, Content(" ").join(parts)
        case Fact():
            about = f"{item.id} · {_SCOPES[item.scope]} · {item.updated[:10] or 'no date'} · {item.file}"
            return Content(flat(item.summary)), Content.styled(flat(about), "dim")
        case Ruled(name, path, text, theirs):
            about = (
                f"{len(text.encode('utf-8', 'replace')):,} bytes · {'of this project' if theirs else 'yours'} · {path}"
            )
            return Content.styled(flat(name), "bold"), Content.styled(flat(about), "dim")
        case Spoiled(name, why):
            return Content.styled(flat(f"spool/{name}"), "bold"), Content.styled(flat(why[:400]), "$warning")


def when(entry: Entry, *, short: bool = False) -> Content:
    return Content.styled(flat(entry.created_at[: 10 if short else 16].replace("T", " ")), "dim")


def state(entry: Entry) -> list[Content]:
    """Say what is special about a note: how its turn ended, whose it is, that it waits."""
    parts = [
        (flat(entry.outcome), "$warning") if entry.outcome not in ("done", "") else ("", ""),
        (entry.origin, "$warning") if entry.origin != "own" else ("", ""),
        ("pending", "$accent") if entry.pending else ("", ""),
        ("rewound", "$warning") if entry.rewound else ("", ""),
        ("malformed", "$error") if entry.malformed else ("", ""),
    ]
    return [Content.styled(*part) for part in parts if part[0]]


def strip(overview: Overview, saving: Saving, width: int) -> Content:
    """Draw the turns of each day, today last, in what is said beside it leaves of a line; numbers are not cut."""
    if not overview.today:
        return Content("")
    would = "would be " if width >= WIDE else ""
    replay = f", replay {would}{short(saving.replay)}" if saving.replay > saving.sent else ""
    told = [
        f"{counted(overview.days.get(overview.today, 0), 'turn')} today",
        f"sent {short(saving.sent)} tokens{replay}" if saving.sent else "",
        f"{overview.left:,} older notes are not listed; search finds them" if overview.left else "",
    ]
    said = ""
    for each in filter(None, told):
        if len(said) + len(each) <= width - WEEK - len("  "):
            said += f" · {each}" if said else each
    text = Content(f"  {said}")
    last, room = date.fromisoformat(overview.today), min(width - text.cell_length, DAYS)
    counts = [overview.days.get((last - timedelta(days=back)).isoformat(), 0) for back in reversed(range(room))]
    most = max(counts, default=0)
    bars = "".join(BARS[(count * len(BARS) - 1) // most] if count else "·" for count in counts)
    return Content.styled(bars, "$accent") + text


def _about(notes: Sequence[Noted]) -> str:
    """Say what a conversation is about, by its newest notes."""
    topics = dict.fromkeys(topic for note in notes[:4] for topic in note.entry.topics[:2])
    return "; ".join([*topics][:4]) or notes[0].entry.title
