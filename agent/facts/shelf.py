"""Where facts lie: MEMORY.md files and topic notes, read as they were accepted and written whole."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.facts.fact import Fact, FactRefused, FactScope, parted
from ogcode.agent.facts.topic import Topic, parse_topic
from ogcode.agent.files.durable import make_folder, replace_file
from ogcode.agent.files.root import Root
from ogcode.agent.memory.beneath import read_beneath
from ogcode.agent.rights.accepted import Accepted
from ogcode.agent.rules import FACTS, Written, find_written
from ogcode.agent.rules import LARGEST as LARGEST_FILE

NEW_FILE = "# Memory\n\n"
MOST_TOPICS = 500


@dataclass(frozen=True, slots=True)
class Known:
    """All that was known at one moment."""

    facts: tuple[Fact, ...] = ()
    """Of the user, then of the project; in each the nearest last."""
    written: tuple[Written, ...] = ()
    """What people wrote beside them."""
    notices: tuple[str, ...] = ()
    """What is not believed or could not be read, for the user."""

    def of_project(self) -> tuple[Fact, ...]:
        """Give what is about the project alone; what people wrote there is as one fact a file."""
        hand = (Fact(file.name, file.text, "project", file=file.name) for file in self.written if file.theirs)
        return (*(fact for fact in self.facts if fact.scope == "project"), *hand)


@dataclass(frozen=True, slots=True)
class Place:
    """One file of facts."""

    name: str
    path: Path
    scope: FactScope


class Shelf:
    """The files with facts of one place: those about the user, and those of the project if its folder is trusted."""

    def __init__(self, root: Root, home: Path, folder: Path, *, trusted: bool, accepted: Accepted | None) -> None:
        self._root = root
        self._home = home
        self._folder = folder
        self._trusted = trusted and not root.wide
        self._accepted = accepted
        self._notes_accepted = Accepted(home, root.path) if accepted else None  # worktrees share them
        self._seen = dict[str, tuple[str, tuple[Fact, ...], str]]()

    def known(self) -> Known:
        """Read what is known now.

        Raises:
            OSError: a file is there but can't be read.
        """
        notices = list[str]()
        found = self._written()
        facts, hand = list[Fact](), list[Written]()
        for file in self._accepted.believed(found, notices) if self._accepted else found:
            own, rest = self._read(file)
            facts += own
            if (
                own
                and len(file.text) >= LARGEST_FILE // 4
                and len(file.text.encode("utf-8", "replace")) >= LARGEST_FILE
            ):
                notices.append(f"{file.name}: only its first {LARGEST_FILE:,} bytes are known; shorten it")
            hand += [replace(file, text=rest)] if rest not in ("", NEW_FILE.strip()) else []
        facts += (topic.fact for topic in self.topics(notices))
        facts.sort(key=lambda fact: fact.scope == "project")  # stable: the nearest stay last
        return Known(tuple(facts), tuple(hand), tuple(notices))

    def accept(self) -> None:
        """Believe all that is there now.

        Raises:
            OSError: the copies can't be written.
        """
        if self._accepted and self._notes_accepted:
            self._accepted.accept(self._written())
            self._notes_accepted.accept(self._notes([]))

    def unbelieved(self) -> list[tuple[Written, str]]:
        """Give the files that are not as they were accepted, each with the difference for a person.

        Raises:
            OSError: a file is there but can't be read.
        """
        books = [(self._accepted, self._written()), (self._notes_accepted, self._notes([]))]
        return [
            (file, book.difference(file))
            for book, files in books
            for file in files
            if book and file.theirs and book.text(file.name, file.text) != file.text
        ]

    def believe(self, file: Written) -> None:
        """Believe a file with the text that is given, whatever stands there by now.

        Raises:
            OSError: the copy can't be written.
        """
        book = self._notes_accepted if file.name.startswith(".ogcode/facts/") else self._accepted
        if book:
            book.accept([file])

    def place(self, scope: FactScope) -> Place:
        """Give where a new fact goes: the nearest file that is there, else the root's."""
        if scope == "global":
            return self.named(f"~/.ogcode/{FACTS[0]}", scope)
        top, folder = self._root.top, self._folder
        inside = folder.is_relative_to(top)
        near = [place for place in (folder, *folder.parents) if place == top or top in place.parents] if inside else []
        chosen = next((place for place in near if (place / FACTS[0]).is_file()), top)
        return self.named((chosen / FACTS[0]).relative_to(top).as_posix(), scope)

    def named(self, name: str, scope: FactScope) -> Place:
        """Find a file by its name; one that leads elsewhere is not written."""
        base = self._home if scope == "global" else self._root.store if name.startswith(".ogcode/") else self._root.top
        below = name.removeprefix("~/.ogcode/").removeprefix(".ogcode/") if base != self._root.top else name
        path = Path(os.path.realpath(base / below))
        real = Path(os.path.realpath(base))
        inside = path.is_relative_to(real) and not {".git", ".ogcode"} & {*path.relative_to(real).parts}
        if scope == "project" and not (inside and path.suffix == ".md"):
            raise FactRefused(f"{name} leads elsewhere (a link); facts are only kept in files of the project")
        if os.path.lexists(path) and not path.is_file():
            raise FactRefused(f"{name} is a folder, pipe or link to nothing; facts are only kept in files")
        return Place(name, path, scope)

    def rewrite(self, place: Place, change: Callable[[str], str]) -> None:
        """Change a file, and what was accepted of it; what others changed in it stays, and is accepted by nobody."""
        after = change(before := text_of(place.path))
        while before != (now := text_of(place.path)):  # an editor has saved it meanwhile
            after = change(before := now)
        if len(after) > LARGEST_FILE:
            raise FactRefused(f"{place.name} would be larger than {LARGEST_FILE:,} bytes; shorten it")
        if place.scope == "project" and self._accepted:
            known = (
                (self._accepted.text(place.name, _shown(before)) or "") if place.path.exists() else ""
            )  # who removes it means it
            accepted = after if known == _shown(before) else change(known)
            self._accepted.accept([Written(place.name, _shown(accepted), True)])
        self._put_bytes(place, after)

    def put(self, place: Place, text: str) -> None:
        """Write a topic note whole, or remove it."""
        if place.scope == "project" and self._notes_accepted:
            self._notes_accepted.accept([Written(place.name, text, True)])
        self._put_bytes(place, text)

    def _put_bytes(self, place: Place, text: str) -> None:
        there = place.path.stat() if place.path.exists() else None
        if not text and place.path.parent.name == "facts":
            place.path.unlink(missing_ok=True)
            return
        make_folder(place.path.parent)
        replace_file(place.path, text.encode("utf-8", "surrogateescape"))
        if there:
            place.path.chmod(there.st_mode & 0o777)

    def _read(self, file: Written) -> tuple[tuple[Fact, ...], str]:
        """Tell the facts of a file from the rest of it; again only where it has changed."""
        text, facts, rest = self._seen.get(file.name, ("", (), ""))
        if text != file.text:
            scope: FactScope = "project" if file.theirs else "global"
            facts, rest = parted(file.text, scope, file.name)
            self._seen[file.name] = file.text, facts, rest
        return facts, rest

    def _written(self) -> Iterator[Written]:
        return find_written(FACTS, home=self._home, top=self._root.top, folder=self._folder, trusted=self._trusted)

    def topics(self, notices: list[str]) -> Iterator[Topic]:
        return (topic for topic, _ in self.topic_notes(notices))

    def topic_notes(self, notices: list[str]) -> Iterator[tuple[Topic, str]]:
        """Give the topic notes, each with its text, as they are believed."""
        notes = self._notes(notices)
        believed = self._notes_accepted.believed(notes, notices) if self._notes_accepted else notes
        for file in believed:
            yield parse_topic(file.name, file.text, "project" if file.theirs else "global"), file.text

    def _notes(self, notices: list[str]) -> Iterator[Written]:
        places = [(self._home / "facts", "~/.ogcode/facts", False)]
        if self._trusted and not self._root.store.is_symlink():
            places.append((self._root.store / "facts", ".ogcode/facts", True))
        for folder, shown, theirs in places:
            if folder.is_symlink() or not folder.is_dir():
                continue
            names = sorted(path.name for path in folder.glob("*.md") if not path.name.startswith("."))
            if len(names) > MOST_TOPICS:
                notices.append(f"{shown}: only the first {MOST_TOPICS} of {len(names)} topic notes are known")
            for name in names[:MOST_TOPICS]:
                if not stat.S_ISREG((folder / name).lstat().st_mode):
                    notices.append(f"{shown}/{clean(name)} is a link, or no file: it is not read")
                    continue
                content = read_beneath(folder, name, 1_000_000)
                yield Written(f"{shown}/{name}", content.decode("utf-8", "replace"), theirs)


def text_of(path: Path) -> str:
    """Read a file such that it can be written again byte for byte; empty where there is none."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def _shown(text: str) -> str:
    """Give a text as those see it who only read it."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
