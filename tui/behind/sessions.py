"""Sessions side by side: what there is to go on with, and this one's name, copy and export."""

import contextlib
import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.files.durable import Lock, create_file, make_folder, sync_folder
from ogcode.agent.rights.trust import Trust, TrustBroken
from ogcode.agent.sensitive.secrets import scrub
from ogcode.agent.transcript import Transcript, is_own, own_sessions, recollect
from ogcode.tui.choice import Choice
from ogcode.tui.desks.desk import NotDone
from ogcode.tui.desks.sessions import SessionLine
from ogcode.tui.earlier import SessionUnknown, chosen_session, lock_file, recollected
from ogcode.tui.place import Here

if TYPE_CHECKING:
    from ogcode.tui.opened import Opened

KINDS = ("md", "json", "html")
LONGEST_NAME = 120
_STORE = ".ogcode"
_PREVIEWED = 6
"""Turns of a session that are looked at before it is gone on with."""
_TELLING = tuple(f'{{"type": "{kind}"'.encode() for kind in ("session", "named", "rewound"))
_BEGINS = b'{"type": "turn_started"'
"""How the lines of a transcript begin that say what a session is; most of it are outputs of tools."""


class Sessions:
    """Implements `SessionsDesk`."""

    def __init__(self, here: Here, opened: "Callable[[], Opened]", open_session: Callable[[Choice], None]) -> None:
        self._here = here
        self._opened = opened
        self._open = open_session
        """Closes the session that is open, and opens the chosen one."""
        self._elsewhere = dict[str, str]()
        """The sessions of other folders that were listed, and their folders."""

    def listed(self, *, everywhere: bool = False) -> Sequence[SessionLine]:
        current = self._opened().session.id
        lines = [replace(line, current=line.session_id == current) for line in list_sessions(self._here)]
        beyond = list(self._of_other_folders()) if everywhere else []
        self._elsewhere = {line.session_id: line.folder for line in beyond}
        found = [*sorted(lines, key=lambda line: not line.here), *sorted(beyond, key=_when, reverse=True)]
        return [line for line in found if line.turns or line.name]

    def _of_other_folders(self) -> Iterator[SessionLine]:
        try:
            folders = Trust(self._here.home).folders()
        except TrustBroken as error:
            raise NotDone(str(error)) from error
        for folder in folders:
            if folder != str(self._here.root.path):
                for line in list_sessions(self._here, Path(folder, _STORE, "sessions")):
                    yield replace(line, folder=folder)

    def preview(self, session_id: str) -> Sequence[tuple[str, str]]:
        with contextlib.suppress(OSError):
            return recollected(self._here, self._file(session_id)).said[-_PREVIEWED:]
        return ()

    def resume(self, session_id: str) -> Sequence[str]:
        if session_id == self._opened().session.id:
            raise NotDone("this is the session that you are in")
        self._only_here(session_id)
        return self._go_on(Choice(resume=session_id))

    def fork(self, name: str) -> str:
        transcript, before = self._kept("be copied"), self._opened().session
        if not before.turns:
            raise NotDone("there is nothing to copy yet: the session has no turn")
        self._go_on(Choice(resume=transcript.path.stem, fork=True))
        told = f"session {before.id[:8]} stays as it is; you go on in a fork of it, {self._opened().session.id[:8]}"
        return f"{told}; {self.rename(name)}" if name else told

    def rename(self, name: str, session_id: str = "") -> str:
        name = " ".join(name.split())[:LONGEST_NAME]
        self._only_here(session_id)
        try:
            if session_id in ("", self._opened().session.id):
                self._kept("have a name").named(name)
            else:
                path = self._file(session_id)
                before = path.stat()
                Transcript(path).named(name)
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # nothing went on in it
        except OSError as error:
            raise NotDone(f"the name can't be written: {error.strerror}") from error
        return f"it is called {name} from now on" if name else "it has no name any more"

    def delete(self, session_id: str) -> str:
        if session_id == self._opened().session.id:
            raise NotDone("this is the session that you are in; /new begins another one")
        self._only_here(session_id)
        try:
            put_away(self._here, self._file(session_id))
        except OSError as error:
            raise NotDone(f"session {session_id[:8]} is not deleted: {error.strerror}") from error
        return f"session {session_id[:8]} is in {_STORE}/trash; its notes stay"

    def export(self, kind: str, place: str) -> str:
        transcript = self._kept("be exported")
        if not self._opened().session.turns:
            raise NotDone("there is nothing to export yet: the session has no turn")
        name = place or f"ogcode-{transcript.path.stem[:8]}.{kind}"
        path = Path(os.path.expanduser(name))  # noqa: PTH111  # a `~` that names nobody stays as it is
        path = self._here.folder / path
        try:
            text = exported(self._here, transcript.path, kind)
            create_file(path, text.encode("utf-8", "replace"))
        except FileExistsError as error:
            raise NotDone(f"{path} is there already; name another file") from error
        except OSError as error:
            raise NotDone(f"{path}: {error.strerror}") from error
        return f"the session is in {path}, without secrets that are known here"

    def _file(self, session_id: str) -> Path:
        folder = self._elsewhere.get(session_id)
        sessions = Path(folder, _STORE, "sessions") if folder else self._here.root.sessions
        return sessions / f"{session_id}.jsonl"

    def _only_here(self, session_id: str) -> None:
        if folder := self._elsewhere.get(session_id):
            command = f"cd {shlex.quote(folder)} && ogcode -r {session_id[:8]}"
            raise NotDone(f"session {session_id[:8]} is of another folder; go on with it there: {command}")

    def _kept(self, wish: str) -> Transcript:
        if (transcript := self._opened().transcript) and self._opened().memory == "on":
            return transcript
        raise NotDone(f"this session is not saved, so it can't {wish}; /memory on saves from the next turn on")

    def _go_on(self, choice: Choice) -> Sequence[str]:
        known = set(self._opened().notices)
        try:
            chosen_session(self._here, choice)  # before the session that is open is left
        except SessionUnknown as error:
            raise NotDone(str(error)) from error
        self._open(choice)
        return [notice for notice in self._opened().notices if notice not in known]


def exported(here: Here, path: Path, kind: str, *, steps: bool = True) -> str:
    """Tell a session in the form that is asked for, without secrets.

    Raises:
        OSError: it can't be read.
    """
    from ogcode.tui.exchange.retelling import Told, as_markdown, as_object, turns_of

    known, turns = here.secrets, list[Told]()
    for session_id, last in recollect(path).parents.items():  # what a fork goes on from is told with it
        parent = here.root.sessions / f"{session_id}.jsonl"
        if is_own(parent, here.seal):
            turns += [turn for turn in turns_of(parent) if turn.turn <= last]
    turns += turns_of(path)
    match kind:
        case "json":
            told = as_object(path.stem, turns, lambda text: scrub(text, known), steps=steps)
            return json.dumps(told) + "\n"
        case "html":
            from ogcode.tui.exchange.page import as_page

            return as_page(path.stem, turns, lambda text: scrub(text, known), steps=steps)
    return scrub(as_markdown(path.stem, turns, steps=steps), known) + "\n"


def put_away(here: Here, path: Path) -> Path:
    """Move a transcript to the trash, and say where it is; the notes of its turns stay.

    Raises:
        NotDone: it is in use, or the trash is elsewhere.
        OSError: it can't be moved.
    """
    trash = here.root.store / "trash"
    if trash.is_symlink():
        raise NotDone(f"{trash} is a link; what is deleted is only kept in a folder of its own")
    make_folder(trash)
    lock = Lock.take(lock_file(here, path.stem))
    if lock is None:
        raise NotDone(f"session {path.stem[:8]} is in use; end it first")
    try:
        kept = _free(trash, path.stem)
        path.rename(kept)
        sync_folder(trash)
        sync_folder(path.parent)
    finally:
        lock.release(remove=True)
    return kept


def _free(trash: Path, session_id: str) -> Path:
    """Find a name that nothing in the trash has."""
    number, path = 1, trash / f"session-{session_id}.jsonl"
    while path.exists() or path.is_symlink():
        number += 1
        path = trash / f"session-{session_id}-{number}.jsonl"
    return path


def list_sessions(here: Here, sessions: Path | None = None) -> Iterator[SessionLine]:
    """Tell the sessions of this place or of a folder, most recently active first; of the files only what names them."""
    top = str(here.root.top).encode("utf-8", "replace").decode()
    for path in own_sessions(sessions or here.root.sessions, here.seal):
        with contextlib.suppress(OSError):
            yield _glimpse(path, top)


def _glimpse(path: Path, top: str) -> SessionLine:
    name, branch, here = "", "", False
    begun, rewound = list[bytes](), set[int]()
    with path.open("rb") as file:
        for line in file:
            if line.startswith(_BEGINS):
                begun.append(line)
            elif line.startswith(_TELLING):
                match _row(line):
                    case {"type": "session"} as row:
                        branch, here = str(row.get("branch", "")), row.get("top") == top
                    case {"type": "named", "name": str(given)}:
                        name = given
                    case {"type": "rewound", "turns": list(taken), "back": bool(back)}:
                        turns = {turn for turn in taken if isinstance(turn, int)}
                        (rewound.difference_update if back else rewound.update)(turns)
        active = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime).astimezone()
    if rewound:
        begun = [line for line in begun if _row(line).get("turn") not in rewound]
    first, last = (str(_row(begun[place]).get("request", "")) for place in (0, -1)) if begun else ("", "")
    return SessionLine(path.stem, name, first, last, len(begun), active, branch, here)


def _when(line: SessionLine) -> datetime:
    return line.active


def _row(line: bytes) -> Mapping[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
