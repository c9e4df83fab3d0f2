"""Where a note or a fact leads: its files, what it cites, and what cites it."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from ogcode.agent.facts.fact import Fact
from ogcode.agent.index.reading import Entry, Notes
from ogcode.tui.memory.changing import inside
from ogcode.tui.memory.desk import Item, Lead, Noted, key_of
from ogcode.tui.memory.reader import Reader

LINKS, FILES = 40, 40
"""Notes and files that are looked up behind one note."""

LINK = re.compile(r"\[\[([^\[\]\n#|]{1,200})(?:#[^\[\]\n]{0,200})?\]\]")


def leads_of(reader: Reader, item: Item) -> Iterator[Lead]:
    """Name the files and notes that an item leads to, then what cites it.

    Raises:
        NotDone: it is gone, or can't be read.
    """
    notes = reader.notes()
    match item:
        case Noted(entry):
            yield from _files(reader, entry)
            yield from _linked(reader.text(entry), notes)
            for other in notes.citing(entry.id, limit=LINKS):
                with suppress(OSError):
                    if other.id != entry.id and entry.id in "\n".join(LINK.findall(notes.text(other))):
                        yield Lead("cited by", other.title, other.id)
            for fact in reader.facts:
                if fact.source == entry.id or entry.id in fact.text:
                    yield Lead("cited by", fact.summary, fact=key_of(fact))
        case Fact(text=text, source=source):
            if source:
                yield replace(next(_linked(f"[[{source}]]", notes)), kind="from")
            yield from _linked(text, notes)


def _linked(text: str, notes: Notes) -> Iterator[Lead]:
    for name in [*dict.fromkeys(map(str.strip, LINK.findall(text)))][:LINKS]:
        near = notes.named(name)
        yield Lead("cites", near[0].title, near[0].id) if near else Lead("cites", name, mark="gone")


def _files(reader: Reader, entry: Entry) -> Iterator[Lead]:
    from ogcode.librarian.library import Library

    here = reader.here
    stale = Library(reader.notes(), here.root.sessions, here.root.top, here.seal).stale(entry)
    for path in list(entry.files)[:FILES]:
        gone = not inside(here, path)
        yield Lead("file", path, mark="gone" if gone else "changed since" if path in stale else "")
