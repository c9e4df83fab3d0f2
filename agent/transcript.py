"""The transcript of a session: append-only lines, for display, resuming and the exact words; never sent as history."""

import contextlib
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from ogcode.agent.events import Answered, Event, Progress, Steered, SummedUp, ToolFinished, ToolStarted
from ogcode.agent.facts.standing import Standing
from ogcode.agent.files.durable import append_line
from ogcode.agent.prompt import Previous
from ogcode.agent.rights.seal import Seal
from ogcode.agent.turn import ToolCall, Turn, Usage
from ogcode.agent.version import VERSION


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A turn that a kill left open."""

    number: int
    started: datetime
    model: str
    window: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class Past:
    """What a transcript tells of its session."""

    session_id: str
    top: str
    turns: int
    previous: Previous | None
    history_tokens: int
    """Tokens of all its turns' own messages, tool results included."""
    usage: Usage
    """Of all its turns, recalls included."""
    last_note: str
    open_turn: Unfinished | None
    said: tuple[tuple[str, str], ...]
    """Requests and answers, oldest first."""
    parents: Mapping[str, int]
    """The sessions it was forked from and the last turn of each that belongs to it."""
    torn: int
    """Lines that could not be read."""
    standing: Standing = Standing()  # noqa: RUF009  # frozen
    """What the user said for the rest of it."""
    numbers: tuple[int, ...] = ()
    """Of the turns that were `said`."""
    rewound: frozenset[int] = frozenset()
    """The turns that were taken out of the conversation: only `turns`, `usage` and `last_note` still count them."""
    beside: str = ""
    """What the model is to be told with the next message."""
    name: str = ""
    """That the user gave it."""


class Transcript:
    """Appends to one session's file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def begin(
        cls,
        sessions: Path,
        session_id: str,
        *,
        top: Path,
        seal: Seal,
        now: datetime,
        parents: Mapping[str, int],
        branch: str = "",
    ) -> "Transcript":
        """Start a session's file; `branch` is what is checked out as it begins.

        Raises:
            OSError: it can't be written.
        """
        transcript = cls(sessions / f"{session_id}.jsonl")
        transcript._append(
            {
                "type": "session",
                "session_id": session_id,
                "version": VERSION,
                "created_at": now.isoformat(timespec="seconds"),
                "top": _kept(top),
                "branch": branch,
                "parents": dict(parents),
                "seal": seal.sign(session_id.encode()),
            }
        )
        return transcript

    def turn_started(self, number: int, request: str, started: datetime, model: str, window: int) -> None:
        self._append(
            {
                "type": "turn_started",
                "turn": number,
                "request": request,
                "started_at": started.isoformat(),
                "model": model,
                "window": window,
            }
        )

    def add(self, event: Event) -> None:
        """Record what is worth keeping of an event: a call before it runs, its result after."""
        match event:
            case Answered(text, calls, usage):
                told = [asdict(call) for call in calls]
                self._append({"type": "answered", "text": text, "calls": told, "usage": asdict(usage)})
            case Steered(text):
                self._append({"type": "steered", "text": text})
            case SummedUp(text, usage):
                self._append({"type": "summed_up", "text": text, "usage": asdict(usage)})
            case ToolStarted(call):
                self._append({"type": "tool_started", **asdict(call)})
            case ToolFinished(call, output, failed):
                self._append({"type": "tool_finished", **asdict(call), "output": output, "failed": failed})

    def stands(self, standing: Standing) -> None:
        """Record what holds from now on."""
        self._append({"type": "standing", "lines": standing.lines})

    def named(self, name: str) -> None:
        """Record what the session is called from now on."""
        self._append({"type": "named", "name": name}, sync=True)

    def rewound(self, turns: Sequence[int], *, back: bool) -> None:
        """Take turns out of the conversation, or bring them `back`; durable when this returns."""
        self._append({"type": "rewound", "turns": list(turns), "back": back}, sync=True)

    def put_back(self, told: str) -> None:
        """Record what became of files between the turns, in the words in which the model is told."""
        self._append({"type": "put_back", "told": told})

    def turn_finished(self, turn: Turn, previous: Previous, own_tokens: int) -> None:
        """Close a turn; durable when this returns."""
        self._append(
            {
                "type": "turn_finished",
                "turn": previous.turn,
                "answer": previous.answer,
                "outcome": turn.outcome,
                "cause": turn.cause,
                "reason": turn.reason,
                "note": previous.note,
                "empty": turn.empty,
                "changed": previous.changed,
                "own_tokens": own_tokens,
                "usage": asdict(turn.usage),
            },
            sync=True,
        )

    def _append(self, row: Mapping[str, object], *, sync: bool = False) -> None:
        append_line(self.path, json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"), sync=sync)


def rows(path: Path) -> Iterator[Mapping[str, object] | None]:
    """Yield the lines of a transcript; None for one that can't be read.

    Raises:
        OSError: the file can't be read.
    """
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        yield row if isinstance(row, dict) else None


def is_own(path: Path, seal: Seal) -> bool:
    """Tell whether this user's ogcode began the transcript: a repository can ship one."""
    if any(place.is_symlink() for place in (path, path.parent, path.parent.parent)) or not path.is_file():
        return False  # of another folder's sessions; and opening a pipe would wait for ever
    with contextlib.suppress(OSError, ValueError, RecursionError, AttributeError), path.open("rb") as file:
        head = json.loads(file.readline(100_000))
        return str(head.get("session_id")) == path.stem and seal.knows(path.stem.encode(), str(head.get("seal", "")))
    return False


def recollect(path: Path) -> Past:
    """Read a session's past; a line that was torn costs itself alone.

    Raises:
        OSError: the file can't be read.
    """
    return retold(path.stem, rows(path))


def retold(session_id: str, lines: Iterable[Mapping[str, object] | None]) -> Past:
    """Put a session's past together from the lines of its transcript, or the first of them."""
    top, torn, parents = "", 0, dict[str, int]()
    turns, spent, last_note, beside, called = 0, Usage(), "", "", ""
    ended, tokens, rewound = dict[int, Previous](), dict[int, int](), set[int]()
    open_turn: Unfinished | None = None
    said = dict[int, tuple[str, str]]()
    standings = {0: Standing()}
    for row in lines:
        try:
            match row:
                case None:
                    torn += 1
                case {"type": "session"}:
                    top = str(row.get("top", ""))
                    inherited = row.get("parents")
                    parents = (
                        {str(key): int(value) for key, value in inherited.items()}
                        if isinstance(inherited, dict)
                        else {}
                    )
                case {"type": "standing", "lines": lines_kept}:
                    standings[turns] = Standing.of(lines_kept)
                case {"type": "rewound", "turns": list(taken), "back": bool(back)}:
                    (rewound.difference_update if back else rewound.update)(map(int, taken))
                case {"type": "named", "name": str(given_name)}:
                    called = given_name
                case {"type": "put_back", "told": str(told)}:
                    beside = f"{beside}\n{told}".strip()
                case {"type": "turn_started", "turn": int(turns), "request": str(request), "started_at": str(started)}:
                    window, beside = row.get("window"), ""
                    open_turn = Unfinished(
                        turns,
                        datetime.fromisoformat(started).astimezone(UTC),
                        str(row.get("model", "")),
                        window if isinstance(window, int) else 8192,
                        Progress(request),
                    )
                case {"type": "answered", "text": str(text), "usage": dict(usage)} if open_turn:
                    open_turn.progress.add(Answered(text, (), Usage(**usage)))
                case {"type": "summed_up", "text": str(text), "usage": dict(usage)} if open_turn:
                    open_turn.progress.add(SummedUp(text, Usage(**usage)))
                case {"type": "steered", "text": str(text)} if open_turn:
                    open_turn.progress.add(Steered(text))
                case {"type": "tool_started", "id": str(call), "name": str(name), "arguments": str(given)} if open_turn:
                    open_turn.progress.add(ToolStarted(ToolCall(call, name, given)))
                case {"type": "tool_finished", "id": str(call), "name": str(name), "arguments": str(given)} if (
                    open_turn
                ):
                    failed = row.get("failed") is True
                    open_turn.progress.add(
                        ToolFinished(ToolCall(call, name, given), str(row.get("output", "")), failed)
                    )
                case {"type": "turn_finished", "answer": str(answer), "outcome": str(outcome)}:
                    changed = row.get("changed")
                    named = tuple(map(str, changed)) if isinstance(changed, list) else ()
                    note = str(row.get("note", ""))
                    if row.get("empty") is not True:
                        ended[turns] = Previous(turns, answer, outcome, note, named)
                    last_note = note or last_note
                    own = row.get("own_tokens")
                    tokens[turns] = own if isinstance(own, int) else 0
                    said[turns] = (open_turn.progress.turn("done").words if open_turn else "", answer)
                    open_turn = None
                    used = row.get("usage")
                    spent += Usage(**used) if isinstance(used, dict) else Usage()
        except (TypeError, ValueError):
            torn += 1
    numbers = tuple(number for number in said if number not in rewound)
    return Past(
        session_id,
        top,
        turns,
        next((ended[number] for number in reversed(ended) if number not in rewound), None),
        sum(own for number, own in tokens.items() if number not in rewound),
        spent,
        last_note,
        open_turn,
        tuple(said[number] for number in numbers),
        parents,
        torn,
        next((standings[number] for number in reversed(standings) if number not in rewound), Standing()),
        numbers,
        frozenset(rewound),
        beside,
        called,
    )


def own_sessions(sessions: Path, seal: Seal) -> Iterator[Path]:
    """Yield the transcripts that this user's ogcode began, the most recently active first."""
    found = list[tuple[int, Path]]()
    with contextlib.suppress(OSError):
        for entry in os.scandir(sessions):
            if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    found.append((entry.stat().st_mtime_ns, Path(entry.path)))
    yield from (path for _, path in sorted(found, reverse=True) if is_own(path, seal))


def latest(sessions: Path, top: Path, seal: Seal) -> Path | None:
    """Find the most recently active session of this checkout, among the user's own; one without a turn was none."""
    for path in own_sessions(sessions, seal):
        with contextlib.suppress(OSError):
            head, *turns = itertools.islice(rows(path), 2)
            if head and turns and head.get("top") == _kept(top):
                return path
    return None


def _kept(top: Path) -> str:
    """Give a folder's name as a transcript can hold it."""
    return str(top).encode("utf-8", "replace").decode()
