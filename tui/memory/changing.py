"""What a person does with notes and facts while looking at them; nothing is gone for good."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ogcode.agent.facts.fact import Fact, FactRefused
from ogcode.agent.index.cache import Memory
from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.pins import NotPinned, pin
from ogcode.agent.memory.rescribe import RescribeImpossible, rescribe
from ogcode.agent.memory.trash import Tombstone, TrashRefused, forget, restore, undoable
from ogcode.tui.commands.change import NotChanged, edit, edited_as, editor
from ogcode.tui.commands.notes import counted
from ogcode.tui.desks.facts import forgotten, taken_back, updated
from ogcode.tui.memory.desk import Item, Lead, NotDone, Noted, Ruled, Spoiled
from ogcode.tui.place import Here

REFUSED = (NotChanged, TrashRefused, FactRefused, NotPinned, RescribeImpossible)


class Changes:
    """Of one view: it knows what it has done, to take that back."""

    def __init__(self, here: Here, memory: Memory, scribe: Callable[[], None]) -> None:
        self._here = here
        self._memory = memory
        self._scribe = scribe
        self._done = list[Callable[[], str]]()
        """Each takes back what was done, and says so."""

    def pin(self, items: Sequence[Item], *, pinned: bool) -> str:
        notes = [item.entry for item in items if isinstance(item, Noted)]
        if not notes:
            raise NotDone("only notes can be pinned")
        done = list[Entry]()

        def one(place: int) -> None:
            pin(self._memory, notes[place], pinned=pinned)
            if notes[place].pinned != pinned:
                done.append(notes[place])

        try:
            _each(len(notes), one, "pinned" if pinned else "no longer pinned")
        finally:
            if done:
                self._done.append(lambda: self._pinned_before(done))
        return f"{counted(len(notes), 'note')} {'pinned' if pinned else 'no longer pinned'}"

    def _pinned_before(self, notes: Sequence[Entry]) -> str:
        for note in notes:
            pin(self._memory, note, pinned=note.pinned)
        return f"as before: {notes[0].id if len(notes) == 1 else counted(len(notes), 'note')}"

    def forget(self, items: Sequence[Item]) -> str:
        away = [item for item in items if isinstance(item, Noted | Fact)]
        if not away:
            what = "no turn" if all(isinstance(item, Spoiled) for item in items) else "a file that people wrote"
            raise NotDone(f"this is {what}; delete it yourself if it is not wanted")
        store, now = self._here.root.store, self._here.now()
        stones, facts = list[Tombstone](), list[str]()

        def one(place: int) -> None:
            match away[place]:
                case Noted(entry):
                    stones.extend(forget(store, [(entry.id, entry.path)], now))
                case Fact(id=identity):
                    facts.append(forgotten(self._here, identity).id)

        try:
            _each(len(away), one, "forgotten")
        finally:
            if stones or facts:
                self._done.append(lambda: self._bring_back(stones, facts))
        return f"forgotten: {_named(stones, facts)}; u brings {'it' if len(away) == 1 else 'them'} back"

    def _bring_back(self, stones: Sequence[Tombstone], facts: Sequence[str]) -> str:
        for stone in stones:
            restore(self._here.root.store, stone, self._here.now())
        for identity in facts:
            taken_back(self._here, identity)
        edited = bool(stones) and stones[0].act == "edited"
        return f"{'as before' if edited else 'back again'}: {_named(stones, facts)}"

    def undo(self) -> str:
        """Take back what was done last in this view; if nothing was, what was done to notes last at all."""
        try:
            if self._done:
                said = self._done[-1]()
                self._done.pop()
                return said
            stones = undoable(self._here.root.store)
            last = [stone for stone in stones if stone.at == stones[0].at]
            if not last:
                raise NotDone("nothing was forgotten or edited that could be taken back")
            return self._bring_back(last, ())
        except REFUSED as error:
            raise NotDone(str(error)) from error

    def rescribe(self, items: Sequence[Item]) -> str:
        notes = [item.entry for item in items if isinstance(item, Noted)]
        if not notes:
            raise NotDone("only the note of a turn can be written anew")

        def one(place: int) -> None:
            rescribe(self._memory, self._here.root.sessions, notes[place], secrets=self._here.secrets)

        try:
            _each(len(notes), one, "to be written anew")
        finally:
            self._scribe()
        return f"{counted(len(notes), 'note')} to be written anew; the scribe has begun"

    def edit(self, item: Item) -> str:
        """Have an item edited; the caller has given the terminal away."""
        here = self._here
        try:
            match item:
                case Noted(entry):
                    if not edit(here, entry):
                        return "nothing was changed"
                    stone = next(each for each in undoable(here.root.store) if each.note == entry.id)
                    self._done.append(lambda: self._bring_back([stone], ()))
                    return f"{edited_as(here)}; u takes it back"
                case Fact(id=identity):
                    text = self._edited(item)
                    if text == item.text:
                        return "nothing was changed"
                    updated(here, identity, text)
                    self._done.append(lambda: f"as before: {taken_back(here, identity)[0].id}")
                    return "saved; u takes it back"
                case Ruled():
                    return self.visit(item)
        except REFUSED as error:
            raise NotDone(str(error)) from error
        except OSError as error:
            raise NotDone(f"{error.filename}: {error.strerror}") from error
        raise NotDone(f"{path_of(here, item)} is not edited from here; g f opens the file itself")

    def _edited(self, fact: Fact) -> str:
        command = editor(self._here, path_of(self._here, fact), "fact's file")
        folder = Path(tempfile.mkdtemp(prefix="ogcode-"))
        copy = folder / f"{fact.id}.md"
        copy.write_text(fact.text, "utf-8")
        code = subprocess.call([*command, str(copy)], cwd=folder, env=dict(self._here.environ))
        if code:
            raise NotChanged(f"the editor ended with {code}: the fact stays as it is; your text is in {copy}")
        text = copy.read_text("utf-8", errors="replace").strip()
        shutil.rmtree(folder)
        return text

    def visit(self, lead: Lead | Item) -> str:
        """Open a file in the user's editor; the caller has given the terminal away."""
        path = inside(self._here, lead.name) if isinstance(lead, Lead) else path_of(self._here, lead)
        if path is None or not path.is_file():
            raise NotDone(f"{lead.name if isinstance(lead, Lead) else path} is not there")
        try:
            command = editor(self._here, path, "file")
            # Not in the repository: editors believe settings that lie where they are started.
            code = subprocess.call([*command, str(path)], cwd=self._here.home, env=dict(self._here.environ))
        except (*REFUSED, OSError) as error:
            raise NotDone(str(error)) from error
        return f"the editor ended with {code}" if code else ""


def inside(here: Here, name: str) -> Path | None:
    """Find a file that a note names; None where it is not there, or not of this repository."""
    top = here.root.top.resolve()
    try:
        path = (top / name).resolve()
        return path if path.is_relative_to(top) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # NUL bytes; loops of links
        return None


def path_of(here: Here, item: Item) -> Path:
    """Give the file that an item stands in."""
    match item:
        case Noted(entry):
            return here.root.store / entry.path
        case Fact(file=file):
            places = {"~/.ogcode/": here.home, ".ogcode/": here.root.store, "": here.root.top}
            return next(place / file.removeprefix(name) for name, place in places.items() if file.startswith(name))
        case Ruled(path=path):
            return path
        case Spoiled(name=name):
            return here.root.spool / name


def _each(count: int, do: Callable[[int], None], what: str) -> None:
    """Do something so many times; where one fails, say how far it went and why it went no further."""
    for place in range(count):
        try:
            do(place)
        except (*REFUSED, OSError) as error:
            why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
            raise NotDone(f"{place} of {count} {what}: {why}" if count > 1 else why) from error


def _named(stones: Sequence[Tombstone], facts: Sequence[str]) -> str:
    notes = list(dict.fromkeys(stone.note for stone in stones))
    if len(notes) + len(facts) == 1:
        return [*notes, *facts][0]
    told = [counted(len(notes), "note") if notes else "", counted(len(facts), "fact") if facts else ""]
    return " and ".join(filter(None, told))
