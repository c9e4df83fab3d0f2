"""A turn told in words, a line for each thing that happens; what was said is never taken back or written anew."""

import re
from collections.abc import Callable

from ogcode.agent.clean import clean
from ogcode.agent.events import (
    Answered,
    Event,
    Nested,
    ReasoningDelta,
    Retrying,
    Steered,
    SummedUp,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    Waiting,
    Warned,
)
from ogcode.agent.turn import Turn
from ogcode.tui.calls import LONGEST, changed_lines, subject
from ogcode.tui.desks.work import WorkDesk
from ogcode.tui.headless.progress import RECALLS

_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")
_SIGNS = {"+": "added", "-": "removed", " ": "kept"}
_STATES = {"[x] ": "done", "[>] ": "now", "[ ] ": "to do"}


class Telling:
    """Follows turns; `output` is what the last tool gave, word for word."""

    def __init__(self, say: Callable[[str], None], work: WorkDesk) -> None:
        self._say = say
        self._work = work
        self._line = ""
        """Of the answer, as far as it is not said yet."""
        self._spoke = self._thinks = False
        self.output = ""
        self.turn: Turn | None = None
        """The one that ended last."""

    def begin(self) -> None:
        self._line, self._spoke, self._thinks, self.turn = "", False, False, None

    def event(self, event: Event) -> None:
        if isinstance(event, ReasoningDelta):
            if not self._thinks:
                self._say("thinking")
            self._thinks = True
            return
        self._thinks = False
        match event:
            case TextDelta(text):
                *lines, self._line = f"{self._line}{text}".split("\n")
                self._answer(lines)
            case Answered(text):
                self._answer([self._line] if self._spoke or self._line else text.split("\n"))
                self._line, self._spoke = "", False
            case ToolStarted(call):
                self._say(f"tool {one_line(call.name)} started: {subject(call)}".removesuffix(": "))
            case ToolFinished():
                self._finished(event)
            case Nested(name, ToolStarted(call)):
                self._say(f"{one_line(name)} uses {one_line(call.name)}: {subject(call)}".removesuffix(": "))
            case Retrying():
                if self._line or self._spoke:
                    self._say("what was said of this answer is void")
                self._line, self._spoke = "", False
                self._say(event.words)
            case Waiting(reason):
                self._say(f"waiting: {reason}")
            case Steered(text):
                self._say(f"taken up: {text}")
            case SummedUp(text):
                self._say("summed up the turn so far, to make room" if text else "")
            case Warned(text):
                self._say(f"warning: {text}")
            case TurnFinished(turn):
                self._answer([self._line])
                self._line = ""
                self.turn = turn
                self._say(_ending(event))

    def _answer(self, lines: list[str]) -> None:
        for line in lines:
            self._say(line if self._spoke or not line.strip() else f"answer: {line}")
            self._spoke = self._spoke or bool(line.strip())

    def _finished(self, event: ToolFinished) -> None:
        call, name = event.call, one_line(event.call.name)
        difference = "" if event.failed else self._work.difference(call)
        self.output = difference or event.output
        if event.failed:
            first = one_line(event.output.removeprefix("error: ")[: 2 * LONGEST])[:LONGEST]
            self._say(f"tool {name} failed: {first}")
        elif call.name == "todo":
            self._say("the steps:")
            for line in event.output.splitlines():
                self._say(f"{_STATES[line[:4]]}: {line[4:]}" if line[:4] in _STATES else "")
        elif call.name in RECALLS:
            self._say(f"tool {name} done, from {', '.join(dict.fromkeys(_LINK.findall(event.output))) or 'no note'}")
        elif difference.startswith("--- "):
            more, less = changed_lines(difference)
            self._say(f"tool {name} done: {more:,} added, {less:,} removed; /output reads the change")
        else:
            number = len(event.output.splitlines())
            self._say(f"tool {name} done, {number:,} line{'' if number == 1 else 's'}; /output reads them")


def in_words(shown: str) -> list[str]:
    """Tell a unified diff without its signs; anything else as it is."""
    if not shown.startswith("--- "):
        return clean(shown).split("\n")
    lines = list[str]()
    for line in clean(shown).rstrip("\n").split("\n"):
        if line.startswith("--- "):
            continue
        if line.startswith("+++ "):
            lines.append(f"file {line[4:]}")
        elif found := _HUNK.match(line):
            lines.append(f"from line {found[1]}")
        else:
            lines.append(f"{_SIGNS[line[0]]}: {line[1:]}" if line[:1] in _SIGNS else line)
    return lines


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _ending(event: TurnFinished) -> str:
    turn = event.turn
    goes_on = "; /continue goes on" if turn.outcome in ("interrupted", "limit") and not turn.empty else ""
    how = "stopped at a limit" if turn.outcome == "limit" else turn.outcome
    why = f": {turn.reason}" if turn.reason and turn.outcome in ("failed", "limit") else ""
    replay = f", {event.with_replay:,} with replay" if event.with_replay > turn.usage.tokens else ""
    note = f"; its note is {event.note}" if event.note else ""
    return f"{how}{why}{goes_on}; {turn.usage.tokens:,} tokens{replay}{note}"
