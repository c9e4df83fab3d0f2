"""Sessions side by side: what there is to go on with, and this one's name, copy and export."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.durable import create_file
from ogcode.agent.secrets import scrub
from ogcode.agent.transcript import Transcript, is_own, own_sessions, recollect
from ogcode.tui.choice import Choice
from ogcode.tui.desk import NotDone
from ogcode.tui.earlier import SessionUnknown, chosen_session
from ogcode.tui.place import Here
from ogcode.tui.sessions_desk import SessionLine

if TYPE_CHECKING:
    from ogcode.tui.wiring import Opened

KINDS = ("md", "json", "html")
LONGEST_NAME = 120
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

    def listed(self) -> Sequence[SessionLine]:
        current = self._opened().session.id
        lines = [replace(line, current=line.session_id == current) for line in list_sessions(self._here) if line.turns]
        return sorted(lines, key=lambda line: not line.here)

    def preview(self, session_id: str) -> Sequence[tuple[str, str]]:
        path = self._here.root.sessions / f"{session_id}.jsonl"
        with contextlib.suppress(OSError):
            return recollect(path).said[-_PREVIEWED:]
        return ()

    def resume(self, session_id: str) -> Sequence[str]:
        if session_id == self._opened().session.id:
            raise NotDone("this is the session that you are in")
        return self._go_on(Choice(resume=session_id))

    def fork(self, name: str) -> str:
        transcript, before = self._kept("be copied"), self._opened().session
        if not before.turns:
            raise NotDone("there is nothing to copy yet: the session has no turn")
        self._go_on(Choice(resume=transcript.path.stem, fork=True))
        told = f"session {before.id[:8]} stays as it is; you go on in a fork of it, {self._opened().session.id[:8]}"
        return f"{told}; {self.rename(name)}" if name else told

    def rename(self, name: str) -> str:
        name = " ".join(name.split())[:LONGEST_NAME]
        try:
            self._kept("have a name").named(name)
        except OSError as error:
            raise NotDone(f"the name can't be written: {error.strerror}") from error
        return f"it is called {name} from now on" if name else "it has no name any more"

    def export(self, kind: str, place: str) -> str:
        transcript = self._kept("be exported")
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
    from ogcode.tui.retelling import Told, as_markdown, as_object, turns_of

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
            from ogcode.tui.page import as_page

            return as_page(path.stem, turns, lambda text: scrub(text, known), steps=steps)
    return scrub(as_markdown(path.stem, turns, steps=steps), known) + "\n"


def list_sessions(here: Here) -> Iterator[SessionLine]:
    """Tell the sessions of this place, the most recently active first; of their files only what names them."""
    top = str(here.root.top).encode("utf-8", "replace").decode()
    for path in own_sessions(here.root.sessions, here.seal):
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


def _row(line: bytes) -> Mapping[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
