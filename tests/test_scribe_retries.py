"""What becomes of a note when its model is away, refuses or never answers."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from remembered import GOOD, START, a_job, a_memory, note_files, notes, scribe, spent, spool, waiting

from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.job import NEVER, Job
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.memory.notes import parse_note
from ogcode.agent.memory.spool import add_job, drop_job, is_ours, jobs, prepare_store, put_back
from ogcode.agent.memory.trash import forget
from ogcode.agent.model import (
    Broken,
    ContextOverflow,
    Delta,
    Options,
    Overloaded,
    RateLimited,
    Refused,
    Text,
    ToolSpec,
    Unauthorized,
)
from ogcode.agent.models.patient import Patient
from ogcode.agent.models.scripted import Reply, ScriptedModel
from ogcode.agent.turn import Message
from ogcode.scribe.compose import compose
from ogcode.scribe.drain import Drain
from ogcode.scribe.validate import NoteRefused


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return a_memory(tmp_path)


@dataclass
class Endpoint:
    """Writes every note while it is up; tells which turns it was asked for, and how many at once at most."""

    memory: Memory
    down: Exception | None = None
    asked: list[int] = field(default_factory=list)
    now: datetime = START
    busy: int = 0
    most: int = 0
    log: list[str] = field(default_factory=list)

    async def compose(self, job: Job) -> str:
        self.asked.append(job.turn)
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(0)
        self.busy -= 1
        if self.down:
            raise self.down
        return f'---\nscribe: "it"\n---\n{GOOD}'

    def drain(self, *, trusted: bool = False) -> Drain:
        return Drain(self.memory, self.compose, trusted=trusted, log=self.log.append, now=lambda: self.now)

    async def asked_for(self, *, later: float = 0) -> list[int]:
        """Drain once, so many seconds later; give the turns that were asked for."""
        self.now += timedelta(seconds=later)
        before = len(self.asked)
        await self.drain().run()
        return self.asked[before:]


def kept(memory: Memory) -> list[Job]:
    return [job for _, job, _ in jobs(memory.root.store) if isinstance(job, Job)]


def scribes(memory: Memory) -> list[str]:
    return [parse_note(path.name, path.read_bytes()).scribe for path in note_files(memory)]


async def test_with_its_endpoint_away_every_turn_has_a_note_at_once_and_a_better_one_in_order_later(
    memory: Memory,
) -> None:
    endpoint = Endpoint(memory, down=Broken("nothing listens"))
    spool(memory, *map(a_job, range(8)))
    assert await endpoint.drain().run() == 8
    assert scribes(memory) == ["extract"] * 8
    assert endpoint.asked == [0]
    endpoint.down = None
    assert await endpoint.asked_for(later=30) == list(range(8))
    assert scribes(memory) == ["it"] * 8
    assert (endpoint.most, waiting(memory)) == (1, [])


async def test_a_new_turn_asks_for_itself_alone_while_the_endpoint_is_away(memory: Memory) -> None:
    endpoint = Endpoint(memory, down=Overloaded("busy"))
    for number in range(4):
        spool(memory, a_job(number))
        assert await endpoint.asked_for(later=5) == [number]


async def test_a_new_turn_that_succeeds_brings_the_others_though_they_are_not_due(memory: Memory) -> None:
    endpoint = Endpoint(memory, down=Broken("away"))
    spool(memory, a_job(1), a_job(2))
    await endpoint.drain().run()
    spool(memory, a_job(3))
    endpoint.down = None
    assert await endpoint.asked_for(later=1) == [3, 1, 2]


async def test_an_endpoint_that_stays_away_is_asked_more_and_more_rarely(memory: Memory) -> None:
    endpoint = Endpoint(memory, down=Broken("away"))
    spool(memory, a_job(1), a_job(2))
    moments = (0, 19, 2, 55, 10, 250, 60, 1700, 200, 7000, 300, 7300)
    assert [await endpoint.asked_for(later=seconds) for seconds in moments] == [[1], []] + [[1], []] * 4 + [[1], [1]]


async def test_a_server_that_asks_for_an_hour_gets_it(memory: Memory) -> None:
    endpoint = Endpoint(memory, down=RateLimited("too many", 3_600))
    spool(memory, a_job(1))
    assert [await endpoint.asked_for(later=seconds) for seconds in (0, 3_500, 200)] == [[1], [], [1]]


async def test_a_model_that_refuses_one_turn_again_and_again_is_asked_five_times(memory: Memory) -> None:
    endpoint = Endpoint(memory, down=NoteRefused("no title"))
    spool(memory, a_job(1))
    assert [await endpoint.asked_for(later=90_000) for _ in range(7)] == [[1]] * 5 + [[]] * 2
    (job,) = kept(memory)
    assert (job.tries, job.due_at, job.refused) == (5, NEVER, True)
    assert job.failure == "scripted/test made no note of it: no title"
    assert job.tried_at == (START + timedelta(seconds=5 * 90_000)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("refusal", [NoteRefused("no"), Refused("no"), ContextOverflow("too long")])
async def test_a_turn_that_was_refused_is_not_asked_for_only_because_another_succeeds(
    memory: Memory, refusal: Exception
) -> None:
    endpoint = Endpoint(memory, down=refusal)
    spool(memory, a_job(1))
    await endpoint.drain().run()
    endpoint.down = None
    spool(memory, a_job(2))
    assert await endpoint.asked_for(later=1) == [2]
    assert await endpoint.asked_for(later=20) == [1]


async def test_a_wrong_key_is_tried_once_in_a_drain_and_its_mending_brings_all(memory: Memory) -> None:
    endpoint = Endpoint(memory, down=Unauthorized("no key"))
    spool(memory, a_job(1), a_job(2))
    assert await endpoint.asked_for() == [1]
    assert {job.failure for job in kept(memory)} == {"no key"}
    endpoint.down = None
    assert await endpoint.asked_for(later=20) == [1, 2]


async def test_a_model_that_is_away_keeps_no_other_from_writing(memory: Memory) -> None:
    spool(memory, a_job(1), replace(a_job(2), model="other/model"))

    async def compose(job: Job) -> str:
        if job.model != "other/model":
            raise Broken("away")
        return f'---\nscribe: "it"\n---\n{GOOD}'

    await Drain(memory, compose, trusted=False, log=list[str]().append, now=lambda: START).run()
    assert scribes(memory) == ["extract", "it"]


async def test_an_endpoint_that_takes_a_request_and_never_answers_is_given_up(memory: Memory) -> None:
    async def silent(job: Job) -> str:
        await asyncio.Event().wait()
        return GOOD

    spool(memory, a_job(1), a_job(2))
    drain = Drain(memory, silent, trusted=False, log=list[str]().append, now=lambda: START, seconds=0)
    assert await drain.run() == 2
    assert {job.failure for job in kept(memory)} == {"scripted/test took longer than 0 s"}


class Silent(ScriptedModel):
    """Takes a request and never says a word."""

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
    ) -> AsyncGenerator[Delta]:
        await asyncio.Event().wait()
        yield Text("")


async def test_a_model_that_says_nothing_is_given_up_after_a_while_and_that_is_why() -> None:
    with pytest.raises(Broken, match="scripted/test said nothing for 0 s"):
        await compose(a_job(), Silent(), spent, mark="5f3c9a11", silence=0)


async def test_a_turn_that_ends_while_a_model_is_silent_waits_for_no_silence_of_its_own(memory: Memory) -> None:
    asked = list[int]()

    async def silent(job: Job) -> str:
        asked.append(job.turn)
        spool(memory, a_job(job.turn + 1))
        raise Broken("it said nothing")

    spool(memory, a_job(1))
    assert await Drain(memory, silent, trusted=False, log=list[str]().append, now=lambda: START).run() == 2
    assert (asked, scribes(memory)) == ([1], ["extract"] * 2)


async def test_a_turn_that_ends_while_notes_are_bettered_gets_its_own_before_the_next_of_them(memory: Memory) -> None:
    spool(memory, a_job(1), a_job(2))
    await Endpoint(memory, down=Broken("away")).drain().run()
    asked = list[int]()

    async def compose(job: Job) -> str:
        asked.append(job.turn)
        if job.turn == 1:
            spool(memory, a_job(3))
        return f'---\nscribe: "it"\n---\n{GOOD}'

    later = START + timedelta(hours=1)
    await Drain(memory, compose, trusted=False, log=list[str]().append, now=lambda: later).run()
    assert (asked, waiting(memory)) == ([1, 3, 2], [])


@pytest.mark.parametrize(
    "replies", [(Broken, Broken, "no note", GOOD), (Broken, Broken, Broken, GOOD), (Broken, "no note", "none", GOOD)]
)
async def test_a_model_is_asked_three_times_for_a_note_whatever_goes_wrong(replies: tuple[Reply, ...]) -> None:
    async def sleep(seconds: float) -> None:
        """Go on at once."""

    model = ScriptedModel(*replies)
    with pytest.raises((Broken, NoteRefused)):
        await compose(a_job(), Patient(model, attempts=3, sleep=sleep), spent, mark="5f3c9a11")
    assert len(model.asked) == 3


async def test_turns_that_have_waited_for_long_have_notes_at_once_and_better_ones_after_that(memory: Memory) -> None:
    for job in spool(memory, a_job(1), a_job(2)):
        os.utime(memory.root.spool / f"{job.id}.json", (0, 0))
    there = list[list[str]]()

    async def compose(job: Job) -> str:
        there.append(scribes(memory))
        return f'---\nscribe: "it"\n---\n{GOOD}'

    await Drain(memory, compose, trusted=False, log=list[str]().append, now=lambda: START).run()
    assert there == [["extract", "extract"], ["it", "extract"]]
    assert (scribes(memory), waiting(memory)) == (["it", "it"], [])


async def test_a_turn_that_trips_the_scribe_up_keeps_no_other_from_its_note(memory: Memory) -> None:
    spool(memory, a_job(1), a_job(2))

    async def compose(job: Job) -> str:
        if job.turn == 1:
            raise KeyError("odd")
        return f'---\nscribe: "it"\n---\n{GOOD}'

    await Drain(memory, compose, trusted=False, log=list[str]().append, now=lambda: START).run()
    assert scribes(memory) == ["extract", "it"]
    assert [job.failure for job in kept(memory)] == ["KeyError: 'odd'"]


async def test_after_a_crash_between_note_and_job_the_note_is_bettered_once_the_model_is_back(memory: Memory) -> None:
    endpoint = Endpoint(memory, down=Broken("away"))
    (job,) = spool(memory, a_job(1))
    await endpoint.drain().run()
    put_back(memory.root.store, job, memory.seal)  # what a crash before the end of the job leaves
    assert await endpoint.asked_for(later=1) == [1]
    assert [each.upgrade for each in kept(memory)] == [True]
    endpoint.down = None
    assert await endpoint.asked_for(later=60) == [1]
    assert (scribes(memory), waiting(memory)) == (["it"], [])


async def meanwhile(memory: Memory, do: Callable[[Path], object]) -> None:
    """Do something to the note of a turn while a model writes a better one."""
    spool(memory, a_job(1))
    await Endpoint(memory, down=Broken("away")).drain().run()

    async def compose(job: Job) -> str:
        do(note_files(memory)[0])
        return f'---\nscribe: "it"\n---\n{GOOD}'

    later = START + timedelta(hours=1)
    await Drain(memory, compose, trusted=False, log=list[str]().append, now=lambda: later).run()


async def test_a_note_that_goes_while_a_better_one_is_written_does_not_come_back(memory: Memory) -> None:
    await meanwhile(memory, Path.unlink)
    assert (note_files(memory), waiting(memory)) == ([], [])


async def test_a_note_that_is_moved_while_a_better_one_is_written_is_bettered_where_it_is(memory: Memory) -> None:
    await meanwhile(memory, lambda path: path.rename(path.with_name(f"{path.stem}-moved.md")))
    assert scribes(memory) == ["it"]


async def test_a_note_that_is_edited_while_a_better_one_is_written_stays_so(memory: Memory) -> None:
    await meanwhile(memory, lambda path: path.write_text("# Mine\n"))
    assert note_files(memory)[0].read_text() == "# Mine\n"


async def test_a_turn_that_is_forgotten_while_its_note_is_written_gets_none(memory: Memory) -> None:
    (job,) = spool(memory, a_job(1))

    async def compose(asked: Job) -> str:
        forget(memory.root.store, [(job.id, f"spool/{job.id}.json")], START)
        return f'---\nscribe: "it"\n---\n{GOOD}'

    assert await Drain(memory, compose, trusted=False, log=list[str]().append, now=lambda: START).run() == 0
    assert (note_files(memory), waiting(memory)) == ([], [])


class Forgetting(Manifest):
    """Somebody forgets the note at the last moment: it is claimed, and not there yet."""

    store = Path()

    def add(self, note: str, content: bytes) -> None:
        super().add(note, content)
        kept = [path.relative_to(self.store).as_posix() for path in (self.store / "memory").glob(f"{note}--*.md")]
        forget(self.store, [(note, kept[0] if kept else f"spool/{note}.json")], START)


@pytest.mark.parametrize("bettered", [False, True])
async def test_a_turn_that_is_forgotten_just_before_its_note_gets_its_name_has_none(
    memory: Memory, bettered: bool
) -> None:
    spool(memory, a_job(1))
    endpoint = Endpoint(memory, down=Broken("away"))
    if bettered:
        await endpoint.drain().run()
    manifest = Forgetting(memory.home, memory.root.path)
    manifest.store = memory.root.store
    endpoint.memory, endpoint.down = replace(memory, manifest=manifest), None
    endpoint.now += timedelta(hours=1)
    assert await endpoint.drain().run() == 0
    assert (note_files(memory), waiting(memory)) == ([], [])


async def test_a_forgotten_turn_that_is_in_the_spool_again_is_not_even_asked_for(memory: Memory) -> None:
    (job,) = spool(memory, a_job(1))
    forget(memory.root.store, [(job.id, f"spool/{job.id}.json")], START)
    put_back(memory.root.store, job, memory.seal)
    endpoint = Endpoint(memory)
    assert await endpoint.asked_for() == []
    assert (note_files(memory), waiting(memory)) == ([], [])


async def test_what_others_spooled_never_chooses_a_model_even_where_the_folder_is_trusted(
    memory: Memory, tmp_path: Path
) -> None:
    stranger = Memory.of(memory.root, tmp_path / "their-home")
    add_job(memory.root.store, replace(a_job(1), model="openai/theirs"), stranger.seal)
    endpoint = Endpoint(memory)
    assert await endpoint.drain(trusted=True).run() == 1
    assert (endpoint.asked, scribes(memory), waiting(memory)) == ([], ["extract"], [])


async def test_what_others_spooled_changes_no_note_of_ours(memory: Memory, tmp_path: Path) -> None:
    (job,) = spool(memory, a_job(1))
    endpoint = Endpoint(memory, down=Broken("away"))
    await endpoint.drain().run()
    before = note_files(memory)[0].read_bytes()
    theirs = replace(job, upgrade=True, request="FORGED")
    put_back(memory.root.store, theirs, Memory.of(memory.root, tmp_path / "their-home").seal)
    endpoint.down = None
    endpoint.asked.clear()
    await endpoint.drain(trusted=True).run()
    assert (endpoint.asked, note_files(memory)[0].read_bytes(), waiting(memory)) == ([], before, [])


def test_a_turn_that_an_earlier_version_spooled_is_still_ours(memory: Memory) -> None:
    later = ("failure", "tried_at", "due_at", "refused")
    prepare_store(memory.root.store)
    job = replace(a_job(), id="2026-09-12T091512Z--3f8c21aa")
    told = {name: value for name, value in json.loads(job.to_json()).items() if name not in later}
    inner = json.dumps(told, ensure_ascii=False, indent=1)
    seal = memory.seal.sign(inner.encode())
    (memory.root.spool / f"{job.id}.json").write_text(f'{{"job": {inner}, "seal": "{seal}"}}\n')
    ((_, found, mark),) = jobs(memory.root.store)
    assert isinstance(found, Job)
    assert is_ours(found, mark, memory.seal)


@pytest.mark.parametrize("name", ["failure", "tried_at", "due_at"])
def test_a_job_whose_state_is_no_text_is_reported_not_believed(memory: Memory, name: str) -> None:
    (job,) = spool(memory, a_job())
    path = memory.root.spool / f"{job.id}.json"
    outer = json.loads(path.read_text())
    outer["job"][name] = 7
    path.write_text(json.dumps(outer))
    assert kept(memory) == []
    drop_job(memory.root.store, job)


async def paused(*replies: Reply, longest: float) -> list[float]:
    """Ask a patient model three times at most; give how long it waited in between."""
    pauses = list[float]()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    model = Patient(ScriptedModel(*replies), attempts=3, longest=longest, sleep=sleep, random=lambda: 0.5)
    async for _ in model.stream([Message("user", "go")], (), options=Options()):
        pass
    return pauses


async def test_a_server_is_waited_for_as_it_asks() -> None:
    assert await paused(RateLimited("busy", 7), Overloaded("busy"), "done", longest=10) == [7, 2]


async def test_a_server_that_asks_for_longer_is_given_up_at_once() -> None:
    with pytest.raises(RateLimited, match="asks to wait"):
        await paused(RateLimited("busy", 11), longest=10)


async def test_with_a_real_composer_a_failing_model_leaves_the_reason_in_the_job(memory: Memory) -> None:
    spool(memory, a_job())
    await scribe(memory, ScriptedModel(Unauthorized), now=START).run()
    (job,) = kept(memory)
    assert (job.upgrade, job.tries, job.failure) == (True, 1, "scripted/test: the script says Unauthorized")
    assert (job.tried_at, job.due_at) == ("2026-09-12T09:14:12Z", "2026-09-12T09:14:32Z")
    assert [entry.scribe for entry in notes(memory).entries()] == ["extract"]


async def test_a_note_of_somebody_else_with_the_id_of_a_waiting_turn_does_not_take_its_place(memory: Memory) -> None:
    (job,) = spool(memory, a_job(1))
    (memory.root.memory / f"{job.id}--theirs.md").write_text("# Theirs\n\nscribe: extract\n")
    endpoint = Endpoint(memory)
    assert await endpoint.asked_for() == [1]
    assert [path.name for path in note_files(memory)] == [f"{job.id}--dispatch-retry-fix.md", f"{job.id}--theirs.md"]
    assert waiting(memory) == []
