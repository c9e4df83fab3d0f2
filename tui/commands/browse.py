"""Look at memory: its notes listed, shown, searched; no model is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from ogcode.agent.index.reading import Entry, Notes, Passage
from ogcode.agent.memory.markdown import Section, sections
from ogcode.agent.memory.trash import undoable
from ogcode.librarian.known import coming
from ogcode.librarian.library import VERBATIM, Library
from ogcode.tui.commands.notes import NoneNamed, chosen, conversation, gone_here, marks, open_notes, told
from ogcode.tui.commands.terminal import answer, answer_json, flat, remark
from ogcode.tui.knowledge import facts_to_recall
from ogcode.tui.place import Here

FOUND = 10
"""Notes that a search lists."""

ROOM = 3_600
"""Characters of the sections that a search prints: about 1,000 tokens with what stands above each."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for."""

    words: str
    tag: str = ""
    """Of a conversation; empty is all of them."""
    limit: int | None = None
    whole: bool = False
    """Notes are listed instead of their sections."""


def list_notes(here: Here, tag: str, *, limit: int | None, as_json: bool) -> int:
    """List the notes of this place or of one conversation, newest first."""
    notes = open_notes(here)
    entries = notes.entries(session=conversation(notes, tag) if tag else None, limit=limit or -1)
    _print_notes(here, entries, as_json=as_json)
    if not entries:
        remark("memory is empty here")
    return 0


def list_forgotten(here: Here, *, as_json: bool) -> int:
    """List what `undo` can bring back: what was forgotten or edited, the last first, then what is gone."""
    for stone in [*undoable(here.root.store), *(each for each in gone_here(here) if each.files)]:
        files = [kept.path for kept in stone.files]
        if as_json:
            answer_json({"id": stone.note, "act": stone.act, "at": stone.at, "files": files})
        else:
            done = f"{stone.act} {stone.at[:16].replace('T', ' ')}".strip()
            answer(f"{stone.note}  {done}  {flat(', '.join(files))}")
    return 0


def show_note(here: Here, name: str, section: str, *, as_json: bool) -> int:
    """Print a note, or one section of it; `Verbatim` is the turn word for word."""
    linked, _, inside = name.strip().removeprefix("[[").removesuffix("]]").partition("#")
    notes = open_notes(here)
    entry = chosen(notes, linked)
    wanted = (section or inside).strip().lstrip("#").strip()
    text = notes.text(entry)
    if wanted.casefold() == VERBATIM.casefold():
        text = _verbatim(here, notes, entry)
    elif wanted:
        part = _section(text, wanted, entry)
        text = "\n".join(text.split("\n")[part.start - 1 : part.end])
    if as_json:
        answer_json({**told(here, entry), "section": wanted, "text": text})
    else:
        answer(text)
    return 0


def search_notes(here: Here, wanted: Wanted, *, as_json: bool) -> int:
    """Print the sections that best speak to a few words, or list the notes that do."""
    notes = open_notes(here, tag=wanted.tag)
    entries = notes.find(wanted.words, limit=wanted.limit or FOUND) if wanted.whole else []
    facts = [] if wanted.whole or wanted.tag else coming(wanted.words, facts_to_recall(here), here.root.top)
    passages = [] if wanted.whole else [*facts, *notes.passages(wanted.words, characters=ROOM)][: wanted.limit]
    _print_notes(here, entries, as_json=as_json)
    for place, passage in enumerate(passages):
        if as_json:
            found = {"link": _link(passage), "section": passage.section, "text": passage.text}
            answer_json({**told(here, passage.entry), **found})
        else:
            answer(f"{'' if place == 0 else chr(10)}{_head(passage)}\n{_body(passage)}")
    if not entries and not passages:
        remark(f"nothing matches '{flat(wanted.words)}'")
    return 0


def show_path(here: Here, *, as_json: bool) -> int:
    """Print where the notes lie."""
    if as_json:
        answer_json({"path": str(here.root.memory), "root": str(here.root.path)})
    else:
        answer(str(here.root.memory))
    return 0


def _print_notes(here: Here, entries: Sequence[Entry], *, as_json: bool) -> None:
    for entry in entries:
        if as_json:
            answer_json(told(here, entry))
        else:
            answer(f"{entry.id}  {flat(entry.title)}  [{flat('; '.join(entry.topics))}]{marks(entry)}")


def _verbatim(here: Here, notes: Notes, entry: Entry) -> str:
    words = Library(notes, here.root.sessions, here.root.top, here.seal, here.secrets).words_of(entry)
    if not words:
        raise NoneNamed(f"the transcript of {entry.id} is gone; its note is all there is")
    return words


def _section(text: str, wanted: str, entry: Entry) -> Section:
    parts = sections(text)
    near = [part for part in parts if part.title.casefold().startswith(wanted.casefold())]
    if not near:
        there = ", ".join(flat(part.title) for part in parts) or "no sections at all"
        raise NoneNamed(f"{entry.id} has no section '{flat(wanted)}'; it has {there}")
    return next((part for part in near if part.title.casefold() == wanted.casefold()), near[0])


def _link(passage: Passage) -> str:
    return f"[[{passage.entry.id}#{passage.section}]]" if passage.section else f"[[{passage.entry.id}]]"


def _head(passage: Passage) -> str:
    entry = passage.entry
    return f"{_link(passage)}  {flat(entry.title)}  {entry.created_at[:10]}{marks(entry)}"


def _body(passage: Passage) -> str:
    """Give the text without its own heading: the link above it says that."""
    return passage.text.removeprefix(f"## {passage.section}\n").strip()
