import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import Serve
from fake_server import FakeServer, Reply, Say, Stall
from remembered import GOOD, a_job, note_files, spool
from stage_cli import Place, model_of, new_place

from ogcode.agent.files.durable import Lock
from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import jobs
from ogcode.agent.model import Delayed, Delta, Options, Text
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.models.slot import (
    Awaiting,
    SlotTaken,
    Spare,
    all_at_work,
    at_work,
    base_here,
    has_one_slot,
    meeting_place,
)
from ogcode.agent.turn import Message


class Clock:
    """Stands still until it is set; tells how often it was looked at."""

    def __init__(self) -> None:
        self.now = 100.0
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.now

    async def looked_at(self, times: int) -> None:
        await until(lambda: self.looks >= times)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.005)


class Work:
    """What is done with the slot: it goes on until it is told to end."""

    def __init__(self) -> None:
        self.begun = self.cut_off = 0
        self.end = asyncio.Event()

    async def __call__(self) -> str:
        self.begun += 1
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cut_off += 1
            raise
        return "done"


async def at_once() -> str:
    return "done"


def never() -> bool:
    return False


async def test_with_nobody_at_work_it_is_given_at_once(tmp_path: Path) -> None:
    assert await Spare(tmp_path, quiet=0).given(at_once, over=never) == "done"
    assert Lock.take(tmp_path / "model")


async def test_it_is_given_when_nobody_has_worked_for_a_while(tmp_path: Path) -> None:
    clock, work = Clock(), Work()
    work.end.set()
    with at_work(tmp_path):
        given = asyncio.ensure_future(Spare(tmp_path, quiet=20, now=clock).given(work, over=never))
        await clock.looked_at(6)
        clock.now += 100  # a long tool, a slow model: somebody works all the while
        await clock.looked_at(clock.looks + 6)
    clock.now += 19.9
    await clock.looked_at(clock.looks + 6)
    assert not work.begun
    clock.now += 0.1
    assert await given == "done"


async def test_who_begins_to_work_cuts_off_what_can_wait_and_that_begins_anew(tmp_path: Path) -> None:
    work = Work()
    given = asyncio.ensure_future(Spare(tmp_path, quiet=0).given(work, over=never))
    await until(lambda: work.begun)
    with at_work(tmp_path):
        await until(lambda: work.cut_off)
        assert await anext(ask(Awaiting(ScriptedModel("hello"), tmp_path))) == Text("hello")
        assert work.begun == 1
    await until(lambda: work.begun == 2)
    work.end.set()
    assert await given == "done"


async def test_it_is_not_given_while_one_of_several_works(tmp_path: Path) -> None:
    work, looks = Work(), itertools.count()
    with at_work(tmp_path):
        with at_work(tmp_path):
            given = asyncio.ensure_future(Spare(tmp_path, quiet=0).given(work, over=lambda: next(looks) > 5))
        with pytest.raises(SlotTaken):
            await given
    assert not work.begun


async def test_what_fails_by_itself_is_not_tried_again_here(tmp_path: Path) -> None:
    tries = list[int]()

    async def failing() -> str:
        tries.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await Spare(tmp_path, quiet=0).given(failing, over=never)
    assert len(tries) == 1
    assert Lock.take(tmp_path / "model")


async def test_who_is_cancelled_takes_the_work_along(tmp_path: Path) -> None:
    work = Work()
    given = asyncio.ensure_future(Spare(tmp_path, quiet=0).given(work, over=never))
    await until(lambda: work.begun)
    given.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given
    assert work.cut_off == 1
    assert Lock.take(tmp_path / "model")


async def test_the_claim_of_a_dead_process_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "work-1-2-0").write_bytes(b"")
    assert await Spare(tmp_path, quiet=0).given(at_once, over=never) == "done"
    assert not list(tmp_path.glob("work-*"))


async def test_a_link_is_no_claim(tmp_path: Path) -> None:
    (tmp_path / "work-1-2-0").symlink_to(tmp_path / "elsewhere")
    assert await Spare(tmp_path, quiet=0).given(at_once, over=never) == "done"
    assert not (tmp_path / "elsewhere").exists()


def test_work_leaves_nothing_behind_and_makes_no_folder(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    with at_work(tmp_path / "locks"), at_work(tmp_path / "absent"):
        assert len(list((tmp_path / "locks").iterdir())) == 1
    assert list(tmp_path.rglob("*")) == [tmp_path / "locks"]


def test_no_claim_is_made_in_a_folder_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "locks").symlink_to(tmp_path / "theirs")
    with at_work(tmp_path / "locks"):
        assert not list((tmp_path / "theirs").iterdir())


async def test_the_agent_waits_until_the_slot_is_let_go_of_and_says_so_if_that_takes_long(tmp_path: Path) -> None:
    lock = Lock.take(tmp_path / "model")
    assert lock
    stream = ask(Awaiting(ScriptedModel("at last"), tmp_path))
    assert isinstance(await anext(stream), Delayed)
    lock.release()
    assert await anext(stream) == Text("at last")


def ask(model: Awaiting) -> AsyncIterator[Delta]:
    return model.stream((Message("user", "hi"),), (), options=Options())


@pytest.mark.parametrize(
    ("name", "environ", "one"),
    [
        ("ollama/x", {}, True),
        ("ollama/x", {"OLLAMA_HOST": "0.0.0.0"}, True),
        ("ollama/x", {"OLLAMA_NUM_PARALLEL": "4"}, False),
        ("ollama/x", {"OLLAMA_HOST": "https://models.example"}, False),
        ("openai/x", {"OPENAI_API_KEY": "k"}, False),
        ("openai/x", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, True),
        ("openai/x", {"OPENAI_BASE_URL": "https://models.example/v1"}, False),
        ("anthropic/x", {}, False),
        ("scripted/x", {}, False),
    ],
)
async def test_a_server_of_this_machine_has_one_slot(name: str, environ: dict[str, str], one: bool) -> None:
    assert await has_one_slot(name, environ=environ, api_base="") is one


@pytest.mark.parametrize(("slots", "one"), [(1, True), (4, False)])
async def test_llama_cpp_says_how_many_slots_it_has(serve: Serve, slots: int, one: bool) -> None:
    server = serve([Say("")], told={"/props": {"total_slots": slots}})
    assert await has_one_slot("openai/x", environ={}, api_base=server.url) is one


@dataclass
class Waiting:
    """A turn that waits for its note, and a server of one slot that writes notes."""

    place: Place
    server: FakeServer

    def __post_init__(self) -> None:
        self.place.environ |= model_of(self.server)
        self.memory = Memory.of(find_root(self.place.folder, None), self.place.home)
        self.job = replace(a_job(), model="openai/fake")
        (self.spooled,) = spool(self.memory, self.job)

    @property
    def locks(self) -> Path:
        base = base_here("openai/fake", environ=self.place.environ, api_base="")
        return meeting_place(self.place.home, base, otherwise=Path("none"))

    @property
    def asked(self) -> bool:
        """Whether a scribe has found out that the server has one slot."""
        return any(seen.path == "/props" for seen in self.server.seen)

    def start(self) -> "subprocess.Popen[bytes]":
        folders = (self.place.folder, self.place.folder, self.place.home)
        return subprocess.Popen(
            [sys.executable, "-P", "-E", "-m", "ogcode.scribe", *map(str, folders)], env=self.place.environ
        )

    def left(self) -> list[Job]:
        return [job for _, job, _ in jobs(self.memory.root.store) if isinstance(job, Job)]


def waiting(tmp_path: Path, serve: Serve, *replies: Reply) -> Waiting:
    return Waiting(new_place(tmp_path, git=False), serve(list(replies)))


async def test_a_scribe_at_work_is_cut_off_by_a_turn_and_that_is_no_failure(tmp_path: Path, serve: Serve) -> None:
    stage = waiting(tmp_path, serve, Stall("# Half a no"), Say(GOOD))
    scribe = stage.start()
    await until(stage.server.stalled.is_set)
    with at_work(stage.locks):
        await until(stage.server.gone.is_set)
        assert [(job.tries, job.upgrade) for job in stage.left()] == [(0, False)]
    assert await asyncio.to_thread(scribe.wait, 20) == 0
    (note,) = note_files(stage.memory)
    assert "Dispatch retry fix" in note.read_text("utf-8")
    assert len(stage.server.chats) == 2
    assert not (stage.memory.root.store / "scribe.log").exists()


async def test_a_scribe_asks_nothing_while_somebody_works_and_writes_without_a_model_what_has_waited_for_long(
    tmp_path: Path, serve: Serve
) -> None:
    stage = waiting(tmp_path, serve, Say(GOOD))
    path = stage.memory.root.spool / f"{stage.spooled.id}.json"
    with at_work(stage.locks):
        scribe = stage.start()
        await until(lambda: stage.asked)
        assert not note_files(stage.memory)
        long_ago = path.stat().st_mtime - 700
        os.utime(path, (long_ago, long_ago))
        await until(lambda: [job.upgrade for job in stage.left()] == [True])
        assert "extract" in note_files(stage.memory)[0].read_text("utf-8")
        assert not stage.server.chats
    assert await asyncio.to_thread(scribe.wait, 20) == 0
    assert "Five tries with backoff" in note_files(stage.memory)[0].read_text("utf-8")
    assert not stage.left()


async def test_a_scribe_waits_for_a_turn_of_another_repository_that_uses_the_same_server(
    tmp_path: Path, serve: Serve
) -> None:
    stage = waiting(tmp_path, serve, Say(GOOD))
    other = meeting_place(stage.place.home, "http://127.0.0.1:1/v1", otherwise=Path("none"))
    model = Awaiting(ScriptedModel("from another repository"), stage.locks)
    with all_at_work([model]), at_work(other):
        scribe = stage.start()
        await until(lambda: stage.asked)
        assert not stage.server.chats
        assert not note_files(stage.memory)
    assert await asyncio.to_thread(scribe.wait, 20) == 0
    assert len(stage.server.chats) == 1


async def test_a_turn_on_another_server_is_not_waited_for(tmp_path: Path, serve: Serve) -> None:
    stage = waiting(tmp_path, serve, Say(GOOD))
    with at_work(meeting_place(stage.place.home, "http://127.0.0.1:1/v1", otherwise=Path("none"))):
        assert await asyncio.to_thread(stage.start().wait, 20) == 0
    assert len(stage.server.chats) == 1


def test_without_a_writable_home_those_of_one_repository_meet(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a folder should be")
    assert meeting_place(tmp_path / "home", "http://x", otherwise=tmp_path / "locks") == tmp_path / "locks"
