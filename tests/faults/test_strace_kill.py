"""F2: kill -9 of the real scribe's process at system calls that touch memory."""

import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from faulty import faults
from real_scribe import STRACE, a_scripted_memory, scribe_command, turns

from ogcode.agent.index.cache import Memory

CALLS = ("openat", "write", "fsync", "close", "link", "rename", "unlink", "ftruncate", "mkdir", "flock", "pwrite64")

pytestmark = pytest.mark.skipif(not STRACE, reason="strace is not installed")


def traced(memory: Memory, *options: str) -> int:
    command, environ = scribe_command(memory)
    done = subprocess.run(
        [STRACE, "-f", "-qq", *options, *command],
        env=environ,
        cwd=memory.root.path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return done.returncode


def a_turn_to_write(folder: Path) -> tuple[Memory, list[str]]:
    memory = a_scripted_memory(folder)
    return memory, turns(memory, 1, 2)


def points(folder: Path) -> list[tuple[str, int]]:
    """List the system calls, as a name and a count of its kind, from the first one that touches memory."""
    memory, _ = a_turn_to_write(folder / "first")
    assert traced(memory, "-o", str(folder / "log"), "-e", f"trace={','.join(CALLS)}") == 0
    counts, found, begun = Counter[str](), list[tuple[str, int]](), False
    for line in (folder / "log").read_text().splitlines():
        if call := re.match(r"(?:\d+ +)?(\w+)\(", line):
            counts[call[1]] += 1
            begun = begun or "/.ogcode/" in line
            if begun and (call[1] not in ("openat", "close") or ".ogcode" in line or "/home/" in line):
                found.append((call[1], counts[call[1]]))
    return found


def killed(folder: Path, call: str, number: int) -> tuple[bool, list[str]]:
    memory, jobs = a_turn_to_write(folder)
    status = traced(memory, "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
    command, environ = scribe_command(memory)
    assert subprocess.run(command, env=environ, cwd=memory.root.path, stdin=subprocess.DEVNULL).returncode == 0
    return status != 0, faults(memory, jobs)


def test_the_real_scribe_is_killed_at_a_system_call_and_loses_nothing(fast: Path) -> None:
    every = points(fast)
    assert len(every) > 30
    found = [killed(fast / f"{call}-{number}", call, number) for call, number in random.Random(2).sample(every, 3)]
    assert [wrong for _, wrong in found] == [[]] * 3
    assert any(was for was, _ in found)


@pytest.mark.torture
def test_the_real_scribe_is_killed_at_each_system_call_and_loses_nothing(fast: Path) -> None:
    every = points(fast)
    found = {point: killed(fast / f"{point[0]}-{point[1]}", *point) for point in every}
    print(f"{len(every)} system calls, {sum(was for was, _ in found.values())} kills")  # noqa: T201  # what it is run for
    assert {point: wrong for point, (_, wrong) in found.items() if wrong} == {}
