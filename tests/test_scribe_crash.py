"""kill -9 at every file operation from the end of a turn to its note; and writers that must not pass."""

import itertools
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from faulty import Done, faults, in_child, kill_at, struck
from remembered import SESSION, START, a_job, a_memory, note_files, notes, spool
from writers import OURS, WRONG, Writer, drain, titled

from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.spool import add_job
from ogcode.agent.model import Broken, Unauthorized
from ogcode.agent.models.scripted import Reply
from ogcode.agent.turn import Step, Turn


def points(writer: Writer, folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Kill a writer at each of its operations in turn, until it comes through."""
    turns = [a_job(1), a_job(2)]
    for number in itertools.count(1):
        memory = a_memory(folder / str(number))

        def work(done: Done) -> None:
            with struck(kill_at(number)):  # noqa: B023  # it is over before the next round
                writer.write(memory, turns, done)  # noqa: B023

        ended = in_child(work)
        writer.resume(memory)
        yield number, faults(memory, ended.told, own=writer is OURS)
        if not ended.killed:
            return


@dataclass(frozen=True, slots=True)
class Scene:
    """What lies in a memory before a crash, and what happens up to it; the same for the same seed."""

    before: int
    """Turns that wait already, or have notes without a model."""
    written: bool
    turns: int
    replies: tuple[Reply, ...]

    @classmethod
    def of(cls, seed: int) -> "Scene":
        chance = random.Random(seed)
        replies = [chance.choice((titled(), titled(), Broken, Unauthorized, "no note")) for _ in range(3)]
        return cls(chance.randrange(3), chance.random() < 0.5, chance.randint(1, 3), tuple(replies))

    def prepare(self, folder: Path) -> tuple[Memory, list[str]]:
        memory = a_memory(folder)
        (folder / "repo" / "retry.py").write_text("def send():\n    return 3\n")
        waiting = spool(memory, *[a_job(number) for number in range(self.before)])
        if self.written:
            drain(memory, *[Broken] * self.before)
        return memory, [job.id for job in waiting]

    def happen(self, memory: Memory, done: Done) -> None:
        """From the end of each turn to notes and an index that is true to them."""
        for number in range(self.before, self.before + self.turns):
            steps = (Step("read", '{"path": "retry.py"}'), Step("edit", json.dumps({"path": "retry.py", "new": "3"})))
            turn = Turn(f"Fix dispatch {number}", f"Dispatch {number} is tried five times.", steps, "done")
            place = Place(SESSION, number, START + timedelta(minutes=number), "scripted/test", 128_000)
            done(add_job(memory.root.store, capture(turn, place, memory.root.top), memory.seal).id)
        drain(memory, *self.replies)
        drain(memory)
        open_index(memory).close()


def crash(scene: Scene, folder: Path, number: int, again: int = 0) -> tuple[bool, list[str]]:
    """Kill a scene at its n-th operation, and what goes on from there once more; tell what is wrong at the end."""
    memory, finished = scene.prepare(folder)

    def happen(done: Done) -> None:
        with struck(kill_at(number)):
            scene.happen(memory, done)

    def go_on(done: Done) -> None:
        with struck(kill_at(again)):
            drain(memory)

    first = in_child(happen)
    assert first.status in (0, -9), first.told
    if again:
        assert in_child(go_on).status in (0, -9)
    drain(memory)
    wrong = faults(memory, [*finished, *first.told])
    if number % 8 == 0 and len(notes(memory, trusted=False).entries()) != len(note_files(memory)):
        wrong.append("the index differs from the files")
    return first.killed, wrong


def crashes(folder: Path, *, seed: int, count: int, stride: int) -> tuple[int, dict[str, list[str]]]:
    """Kill scene after scene at every n-th of its operations; every other one is killed again in going on."""
    met, wrong = 0, dict[str, list[str]]()
    Scene(0, False, 1, ()).happen(a_memory(folder / "first"), lambda line: None)  # children inherit what it imports
    for scene_seed in itertools.count(seed):
        scene, chance = Scene.of(scene_seed), random.Random(scene_seed)
        for number in itertools.count(1 + chance.randrange(stride), stride):
            again = chance.randrange(1, 60) if chance.random() < 0.5 else 0
            killed, found = crash(scene, folder / "scene", number, again)
            shutil.rmtree(folder / "scene")
            met += killed
            if found:
                wrong[f"scene {scene_seed}, operation {number}, then {again}"] = found
            if not killed:
                break
            if met == count:
                return met, wrong
    raise AssertionError("unreachable")


def test_no_turn_is_lost_doubled_or_torn_at_whatever_operation_the_process_dies(fast: Path) -> None:
    found = dict(points(OURS, fast))
    assert len(found) > 100
    assert {number: wrong for number, wrong in found.items() if wrong} == {}


def test_no_crash_nor_a_second_one_on_the_way_back_harms_any_of_many_scenes(fast: Path) -> None:
    assert crashes(fast, seed=1, count=60, stride=23) == (60, {})


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1_000, 21_000, 1_000))
def test_ten_thousand_crashes_lose_double_and_tear_nothing(fast: Path, seed: int) -> None:
    assert crashes(fast, seed=seed, count=500, stride=1) == (500, {})


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_writer_is_found_out(fast: Path, kind: str) -> None:
    assert any(found for _, found in points(WRONG[kind], fast))
