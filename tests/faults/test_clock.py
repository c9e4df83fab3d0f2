"""F12: clocks that jump, stand still, or are wrong by decades."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from remembered import GOOD, START, a_memory, note_files, notes, scribe, waiting

from ogcode.agent.events import ignore
from ogcode.agent.index.cache import Memory
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around
from ogcode.tui.wiring import open_session

MOMENTS = (
    START,
    START - timedelta(days=1),
    START + timedelta(days=1),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2038, 1, 19, 3, 14, 7, tzinfo=UTC),
    datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
    datetime(2026, 10, 25, 0, 59, 59, tzinfo=UTC),  # when summer time ends in Europe
)
TURNS = 5


class Clock:
    """Shows what it is told to, one moment a turn however often it is looked at."""

    def __init__(self, moments: Sequence[datetime]) -> None:
        self.moments = iter(moments)
        self.now = START

    def turn(self) -> None:
        self.now = next(self.moments)

    def __call__(self) -> datetime:
        return self.now


def schedules() -> Iterator[list[datetime]]:
    yield [START] * TURNS
    yield [START - timedelta(seconds=number) for number in range(TURNS)]
    chance = random.Random(12)
    while True:
        yield [chance.choice(MOMENTS) + timedelta(seconds=chance.choice((0, 0, 1, -1))) for _ in range(TURNS)]


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


async def told(folder: Path, moments: Sequence[datetime]) -> Memory:
    """Have a conversation by such a clock, ended and gone on with in the middle."""
    memory, clock = a_memory(folder), Clock(moments)
    environ = {"HOME": str(folder), "OGCODE_HOME": str(memory.home), "PATH": "/usr/bin:/bin"}
    here: Here = look_around(memory.root.path, environ, clock, trust=True)
    answers = [f"Answer {number}: " + "at length " * 100 for number in range(len(moments))]
    for half in (range(TURNS // 2), range(TURNS // 2, TURNS)):
        clock.now = moments[half[0]]
        opened = open_session(here, ScriptedModel(*answers[half[0] :]), Choice(latest=half[0] > 0), memory="on")
        for number in half:
            clock.turn()
            await opened.session.ask(f"Question {number}", emit=ignore, approve=yes, limits=Limits())
        opened.close()
    return memory


@pytest.mark.parametrize(
    "numbers",
    [range(12), pytest.param(range(12, 62), marks=pytest.mark.torture)],
    ids=["some", "fifty"],
)
async def test_whatever_the_clock_shows_turns_keep_their_order_and_names_of_their_own(
    fast: Path, numbers: range
) -> None:
    moments = schedules()
    for number in range(numbers.stop):
        schedule = next(moments)
        if number not in numbers:
            continue
        memory = await told(fast / str(number), schedule)
        before = notes(memory, trusted=False).entries()
        await scribe(memory, ScriptedModel(*[GOOD] * TURNS)).run()
        assert waiting(memory) == [], schedule
        entries = notes(memory, trusted=False).entries()
        assert [entry.turn for entry in before] == [*range(TURNS, 0, -1)], schedule
        assert [entry.turn for entry in entries] == [*range(TURNS, 0, -1)], schedule
        assert [path.name for path in note_files(memory)] == [entry.name for entry in entries[::-1]], schedule
