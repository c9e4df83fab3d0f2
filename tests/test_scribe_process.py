"""The scribe as it really runs: a process of its own, killed at random moments."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fake_server import FakeServer, Stall
from remembered import GOOD, START, a_job, a_memory, note_files, notes, spool, waiting

from ogcode.agent.files.durable import TEMPORARY, Lock
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.rescribe import rescribe
from ogcode.agent.memory.spool import jobs, prepare_store, put_back
from ogcode.agent.rights.trust import Trust

END = "\nFive tries with backoff.\n"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = a_memory(tmp_path)
    memory.home.mkdir()
    play(memory, text=GOOD)
    return memory


def turns(memory: Memory, *numbers: int) -> list[str]:
    """Spool turns of a session whose model plays the script; give their ids."""
    model = f"scripted/{memory.home.parent}/script.json"
    return [job.id for job in spool(memory, *[replace(a_job(number), model=model) for number in numbers])]


def play(memory: Memory, **reply: object) -> None:
    """Give the scribe's model another script."""
    script = memory.home.parent / "script.json"
    script.write_text(json.dumps([{"role": "scribe", "replies": [reply]}]))


def start(memory: Memory, *, linger: float = 0, **given: str) -> subprocess.Popen[bytes]:
    places = map(str, (memory.root.path, memory.root.top, memory.home))
    environ = {"PATH": os.environ["PATH"], "OGCODE_SCRIBE_LINGER": str(linger), **given}
    command = [sys.executable, "-P", "-E", "-m", "ogcode.scribe", *places]
    return subprocess.Popen(
        command, env=environ, cwd=memory.root.path, stdin=subprocess.DEVNULL, start_new_session=True
    )


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.005)


def log(memory: Memory) -> str:
    path = memory.root.store / "scribe.log"
    return path.read_text() if path.exists() else ""


def faults(memory: Memory, jobs: list[str]) -> Counter[str]:
    files = note_files(memory)
    names = Counter("--".join(path.stem.split("--")[:2]) for path in files)
    return Counter(
        lost=len(set(jobs) - set(names)),
        duplicated=sum(times - 1 for times in names.values()),
        torn=sum(not path.read_text().endswith(END) for path in files),
        left=len(waiting(memory)) + len(list(memory.root.memory.glob(f"{TEMPORARY}*"))),
    )


NONE = Counter(lost=0, duplicated=0, torn=0, left=0)


def test_a_scribe_writes_what_waits_and_leaves_nothing_behind(memory: Memory) -> None:
    jobs = turns(memory, *range(5))
    assert start(memory).wait() == 0
    assert faults(memory, jobs) == NONE
    assert {entry.origin for entry in notes(memory, trusted=False).entries()} == {"own"}
    assert {path.stat().st_mode & 0o077 for path in memory.root.store.rglob("*")} == {0}
    assert log(memory) == ""


def test_of_two_at_once_one_writes_and_the_other_leaves(memory: Memory) -> None:
    jobs = turns(memory, *range(20))
    both = [start(memory), start(memory)]
    assert [process.wait() for process in both] == [0, 0]
    assert faults(memory, jobs) == NONE
    usage = (memory.root.store / "usage.jsonl").read_bytes().splitlines()
    assert len(usage) == len(jobs)


def test_a_turn_that_comes_while_the_scribe_lingers_is_written_by_it(memory: Memory) -> None:
    turns(memory, 1)
    process = start(memory, linger=60)
    until(lambda: len(note_files(memory)) == 1)
    late = turns(memory, 2)
    assert start(memory).wait() == 0  # finds the lock taken and leaves
    until(lambda: len(note_files(memory)) == 2 and not waiting(memory))
    process.kill()
    process.wait()
    assert faults(memory, late) == NONE


def test_turns_that_come_whenever_the_scribe_leaves_are_all_written(memory: Memory) -> None:
    processes, jobs = list[subprocess.Popen[bytes]](), list[str]()
    for number in range(12):
        jobs += turns(memory, number)
        processes.append(start(memory))
        if number % 3 == 2:
            processes[-1].wait()
    assert {process.wait() for process in processes} == {0}
    assert faults(memory, jobs) == NONE


def test_a_scribe_without_work_leaves_at_once_and_writes_nothing(memory: Memory) -> None:
    prepare_store(memory.root.store)
    before = sorted(memory.root.store.rglob("*"))
    assert start(memory).wait() == 0
    assert sorted(memory.root.store.rglob("*")) == sorted([*before, memory.root.locks / "scribe"])


def test_modules_in_the_folder_are_not_imported(memory: Memory) -> None:
    for name in ("asyncio", "json", "ogcode", "sqlite_utils", "sitecustomize", "yaml"):
        (memory.root.path / f"{name}.py").write_text("open('canary', 'w')\nraise SystemExit(9)\n")
    jobs = turns(memory, 1)
    assert start(memory).wait() == 0
    assert faults(memory, jobs) == NONE
    assert not (memory.root.path / "canary").exists()


@pytest.mark.parametrize("name", ["config.toml", "trust.json"])
def test_a_broken_file_of_the_users_is_told_in_the_log_and_costs_no_note(memory: Memory, name: str) -> None:
    (memory.home / name).write_text("{ broken")
    turns(memory, 1)
    assert start(memory).wait() == 0
    assert len(note_files(memory)) == 1
    assert name in log(memory)


def test_a_log_that_is_a_link_is_not_written_to(memory: Memory, tmp_path: Path) -> None:
    prepare_store(memory.root.store)
    (tmp_path / "profile").write_text("mine\n")
    (memory.root.store / "scribe.log").symlink_to(tmp_path / "profile")
    (memory.root.store / "usage.jsonl").symlink_to(tmp_path / "profile")
    (memory.home / "trust.json").write_text("{ broken")
    turns(memory, 1)
    assert start(memory).wait() == 0
    assert (tmp_path / "profile").read_text() == "mine\n"


def test_a_foreign_turn_waits_until_the_folder_is_trusted(memory: Memory, tmp_path: Path) -> None:
    stranger = Memory.of(memory.root, tmp_path / "their-home")
    turns(stranger, 1)
    assert start(memory).wait() == 0
    assert (note_files(memory), "left alone until the folder is trusted" in log(memory)) == ([], True)
    Trust(memory.home).give(memory.root, START)
    assert start(memory).wait() == 0
    assert [entry.origin for entry in notes(memory).entries()] == ["foreign"]


def test_trust_for_one_run_is_trust_for_its_scribe(memory: Memory, tmp_path: Path) -> None:
    turns(Memory.of(memory.root, tmp_path / "their-home"), 1)
    assert start(memory, OGCODE_TRUST="1").wait() == 0
    assert [entry.scribe for entry in notes(memory).entries()] == ["extract"]


def test_a_note_is_scrubbed_again_before_it_is_written_whoever_wrote_it(memory: Memory, tmp_path: Path) -> None:
    play(memory, text=GOOD.replace("five.", "five, with zk93-xtw0-lmpd and Hunter2Hunter2."))
    (tmp_path / "bin").mkdir()
    report = json.dumps([{"Secret": "Hunter2Hunter2", "RuleID": "generic-password"}])
    (tmp_path / "bin" / "gitleaks").write_text(f"#!/bin/sh\necho '{report}'\n")
    (tmp_path / "bin" / "gitleaks").chmod(0o700)
    turns(memory, 1)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert start(memory, OPENAI_API_KEY="zk93-xtw0-lmpd", PATH=path).wait() == 0
    written = note_files(memory)[0].read_text()
    assert not re.search("Hunter2|zk93-xtw0-lmpd", written)
    assert written.count("[secret: ") == 2
    assert notes(memory, trusted=False).entries()[0].origin == "own"


def upgrades(memory: Memory) -> list[Job]:
    return [job for _, job, _ in jobs(memory.root.store) if isinstance(job, Job) and job.upgrade]


def test_a_note_that_settings_kept_from_its_model_says_so_and_comes_with_their_mending(memory: Memory) -> None:
    (memory.home / "config.toml").write_text("{ broken")
    turns(memory, 1)
    assert start(memory).wait() == 0
    (job,) = upgrades(memory)
    assert "config.toml: can't be read" in job.failure
    (memory.home / "config.toml").unlink()
    rescribe(memory, memory.root.sessions, notes(memory).entries()[0])
    assert start(memory).wait() == 0
    assert (upgrades(memory), "Five tries" in note_files(memory)[0].read_text()) == ([], True)


def test_a_scribe_that_lingers_tries_again_when_it_is_time(memory: Memory) -> None:
    play(memory, error="broken")
    turns(memory, 1)
    assert start(memory).wait() == 0
    play(memory, text=GOOD)
    (job,) = upgrades(memory)
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat(timespec="seconds").replace("+00:00", "Z")
    put_back(memory.root.store, replace(job, due_at=soon), memory.seal)
    process = start(memory, linger=60)
    until(lambda: not upgrades(memory))
    process.terminate()
    process.wait()
    assert "Five tries" in note_files(memory)[0].read_text()


def test_a_scribe_that_lingers_sees_that_somebody_wants_a_note_tried_again(memory: Memory) -> None:
    play(memory, error="broken")
    turns(memory, 1)
    process = start(memory, linger=60)
    until(lambda: upgrades(memory))
    play(memory, text=GOOD)
    rescribe(memory, memory.root.sessions, notes(memory).entries()[0])
    until(lambda: not upgrades(memory))
    process.terminate()
    process.wait()
    assert "Five tries" in note_files(memory)[0].read_text()


def test_a_scribe_that_is_told_to_end_while_its_model_says_nothing_leaves_the_turn_in_the_spool(memory: Memory) -> None:
    (job,) = spool(memory, replace(a_job(), model="openai/fake"))
    with FakeServer(lambda body: Stall()) as server:
        process = start(memory, OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="k")
        assert server.stalled.wait(30)
        process.terminate()
        assert process.wait() == 143
    left = list(memory.root.store.rglob(f"{TEMPORARY}*"))
    assert (waiting(memory), note_files(memory), left) == ([job.id], [], [])
    assert Lock.take(memory.root.locks / "scribe")


TOLD_IN_A_FINALISER = """
import gc, os, signal, sys
from ogcode.scribe.__main__ import main

def tell(phase, info):
    if callable(signal.getsignal(signal.SIGTERM)):
        gc.callbacks.remove(tell)
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(1000))  # the signal is heard here, where nothing that is raised goes anywhere

gc.callbacks.append(tell)
sys.argv[0] = "scribe"
sys.exit(main())
"""


def test_a_scribe_that_is_told_to_end_where_python_ignores_what_is_raised_ends_all_the_same(memory: Memory) -> None:
    turns(memory, 1)
    play(memory, text=GOOD)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", TOLD_IN_A_FINALISER, *map(str, (memory.root.path, memory.root.top, memory.home))],
        env={"PATH": os.environ["PATH"], "OGCODE_SCRIBE_LINGER": "600"},
        stderr=subprocess.PIPE,
    )
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 143
    assert b"SystemExit: 143" in said  # it was ignored there


def kill_often(memory: Memory, times: int, seed: int) -> tuple[list[str], int]:
    """Kill the scribe at random moments while turns come in; give the jobs, and how many kills met it alive."""
    chance = random.Random(seed)
    jobs, met = list[str](), 0
    for number in range(times):
        jobs += turns(memory, 2 * number, 2 * number + 1)
        process = start(memory)
        busy = memory.root.locks / "scribe"
        until(lambda: busy.exists() or process.poll() is not None)  # noqa: B023  # it is over before the next round
        deadline = time.monotonic() + chance.uniform(0, 0.3)
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        met += process.wait() == -signal.SIGKILL
        busy.unlink(missing_ok=True)
    assert start(memory).wait() == 0
    return jobs, met


def test_a_scribe_that_is_killed_again_and_again_loses_doubles_and_tears_nothing(memory: Memory) -> None:
    jobs, _ = kill_often(memory, 12, seed=1)
    assert faults(memory, jobs) == NONE


@pytest.mark.torture
def test_two_hundred_kills_lose_double_and_tear_nothing(memory: Memory) -> None:
    jobs, met = kill_often(memory, 200, seed=2)
    found = faults(memory, jobs)
    print(f"200 kills, {met} of a living scribe, {len(jobs)} turns: {dict(found)}")  # noqa: T201  # what it is run for
    assert met > 100
    assert found == NONE
    assert {entry.origin for entry in notes(memory, trusted=False).entries()} == {"own"}


def test_a_killed_scribes_lock_is_free(memory: Memory) -> None:
    turns(memory, 1)
    process = start(memory, linger=60)
    until(lambda: note_files(memory))
    assert Lock.take(memory.root.locks / "scribe") is None
    process.kill()
    process.wait()
    assert Lock.take(memory.root.locks / "scribe")
