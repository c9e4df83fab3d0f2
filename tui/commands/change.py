"""Change memory: edit a note, forget it, take that back. Nothing is gone for good without being told."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ogcode.agent.files.durable import replace_file
from ogcode.agent.index.cache import Memory
from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.health import gone
from ogcode.agent.memory.notes import LARGEST, parse_note
from ogcode.agent.memory.trash import Tombstone, forget, keep_edited, purge, restore, undoable
from ogcode.tui.commands.notes import NoneNamed, chosen, conversation, counted, open_notes
from ogcode.tui.commands.terminal import answer, answer_json, asked, flat, remark
from ogcode.tui.place import Here


@dataclass(frozen=True, slots=True)
class Unwanted:
    """What is to be forgotten."""

    names: tuple[str, ...]
    tag: str = ""
    """Of a conversation: all of it."""
    for_good: bool = False
    sure: bool = False
    """That it is meant for good need not be asked."""


class NotChanged(Exception):
    """A note stays as it is; the text says why."""


def edit_note(here: Here, name: str, *, as_json: bool) -> int:
    """Have a person edit a note, and say what came of it."""
    entry = chosen(open_notes(here), name)
    changed = edit(here, entry)
    if as_json:
        answer_json({"id": entry.id, "path": str(here.root.store / entry.path), "changed": changed})
    else:
        remark(f"{edited_as(here)}. ogcode memory undo takes it back" if changed else "nothing was changed")
    return 0


def edited_as(here: Here) -> str:
    """Say what a note is that a person has edited."""
    untrusted = "" if here.trusted else "; as this folder is not trusted, it is left out of memory until it is"
    return f"saved; it counts as edited{untrusted}"


def edit(here: Here, entry: Entry) -> bool:
    """Open a note in the user's editor, on a copy, and put it in the note's place when it can be read.

    Raises:
        NotChanged, OSError: it stays as it is.
    """
    if entry.pending:
        raise NotChanged(f"{entry.id} has no note yet; write it first: ogcode memory wait")
    path = here.root.store / entry.path
    command = editor(here, path)
    before = path.read_bytes()
    folder = Path(tempfile.mkdtemp(prefix="ogcode-"))
    copy = folder / path.name
    copy.write_bytes(before)
    # Not in the repository: editors believe settings that lie where they are started.
    code = subprocess.call([*command, str(copy)], cwd=folder, env=dict(here.environ))
    after = _edited(copy, entry, code)
    if after != before:
        if path.read_bytes() != before:
            raise NotChanged(f"{path} has been changed meanwhile; your text is in {copy}")
        keep_edited(here.root.store, entry.id, entry.path, before, became=after, now=here.now())
        replace_file(path, after)
    shutil.rmtree(folder)
    return after != before


def editor(here: Here, path: Path, what: str = "note") -> list[str]:
    """Find the user's editor, never among the files of a folder that is not trusted.

    Raises:
        NotChanged: there is none, or no terminal for it.
    """
    from ogcode.agent.tools.process import program  # loads asyncio

    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise NotChanged(f"there is no terminal for an editor; the {what} is {path}")
    wanted = here.environ.get("VISUAL") or here.environ.get("EDITOR") or ""
    try:
        words = shlex.split(wanted)
    except ValueError as error:
        raise NotChanged(f"EDITOR can't be read ({error}): {wanted}; the {what} is {path}") from error
    if not words:
        raise NotChanged(f"set VISUAL or EDITOR to an editor; the {what} is {path}")
    search = here.environ.get("PATH", os.defpath)
    found = shutil.which(words[0], path=search) if here.trusted else program(words[0], search, outside=here.root.top)
    if not found:
        inside = "" if here.trusted else " outside this folder, which is not trusted"
        raise NotChanged(f"there is no editor '{words[0]}'{inside}; the {what} is {path}")
    return [str(found), *words[1:]]


def _edited(copy: Path, entry: Entry, code: int) -> bytes:
    if code:
        raise NotChanged(f"the editor ended with {code}: the note stays as it is; your text is in {copy}")
    after = copy.read_bytes()
    if len(after) > LARGEST:
        raise NotChanged(f"a note holds at most {LARGEST:,} bytes: it stays as it is; your text is in {copy}")
    fault = parse_note(entry.path, after).malformed
    if fault and fault != entry.malformed:
        raise NotChanged(f"this would not be a sound note ({fault}): it stays as it is; your text is in {copy}")
    return after


def forget_named(here: Here, unwanted: Unwanted, *, as_json: bool) -> int:
    """Forget notes and facts: what is named by a fact's id is one."""
    from ogcode.tui.commands.facts import forget_facts, is_fact

    ids = [name for name in unwanted.names if is_fact(name)]
    if ids and unwanted.for_good and not unwanted.sure:
        _make_sure(ids, "fact")
    notes = replace(unwanted, names=tuple(name for name in unwanted.names if not is_fact(name)))
    gone = forget_facts(here, ids, for_good=unwanted.for_good)
    for fact in gone:
        if as_json:
            answer_json({"forgotten": [fact.id], "for_good": unwanted.for_good, "files": [fact.file]})
        else:
            answer(f"forgotten{' for good' if unwanted.for_good else ''}: {fact.id}: {flat(fact.summary)}")
    if gone and not as_json and not unwanted.for_good:
        remark(f"ogcode memory undo {gone[-1].id} brings it back")
    return forget_notes(here, notes, as_json=as_json) if notes.names or notes.tag else 0


def forget_notes(here: Here, unwanted: Unwanted, *, as_json: bool) -> int:
    """Move notes to the trash, or out of it too."""
    notes, store, memory = open_notes(here), here.root.store, Memory.of(here.root, here.home)
    entries = notes.entries(session=conversation(notes, unwanted.tag)) if unwanted.tag else []
    away = list[str]()
    for name in unwanted.names:
        try:
            entries.append(chosen(notes, name))
        except NoneNamed:
            if not unwanted.for_good or not (known := _named([*undoable(store), *gone(memory)], name)):
                raise
            away.append(_one(known, name)[0].note)
    entries = list({entry.path: entry for entry in entries}.values())
    ids = list(dict.fromkeys([*(entry.id for entry in entries), *away]))
    if unwanted.for_good and not unwanted.sure:
        _make_sure(ids)
    forget(store, [(entry.id, entry.path) for entry in entries], here.now())
    if unwanted.for_good:
        for note in ids:
            purge(store, note, here.now(), claimed=memory.manifest.claims().anywhere(note))
        here.root.database.unlink(missing_ok=True)  # its free pages hold the words of what it listed
    if as_json:
        answer_json({"forgotten": ids, "for_good": unwanted.for_good, "files": [entry.path for entry in entries]})
        return 0
    for note in ids:
        answer(f"forgotten{' for good' if unwanted.for_good else ''}: {note}")
    how = "only names and hashes are kept" if unwanted.for_good else "ogcode memory undo brings it back"
    remark(f"{how}{_still_said(here, entries)}")
    return 0


def _make_sure(ids: Sequence[str], what: str = "note") -> None:
    if not sys.stdin.isatty():
        raise NotChanged("forgetting for good can't be taken back; say --yes if that is meant")
    if not asked(f"Remove {counted(len(ids), what)} for good ({', '.join(ids[:3])}{', …' * (len(ids) > 3)})?"):
        raise NotChanged("nothing was forgotten")


def _still_said(here: Here, entries: Sequence[Entry]) -> str:
    """Say honestly where else the words of forgotten turns are."""
    sessions = sorted({entry.session_id for entry in entries if entry.session_id.isalnum()})
    files = [f".ogcode/sessions/{each}.jsonl" for each in sessions if (here.root.sessions / f"{each}.jsonl").is_file()]
    more = f" and {len(files) - 3} others" if len(files) > 3 else ""
    return f"; what was said is still in {', '.join(files[:3])}{more}" if files else ""


def undo(here: Here, name: str, *, as_json: bool) -> int:
    """Take back what was done last, or last to one note or fact; by its name also bring back a note that is gone."""
    from ogcode.tui.commands.facts import is_fact, last_done, undo_fact

    stones = undoable(here.root.store)
    if is_fact(name) or (not name and _later(last_done(here), stones)):
        return undo_fact(here, name, as_json=as_json)
    if name:
        found = _named([*stones, *gone(Memory.of(here.root, here.home))], name)
        if not found:
            raise NoneNamed(f"'{flat(name)}' is not in the trash; ogcode memory list --forgotten shows what is")
        found = _one(found, name)
        if not found[0].files:
            raise NoneNamed(f"{found[0].note} is gone, and its bytes are kept nowhere")
    else:
        found = [stone for stone in stones if stone.at == stones[0].at]
        if not found:
            raise NoneNamed("nothing was forgotten or edited that could be taken back")
    back = [path for stone in found for path in restore(here.root.store, stone, here.now())]
    if as_json:
        answer_json({"act": found[0].act, "notes": [stone.note for stone in found], "files": [str(p) for p in back]})
        return 0
    for path in back:
        answer(f"{'as before' if found[0].act == 'edited' else 'back again'}: {path}")
    if any(path.parent == here.root.spool for path in back):
        remark("what waits for its note gets it with the next turn, or by ogcode memory wait")
    return 0


def _later(moment: datetime | None, stones: Sequence[Tombstone]) -> bool:
    return moment is not None and not any(datetime.fromisoformat(stone.at) > moment for stone in stones[:1])


def _one(found: Sequence[Tombstone], name: str) -> list[Tombstone]:
    """Pick the last of what is known of the one note that is meant."""
    ids = dict.fromkeys(stone.note for stone in found)
    if len(ids) > 1:
        raise NoneNamed(f"'{flat(name)}' could be {', '.join([*ids][:6])}; name one")
    return [found[0]]


def _named(stones: Sequence[Tombstone], name: str) -> list[Tombstone]:
    """Pick by an id, a file name, or the start of one; an exact one wins."""
    wanted = name.strip().rpartition("/")[2].removesuffix(".md")
    names = {stone: [stone.note, *(Path(kept.path).stem for kept in stone.files)] for stone in stones}
    exact = [stone for stone in stones if wanted in names[stone]]
    return exact or [stone for stone in stones if wanted and any(each.startswith(wanted) for each in names[stone])]
