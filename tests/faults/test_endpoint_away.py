"""F16: the model's endpoint is away for six hours, and comes back."""

import re
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from faulty import faults
from remembered import GOOD, START, a_job, a_memory, note_files, notes, scribe, spool, waiting

from ogcode.agent.model import Broken, Delta, Finished, Options, Text, ToolSpec
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.turn import Message, Usage


class Endpoint(ScriptedModel):
    """Is away until it is told to come back; knows what it was asked, and how much of that at once."""

    def __init__(self) -> None:
        super().__init__()
        self.away = True
        self.numbers: list[int] = []
        self.at_once = 0
        self.most_at_once = 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            told = re.search(r"dispatch number (\d+)", messages[-1].content)
            self.numbers.append(int(told[1]) if told else 0)
            if self.away:
                raise Broken("nobody answers")
            yield Text(GOOD)
            yield Finished("stop", Usage())
        finally:
            self.at_once -= 1


@pytest.mark.parametrize("turns", [20, pytest.param(200, marks=pytest.mark.torture)])
async def test_turns_have_notes_at_once_while_the_model_is_away_and_better_ones_in_order_afterwards(
    fast: Path, turns: int
) -> None:
    memory, endpoint = a_memory(fast), Endpoint()

    async def drained(now: datetime) -> None:
        await scribe(memory, endpoint, now=now).run()

    jobs = list[str]()
    for number in range(turns):
        jobs += [job.id for job in spool(memory, a_job(number))]
        await drained(START + timedelta(hours=6) * number / turns)
        assert len(note_files(memory)) == number + 1
    assert {entry.scribe for entry in notes(memory, trusted=False).entries()} == {"extract"}
    asked = len(endpoint.numbers)
    assert asked <= 3 * turns  # a turn asks for its own note, not for all that wait
    endpoint.away = False
    jobs += [job.id for job in spool(memory, a_job(turns))]
    await drained(START + timedelta(hours=6))
    while waiting(memory):
        before = waiting(memory)
        await drained(START + timedelta(days=1))
        assert waiting(memory) != before
    assert {entry.scribe for entry in notes(memory, trusted=False).entries()} == {"scripted/test"}
    bettered = [number for number in endpoint.numbers[asked:] if number != turns]
    assert bettered == [*range(turns)]
    assert endpoint.most_at_once == 1
    assert faults(memory, jobs) == []
