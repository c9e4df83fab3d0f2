"""The notes that a command may look at, and which of them is meant by a name."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Entry, Notes, Scope
from ogcode.agent.memory.health import gone
from ogcode.agent.memory.trash import Tombstone
from ogcode.agent.undo.rewound import rewound
from ogcode.tui.commands.terminal import flat, remark
from ogcode.tui.place import Here

T = TypeVar("T")


class NoneNamed(Exception):
    """A name means no note or conversation, or several; the text says which there are."""


def open_notes(here: Here, *, tag: str = "") -> Notes:
    """Open the notes of this place, or those that one conversation can recall; of others only in a trusted folder.

    Raises:
        NoneNamed: there is no such conversation.
    """
    index = open_index(Memory.of(here.root, here.home))

    def notes(scope: Scope, *, trusted: bool) -> Notes:
        scope = replace(scope, rewound=rewound(here.root.store / "undo", here.seal))
        return Notes(index, here.root.store, scope, trusted=trusted, now=here.now)

    mine = notes(Scope(), trusted=here.trusted)
    if not here.trusted and (others := notes(Scope(), trusted=True).count() - mine.count()):
        remark(f"left out: {counted(others, 'note')} by others; this folder is not trusted (--trust trusts it)")
    if not tag:
        return mine
    return notes(Scope({conversation(mine, tag): sys.maxsize}), trusted=here.trusted)


def conversation(notes: Notes, tag: str) -> str:
    """Find the conversation that a tag means; one of the user's own before any that others may have named like it.

    Raises:
        NoneNamed: none, or several.
    """
    near = notes.tagged(tag)
    return _only(near, tag, "conversation", [f"{each.tag}/" for each in near]).session_id


def chosen(notes: Notes, name: str) -> Entry:
    """Find the note that a name, an id, a path or the unique start of one means; of namesakes the user's own.

    Raises:
        NoneNamed: none, or several.
    """
    near = notes.named(name)
    folder = f"memory/{name.removeprefix('memory/').removesuffix('.md')}.md"
    exact = [entry for entry in near if entry.path == folder] if len(near) > 1 else near
    own = [entry for entry in near if entry.origin == "own"] if len({entry.id for entry in near}) == 1 else []
    found = next((each for each in (exact, own) if len(each) == 1), near)
    return _only(found, name, "note", [entry.path.removeprefix("memory/") for entry in found])


def _only(near: Sequence[T], name: str, what: str, candidates: Sequence[str]) -> T:
    if len(near) == 1:
        return near[0]
    if not near:
        raise NoneNamed(f"'{flat(name)}' is no {what} here; ogcode memory list shows what there is")
    more = f" or {len(near) - 6} others" if len(near) > 6 else ""
    raise NoneNamed(f"'{flat(name)}' could be {', '.join(candidates[:6])}{more}; name one")


def told(here: Here, entry: Entry) -> dict[str, object]:
    """Tell all about a note, for JSON."""
    return {
        "id": entry.id,
        "title": entry.title,
        "topics": entry.topics,
        "session_id": entry.session_id,
        "created_at": entry.created_at,
        "turn": entry.turn,
        "outcome": entry.outcome,
        "scribe": entry.scribe,
        "origin": entry.origin,
        "pending": entry.pending,
        "rewound": entry.rewound,
        "fact": entry.fact,
        "path": str(here.root.store / entry.path),
    }


def marks(entry: Entry) -> str:
    """Say what is special about a note."""
    found = [*([entry.origin] if entry.origin != "own" else []), *(["pending"] if entry.pending else [])]
    found += ["rewound"] if entry.rewound else []
    return f"  ({', '.join(found)})" if found else ""


def gone_here(here: Here) -> list[Tombstone]:
    """List own notes that are gone, where that can be told."""
    try:
        return gone(Memory.of(here.root, here.home))
    except OSError as error:
        remark(f"ogcode: which notes are gone is not known: {error.filename}: {error.strerror}")
        return []


def counted(number: int, what: str) -> str:
    """Count things in words: `1 note`, `12 notes`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
