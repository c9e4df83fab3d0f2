"""An export of facts, as a folder or as JSONL; read again, each gives the facts that it was made of."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.facts.fact import Fact, FactScope, item, parted
from ogcode.agent.facts.intake import Given
from ogcode.agent.facts.shelf import NEW_FILE, Known
from ogcode.agent.files.durable import create_file, make_folder
from ogcode.agent.rules import FACTS
from ogcode.tui.exchange.found import Found, NotReadable, read_text, written_at
from ogcode.tui.exchange.markdown import topic

MARK = "ogcode-facts.json"
"""By which a folder is told from any other."""

VERSION = 1
LARGEST = 50_000_000
SCOPES: tuple[FactScope, ...] = ("global", "project")


@dataclass(frozen=True, slots=True)
class Kept:
    """What is given out."""

    known: Known
    notes: Mapping[str, str]
    """Of each topic note, by its fact's id, the file."""


def to_jsonl(kept: Kept, place: Path) -> None:
    """Write one line for each fact.

    Raises:
        OSError: it can't be written; FileExistsError where something is there.
    """
    create_file(place, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in _rows(kept)).encode())


def to_folder(kept: Kept, place: Path) -> None:
    """Write the files as they would be found here: MEMORY.md and topic notes of each scope.

    Raises:
        OSError: it can't be written; FileExistsError where something is there.
    """
    place.mkdir(mode=0o700)
    create_file(place / MARK, json.dumps({"version": VERSION}).encode())
    for scope in SCOPES:
        hand = [file.text for file in kept.known.written if file.theirs == (scope == "project")]
        items = [item(fact) for fact in kept.known.facts if fact.scope == scope and not fact.title]
        if hand or items:
            make_folder(place / scope)
            text = "\n\n".join([*map(_by_hand, hand), ""]) + "".join(items)
            create_file(place / scope / FACTS[0], f"{NEW_FILE}{text}".encode("utf-8", "replace"))
        for fact in kept.known.facts:
            if fact.scope == scope and fact.title:
                make_folder(place / scope / "facts")
                name = fact.file.rpartition("/")[2]
                create_file(place / scope / "facts" / name, kept.notes[fact.id].encode("utf-8", "replace"))


def read_jsonl(path: Path, found: Found) -> None:
    """Read an export.

    Raises:
        NotReadable: a line of it is none of one.
    """
    for number, line in enumerate(read_text(path.parent, path.name, LARGEST, found.left).splitlines(), 1):
        try:
            row = json.loads(line)
            scope = next(each for each in SCOPES if each == row["scope"])
            if "by_hand" in row:
                found.by_hand.append((scope, str(row["by_hand"])))
            elif "note" in row:
                found.facts.append((scope, topic(str(row["file"]), str(row["note"]), str(row["updated"]))))
            else:
                text, updated, source, summary = (str(row[name]) for name in ("text", "updated", "source", "summary"))
                found.facts.append((scope, Given(text, updated, source, summary, id=str(row["id"]))))
        except (ValueError, TypeError, KeyError, StopIteration, RecursionError) as error:
            raise NotReadable(f"{path}:{number}: not a line of an export; nothing of it is taken in") from error


def read_exported(folder: Path, found: Found) -> None:
    """Read a folder that was exported."""
    for scope in SCOPES:
        if os.path.lexists(folder / scope / FACTS[0]):
            own, rest = parted(read_text(folder, f"{scope}/{FACTS[0]}", LARGEST, found.left), scope, FACTS[0])
            found.facts += ((scope, _given(fact)) for fact in own)
            found.by_hand += [(scope, _by_hand(rest))] if _by_hand(rest) else []
        for path in sorted((folder / scope / "facts").glob("*.md")):
            if text := read_text(folder, f"{scope}/facts/{path.name}", LARGEST, found.left):
                found.facts.append((scope, topic(path.name, text, written_at(path))))


def _rows(kept: Kept) -> Iterator[dict[str, object]]:
    for file in kept.known.written:
        yield {"scope": "project" if file.theirs else "global", "file": file.name, "by_hand": _by_hand(file.text)}
    for fact in kept.known.facts:
        row = {"id": fact.id, "scope": fact.scope, "file": fact.file, "updated": fact.updated}
        if fact.title:
            yield {**row, "note": kept.notes[fact.id]}
        else:
            yield {**row, "text": fact.text, "source": fact.source, "summary": fact.given}


def _given(fact: Fact) -> Given:
    return Given(fact.text, fact.updated, fact.source, fact.given, id=fact.id)


def _by_hand(text: str) -> str:
    return text.strip().removeprefix(NEW_FILE.strip()).strip()
