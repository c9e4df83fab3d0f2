"""kill -9 of a batch at random moments, alone or with all that it started: each task is done once, nothing is lost."""

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from batches import (
    FLAGS,
    Worker,
    a_repository,
    a_task,
    asked,
    branches,
    git,
    journal,
    note_ids,
    rows,
    worktrees,
    write_tasks,
)
from fake_server import FakeServer, last_user
from stage_cli import Place, Serve, model_of


class Scene:
    """A batch that is killed at a share of its steps and started again until it is through."""

    def __init__(self, place: Place, server: FakeServer, *, tasks: int, jobs: int, check: bool) -> None:
        self.place, self.environ = place, model_of(server)
        self.names = [f"t{number}" for number in range(tasks)]
        checks = {"check": "test -f calc.py"} if check else {}
        self.tasks = write_tasks(place, [a_task(name, **checks) for name in self.names])
        self.words = ("batch", str(self.tasks), *FLAGS, "--jobs", str(jobs))

    def killed(self, after: int, later: float, *, tree: bool) -> bool:
        """Start it, and kill it so long after its journal has grown by so many lines; tell whether it came to that."""
        path = self.place.folder / ".ogcode" / "batches" / "tasks" / "journal.jsonl"
        process = self.place.start(*self.words, **self.environ)
        drains = [threading.Thread(target=stream.read) for stream in (process.stdout, process.stderr) if stream]
        for drain in drains:
            drain.start()
        before, deadline = _lines(path), time.monotonic() + 120
        while process.poll() is None and _lines(path) < before + after:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        moment = time.monotonic() + later
        while process.poll() is None and time.monotonic() < moment:
            time.sleep(0.002)
        struck = process.poll() is None
        if struck:
            for pid in [process.pid, *(_runs(self.place) if tree else ())]:
                _kill(pid)
        process.wait()
        for drain in drains:
            drain.join()
        return struck

    def through(self) -> "subprocess.CompletedProcess[str]":
        process = self.place.start(*self.words, **self.environ)
        out, err = process.communicate(timeout=400)
        return subprocess.CompletedProcess(self.words, process.returncode, out, err)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _runs(place: Place) -> Iterator[int]:
    """Find the headless runs in the worktrees of a place."""
    below = f"{place.folder.parent}/"
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if b"ogcode.tui\0-p" in (entry / "cmdline").read_bytes() and str((entry / "cwd").readlink()).startswith(
                below
            ):
                yield int(entry.name)
        except OSError:
            continue


def run_through(place: Place, serve: Serve, *, seed: int, tasks: int, kills: int, jobs: int, tree: bool) -> None:
    chance, worker = random.Random(seed), Worker()
    server = serve(worker)
    scene = Scene(place, server, tasks=tasks, jobs=jobs, check=seed % 2 == 0)
    for _ in range(kills):
        assert scene.killed(chance.randint(2, max(4, 4 * tasks // (kills + 2))), chance.random() / 2, tree=tree)
    done = scene.through()
    assert done.returncode == 0, done.stderr

    found = rows(done.stdout)
    assert sorted(found) == sorted(scene.names)
    finished = Counter(row["id"] for row in journal(place) if row.get("stage") == "finished")
    assert finished == Counter(scene.names)
    assert worktrees(place) == []
    assert {f"ogcode/tasks/{name}" for name in scene.names} <= set(branches(place))
    for name, row in found.items():
        assert git(place, "show", f"{row['commit']}:{name}.txt") == name
    assert place.run("memory", "wait", "60").returncode == 0
    notes = note_ids(place)
    assert {row["note"] for row in found.values()} <= set(notes)
    begun = Counter(row["id"] for row in journal(place) if row.get("stage") == "running")
    if tree:  # what was killed with it has asked in vain, once at most for each time that it was begun
        assert all(1 <= worker.finished[name] <= max(begun[name], found[name]["attempt"]) for name in scene.names)
    else:  # what it had started has ended by itself, and its result was taken
        assert worker.finished == Counter(scene.names)
        assert len(asked(server)) == 2 * len(scene.names), [last_user(body) for body in asked(server)]
        assert len(notes) == len(scene.names)


@pytest.mark.parametrize("tree", [False, True])
def test_a_batch_that_is_killed_does_each_task_once(tmp_path: Path, serve: Serve, tree: bool) -> None:
    run_through(a_repository(tmp_path), serve, seed=1 + tree, tasks=3, kills=2, jobs=2, tree=tree)


@pytest.mark.torture
@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("seed", [5, 6])
def test_a_batch_of_fifty_that_is_killed_twenty_times_does_each_task_once(
    tmp_path: Path, serve: Serve, seed: int, tree: bool
) -> None:
    run_through(a_repository(tmp_path), serve, seed=seed, tasks=50, kills=20, jobs=4, tree=tree)
