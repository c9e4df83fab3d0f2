"""F27: a file system that knows neither locks nor hard links."""

import errno
import fcntl
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from faulty import Done, faults, in_child, kill_at, struck
from real_scribe import STRACE, a_scripted_memory, scribe_command, turns
from remembered import a_job, a_memory
from writers import OURS, drain

from ogcode.agent.files.durable import Lock


def poor(error: int) -> None:
    """Take hard links and locks away from this process."""

    def refuse(*arguments: object, **options: object) -> object:
        raise OSError(error, os.strerror(error))

    for module, name in ((os, "link"), (fcntl, "flock")):
        setattr(module, name, refuse)


def killed_at(folder: Path, number: int, error: int) -> tuple[bool, list[str]]:
    memory = a_memory(folder)

    def work(done: Done) -> None:
        poor(error)
        with struck(kill_at(number)):
            OURS.write(memory, [a_job(1), a_job(2)], done)

    def go_on(done: Done) -> None:
        poor(error)
        drain(memory)

    ended = in_child(work)
    assert ended.status in (0, -9), ended.told
    assert in_child(go_on).status == 0
    return ended.killed, faults(memory, ended.told)


@pytest.mark.parametrize("error", [errno.ENOTSUP, errno.EPERM])
def test_without_links_nothing_is_lost_doubled_or_torn_by_a_kill(fast: Path, error: int) -> None:
    found = {number: killed_at(fast / str(number), number, error)[1] for number in range(1 + error % 5, 150, 6)}
    assert {number: wrong for number, wrong in found.items() if wrong} == {}


@pytest.mark.torture
def test_without_links_nothing_is_lost_by_a_kill_at_each_operation(fast: Path) -> None:
    number, killed = 0, True
    while killed:
        number += 1
        killed, wrong = killed_at(fast / str(number), number, errno.ENOTSUP)
        assert wrong == [], number
    assert number > 100


@pytest.mark.parametrize("error", [errno.ENOTSUP, errno.EPERM, errno.ENOSYS, errno.ENOLCK, errno.EINVAL])
def test_without_the_kernels_locks_one_at_a_time_holds_a_lock_and_it_is_said(tmp_path: Path, error: int) -> None:
    def work(done: Done) -> None:
        poor(error)
        first = Lock.take(tmp_path / "lock")
        assert first
        assert first.leased
        assert Lock.take(tmp_path / "lock") is None
        first.release()
        second = Lock.take(tmp_path / "lock")
        assert second
        second.release(remove=True)

    assert in_child(work).told == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [".lock@", ".lock@@@@", ".lock@{host}@x@y@z", ".lock@{host}@9999999999999999999@1@1"])
def test_a_claim_that_nobody_living_made_is_put_aside(tmp_path: Path, name: str) -> None:
    planted = tmp_path / name.format(host=os.uname().nodename)
    planted.symlink_to("nowhere")
    os.utime(planted, (0, 0), follow_symlinks=False)

    def work(done: Done) -> None:
        poor(errno.ENOTSUP)
        assert Lock.take(tmp_path / "lock")

    assert in_child(work).told == ()


def test_a_lock_without_the_kernel_dies_with_its_owner(tmp_path: Path) -> None:
    def die(done: Done) -> None:
        poor(errno.ENOTSUP)
        done(str(Lock.take(tmp_path / "lock") is not None))
        os.kill(os.getpid(), signal.SIGKILL)

    def take(done: Done) -> None:
        poor(errno.ENOTSUP)
        done(str(Lock.take(tmp_path / "lock") is not None))

    assert (in_child(die).told, in_child(take).told) == (("True",), ("True",))


def test_of_several_processes_never_two_hold_a_lock_without_the_kernel(fast: Path) -> None:
    def work(seed: int) -> Callable[[Done], None]:
        def take_often(done: Done) -> None:
            poor(errno.ENOTSUP)
            chance, taken = random.Random(seed), 0
            while taken < 20:
                if lock := Lock.take(fast / "lock"):
                    os.close(os.open(fast / "inside", os.O_CREAT | os.O_EXCL))  # raises where another is inside
                    os.sched_yield()
                    (fast / "inside").unlink()
                    lock.release(remove=chance.random() < 0.5)
                    taken += 1
                os.sched_yield()

        return take_often

    children = list[int]()
    for seed in range(4):
        child = os.fork()
        if child == 0:
            os._exit(in_child(work(seed)).status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4


def test_the_scribe_writes_on_such_a_file_system_and_says_so_in_its_log(tmp_path: Path) -> None:
    if not STRACE:
        pytest.skip("strace is not installed")
    memory = a_scripted_memory(tmp_path)
    jobs = turns(memory, 1, 2)
    injected = ["-e", "inject=flock:error=EOPNOTSUPP", "-e", "inject=link,linkat:error=EPERM"]
    command, environ = scribe_command(memory)
    done = subprocess.run([STRACE, "-f", "-o", os.devnull, *injected, *command], env=environ, cwd=memory.root.path)
    assert done.returncode == 0
    assert faults(memory, jobs) == []
    assert "has no locks" in (memory.root.store / "scribe.log").read_text()
