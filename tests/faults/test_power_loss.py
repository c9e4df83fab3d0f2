"""F4: the power fails at some moment, and of what was not synced any part may be missing."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from faulty import Done, faults
from powerless import Disk, Effect, FileSystem, Synced, lose_power
from remembered import a_job, a_memory
from writers import OURS, WRONG, Writer

Keep = Callable[[Effect], bool]
KINDS: tuple[FileSystem, ...] = ("journal", "posix")


def everything(effect: Effect) -> bool:
    return True


def states(
    writer: Writer, folder: Path, kind: FileSystem, seeds: Iterable[int], keep: Keep = everything
) -> dict[int, Sequence[str]]:
    """Lose the power of a writer's disk, once a seed; tell what is wrong after it has gone on."""
    disk = Disk(folder / "disk")
    memory = a_memory(folder / "other")

    def work(done: Done) -> None:
        nonlocal memory
        memory = a_memory(disk.top)
        writer.write(memory, [a_job(1), a_job(2), a_job(3)], done)

    disk.watch(work)
    effects = [effect for effect in disk.effects if keep(effect)]
    wrong = dict[int, Sequence[str]]()
    for seed in seeds:
        state = lose_power(effects, disk.folders, kind, random.Random(seed))
        state.restore(disk.top)
        memory = a_memory(disk.top)
        writer.resume(memory)
        if found := faults(memory, state.finished, own=writer is OURS):
            wrong[seed] = found
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_turn_survives_a_power_loss_whole_and_once(fast: Path, kind: FileSystem) -> None:
    assert states(OURS, fast, kind, range(50)) == {}


@pytest.mark.torture
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_power_losses_lose_double_and_tear_nothing(fast: Path, kind: FileSystem) -> None:
    assert states(OURS, fast, kind, range(1_000, 1_500)) == {}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_writer_does_not_survive_power_losses(fast: Path, name: str) -> None:
    assert states(WRONG[name], fast, "journal", range(30)) != {}


UNSYNCED: dict[str, Keep] = {
    "files": lambda effect: not isinstance(effect, Synced) or effect.folder,
    "folders": lambda effect: not isinstance(effect, Synced) or not effect.folder,
    "nothing": lambda effect: not isinstance(effect, Synced),
}


@pytest.mark.parametrize("what", UNSYNCED)
def test_a_writer_that_syncs_too_little_is_found_out(fast: Path, what: str) -> None:
    assert states(OURS, fast, "posix", range(30), UNSYNCED[what]) != {}
