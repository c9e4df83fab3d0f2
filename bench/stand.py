"""The app on a stage, for measurements: a number of earlier turns, and a turn that streams.

    python bench/stand.py EARLIER [TOKENS_A_SECOND [BYTES [FLOOD]]]

Any message starts the turn. With FLOOD a command prints new lines all the time, and a helper inside another call
reports so many things a second.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from stage import STATUS, Play, Stage
from stage_work import StagedWork

from ogcode.agent.events import Answered, Emit, Nested, TextDelta, ToolFinished, ToolStarted
from ogcode.agent.turn import ToolCall, Usage
from ogcode.tui.desks.desk import Ask
from ogcode.tui.screen.launch import run_app

TOKEN = 4
"""Bytes, about."""

PARTS = (
    "## Part {n}\n\nThe loop in `dispatch/retry.go` waits **twice** as long after each failure, up to a minute.\n\n",
    "1. `Send` asks\n2. `Backoff` answers\n3. the queue is told, with [a link](https://example.org/{n})\n\n",
    "```python\ndef backoff(attempt: int) -> float:\n    # doubles, with a cap\n    return min(2**attempt, 60)\n"
    "```\n\n",
    "| file | lines |\n|---|---|\n| retry.go | {n} |\n| queue.go | 7 |\n\n",
    "A longer paragraph says why: the servers behind it answer late when they are busy, and a client that asks again "
    "at once makes that worse for all the others, so that nobody is served at all in the end ({n}).\n\n",
)


class Flooding(StagedWork):
    """A command that prints faster than anybody reads."""

    def printing(self) -> str:
        return "".join(f"{time.monotonic_ns()} y{'y' * 60}\n" for _ in range(200))


def markdown(size: int) -> str:
    text, number = "", 0
    parts = cycle(PARTS)
    while len(text) < size:
        number += 1
        text += next(parts).format(n=number)
    return text[:size]


def earlier(turns: int) -> Iterator[tuple[str, str]]:
    """Turns of twenty lines."""
    for turn in range(turns):
        yield f"request {turn}: make it wait longer", markdown(700).replace("Part 1", f"Turn {turn}")


def streaming(rate: float, size: int, flood: float) -> Play:
    async def play(emit: Emit, approve: Ask) -> None:  # noqa: ARG001  # a play's signature
        text, call = markdown(size), ToolCall("c1", "bash", '{"command": "yes"}')
        asked = ToolCall("c2", "agent", '{"question": "where?"}')
        begun, sent, flooded = time.monotonic(), 0, 0
        if flood:
            emit(ToolStarted(call))
            emit(ToolStarted(asked))
        while sent < len(text):
            await asyncio.sleep(1 / rate)
            due = min(len(text), round((time.monotonic() - begun) * rate) * TOKEN)
            for place in range(sent, due, TOKEN):
                emit(TextDelta(text[place : min(place + TOKEN, due)]))
            sent = max(sent, due)
            while flooded < (time.monotonic() - begun) * flood:
                flooded += 1
                emit(
                    Nested(
                        "agent", ToolStarted(ToolCall(f"n{flooded}", "line", f'{{"command": "{flooded} yyyyyyyy"}}'))
                    )
                )
        if flood:
            emit(ToolFinished(call, "y\n" * 1000))
            emit(ToolFinished(asked, "there"))
        emit(Answered(text, (), Usage(1200, 34)))

    return play


def main() -> None:
    turns, rate, size, flood = (*map(float, sys.argv[1:]), *(0.0,) * 4)[:4]
    plays = [streaming(rate, int(size), flood)] if rate else []
    stage = Stage(plays, state=STATUS, before=list(earlier(int(turns))))
    if flood:
        stage.work = Flooding()
    sys.exit(run_app(stage))


if __name__ == "__main__":
    main()
