"""What a headless run says on stderr: lines, one line that is kept up to date on a terminal, or errors alone."""

import asyncio
import contextlib
import os
import re
import time
import unicodedata
from dataclasses import dataclass
from typing import Protocol, TextIO

from ogcode.agent.clean import clean
from ogcode.agent.events import (
    Answered,
    Event,
    Nested,
    Retrying,
    SummedUp,
    ToolFinished,
    ToolStarted,
    Waiting,
    Warned,
)
from ogcode.agent.turn import ToolCall, Usage
from ogcode.tui.calls import LONGEST, subject

RECALLS = ("memory_recall", "project_memory_recall")

_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_SHOWN = 5
"""Lines of a tool's output that are shown where it is asked for."""


@dataclass(frozen=True, slots=True)
class Started:
    session_id: str
    model: str
    mode: str
    tools: tuple[str, ...]


class Progress(Protocol):
    def begin(self, started: Started) -> None: ...
    def notice(self, text: str) -> None: ...
    def event(self, event: Event) -> None: ...
    def end(self, complaint: str, waiting: str) -> None:
        """Say why a turn was no success, where it was none; `waiting` is the file of one whose note is to come."""

    def close(self) -> None: ...


class Quiet:
    """Errors alone."""

    def __init__(self, stderr: TextIO) -> None:
        self._stderr = stderr

    def begin(self, started: Started) -> None: ...
    def notice(self, text: str) -> None: ...
    def event(self, event: Event) -> None: ...

    def end(self, complaint: str, waiting: str) -> None:  # noqa: ARG002  # of a Progress
        if complaint:
            self._line(f"ogcode: {complaint}")

    def close(self) -> None: ...

    def _line(self, text: str) -> None:
        self._write(f"{clean(text)}\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # nobody reads it: the answer still counts
            self._stderr.write(text)
            self._stderr.flush()


class Lines(Quiet):
    """A line for each step; `more` also says what tools gave and what requests used."""

    def __init__(self, stderr: TextIO, *, more: bool = False) -> None:
        super().__init__(stderr)
        self._more = more

    def begin(self, started: Started) -> None:
        if self._more:
            self._line(_about(started))

    def notice(self, text: str) -> None:
        self._line(f"ogcode: {text}")

    def event(self, event: Event) -> None:
        match event:
            case ToolStarted(call):
                self._line(f"· {self._told(call)}")
            case ToolFinished(call, output, True):
                self._line(f"  {call.name}: {cut(output.splitlines()[0], LONGEST)}")
            case ToolFinished(call, output) if call.name in RECALLS:
                self._line(f"  from {', '.join(dict.fromkeys(_LINK.findall(output))) or 'no note'}")
            case Nested(name, ToolStarted(call)):
                self._line(f"  {name}: {self._told(call)}")
            case Retrying():
                self._line(f"  {event.words}")
            case Waiting(reason):
                self._line(f"  {reason}")
            case SummedUp(text) if text:
                self._line("  summed up the turn so far, to make room")
            case Warned(text):
                self._line(f"ogcode: {text}")
        if self._more:
            self._add(event)

    def end(self, complaint: str, waiting: str) -> None:
        super().end(complaint, waiting)
        if waiting and self._more:
            self._line(f"  the note of this turn is being written: {waiting}; ogcode memory wait")

    def _told(self, call: ToolCall) -> str:
        arguments = " ".join(call.arguments.split()) if self._more else subject(call)
        return f"{call.name} {arguments[:120]}".rstrip()

    def _add(self, event: Event) -> None:
        match event:
            case ToolFinished(_, output, False):
                lines = output.splitlines()
                for line in lines[:_SHOWN]:
                    self._line(f"  | {line[:160]}")
                if len(lines) > _SHOWN:
                    self._line(f"  | and {len(lines) - _SHOWN:,} more lines")
            case Answered(text, calls, usage):
                if text.strip() and calls:
                    self._line(f"  {' '.join(text.split())[:160]}")
                self._line(f"  {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")


class Live(Quiet):
    """One line, written anew in place, that says what is being done; what matters longer stands above it."""

    def __init__(self, stderr: TextIO) -> None:
        super().__init__(stderr)
        self._began = time.monotonic()
        self._session = ""
        self._steps = 0
        self._doing = ""
        self._used = Usage()
        self._timer: asyncio.TimerHandle | None = None
        self._drawn = False

    def begin(self, started: Started) -> None:
        self._session = started.session_id[:8]
        self._above(_about(started))
        self._draw()

    def notice(self, text: str) -> None:
        self._above(f"ogcode: {text}")

    def event(self, event: Event) -> None:
        match event:
            case ToolStarted(call):
                self._steps += 1
                self._doing = f"{call.name} {subject(call)}".rstrip()
            case ToolFinished():
                self._doing = ""
            case Nested(name, ToolStarted(call)):
                self._doing = f"{name}: {call.name} {subject(call)}".rstrip()
            case Answered(_, _, usage) | Nested(_, Answered(_, _, usage)) | SummedUp(_, usage):
                self._used += usage
            case Retrying():
                self._doing = event.words
            case Waiting(reason):
                self._doing = reason
            case Warned(text):
                self._above(f"ogcode: {text}")
            case _:
                return  # text that comes: the next second will show it
        self._draw()

    def end(self, complaint: str, waiting: str) -> None:
        self.close()
        self._line(f"{self._said()} · session {self._session}")
        super().end(complaint, waiting)
        if waiting:
            self._line(f"the note of this turn is being written: {waiting}; ogcode memory wait")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._timer:
            self._timer.cancel()
        self._clear()

    def _said(self) -> str:
        steps = f"{self._steps} step{'' if self._steps == 1 else 's'}"
        seconds = time.monotonic() - self._began
        return " · ".join(part for part in (steps, f"{self._used.tokens:,} tokens", f"{seconds:.0f} s") if part)

    def _draw(self) -> None:
        """Write the line, and again each second."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(1.0, self._draw)
        line = clean(" · ".join(part for part in (self._said(), self._doing) if part))
        self._write(f"\r{cut(line, self._width())}\x1b[K")
        self._drawn = True

    def _above(self, text: str) -> None:
        drawn = self._drawn
        self._clear()
        self._line(text)
        if drawn:
            self._draw()

    def _clear(self) -> None:
        if self._drawn:
            self._write("\r\x1b[K")
            self._drawn = False

    def _width(self) -> int:
        try:
            return max(20, os.get_terminal_size(self._stderr.fileno()).columns - 1)
        except OSError:
            return 79


def cut(text: str, width: int) -> str:
    """Cut a line to a number of cells: some letters take two, some none."""
    cells = room = 0
    for at, letter in enumerate(text):
        cells += 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if cells > width:
            return f"{text[:room]}…"
        if cells < width:
            room = at + 1
    return text


def _about(started: Started) -> str:
    return f"{started.model}, mode {started.mode}, session {started.session_id[:8]}"
