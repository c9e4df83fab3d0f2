"""F5, F6, F8, F9: the disk is full, fails, or takes only a part; descriptors and memory run out."""

import contextlib
import errno
import itertools
import os
import random
import resource
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from fake_server import FakeServer, Say
from faulty import Done, Fault, fail_at, faults, in_child, struck
from remembered import a_job, a_memory, spool
from stage_cli import model_of, new_place, playing
from writers import drain, titled

from ogcode.agent.index.cache import Memory
from ogcode.agent.model import Broken

REFUSALS = tuple(
    Fault(operation, error, sticky)
    for operation, errors in {
        "open": (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS, errno.EACCES, errno.ENOSPC),
        "write": (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, errno.EAGAIN),
        "fsync": (errno.EIO, errno.ENOSPC),
        "close": (errno.EIO, errno.ENOSPC),
        "link": (errno.EIO, errno.ENOSPC, errno.EROFS),
        "replace": (errno.EIO, errno.ENOSPC, errno.EROFS),
        "unlink": (errno.EIO, errno.EROFS, errno.EACCES),
        "mkdir": (errno.ENOSPC, errno.EROFS),
    }.items()
    for error in errors
    for sticky in (False, True)
)
SHORT = (Fault("write"), Fault("write", sticky=True))


def happen(memory: Memory, done: Done) -> None:
    """Two turns and their notes, on a machine where any of it may fail with an OSError that says why."""
    for number in (1, 2):
        try:
            done(spool(memory, a_job(number))[0].id)
        except OSError as error:
            done(f"refused: {error.strerror}")
    for replies in ((titled(), Broken), (titled(),)):
        try:
            drain(memory, *replies)
        except OSError as error:
            done(f"refused: {error.strerror}")


def prepared(folder: Path) -> Memory:
    memory = a_memory(folder)
    spool(memory, a_job(0))  # so that the key and the folders are there
    return memory


def fallen(memory: Memory, told: Sequence[str], *, fault: Fault | None = None) -> list[str]:
    """Go on once the disk is sound again; say what is wrong then, and whether another reason was told."""
    drain(memory)
    drain(memory)
    finished = [line for line in told if not line.startswith("refused: ")]
    reasons = {line.removeprefix("refused: ") for line in told} - set(finished)
    return [
        *faults(memory, finished, own=False),
        *(f"told {reason}" for reason in reasons if fault and reason != os.strerror(fault.error)),
    ]


def refused(folder: Path, fault: Fault, number: int) -> list[str]:
    """Let the n-th operation of a kind fail; tell what is wrong in the end."""
    memory = prepared(folder)

    def work(done: Done) -> None:
        with struck(fail_at(fault, number)):
            happen(memory, done)

    ended = in_child(work)
    assert ended.status == 0, ended.told
    wrong = fallen(memory, ended.told, fault=fault if fault.error else None)
    if not fault.error and any(line.startswith("refused") for line in ended.told):
        wrong.append("a short write was taken for an error")
    shutil.rmtree(folder)
    return wrong


def counted(folder: Path) -> dict[str, int]:
    """Count the operations of each kind from the end of a turn to its note."""
    memory, counts = prepared(folder), dict[str, int]()

    def strike(name: str, real: object, given: Sequence[object]) -> object:
        counts[name] = counts.get(name, 0) + 1
        return real(*given)  # type: ignore[operator]  # what it really does

    with struck(strike):
        happen(memory, lambda line: None)
    return counts


def every(folder: Path, kinds: Sequence[Fault]) -> Iterator[tuple[Fault, int]]:
    counts = counted(folder / "counted")
    for fault in kinds:
        for number in range(1, counts.get(fault.operation, 0) + 1):
            yield fault, number


def harmed(folder: Path, points: Sequence[tuple[Fault, int]]) -> dict[str, list[str]]:
    found = {f"{fault} {number}": refused(folder / "repo", fault, number) for fault, number in points}
    return {point: wrong for point, wrong in found.items() if wrong}


def test_whatever_the_disk_refuses_is_told_and_nothing_is_lost_or_cut(fast: Path) -> None:
    points = random.Random(5).sample(list(every(fast, REFUSALS)), 60)
    assert harmed(fast, points) == {}


def test_a_note_that_could_not_be_claimed_for_a_moment_is_our_own_in_the_end(fast: Path) -> None:
    memory = prepared(fast)
    append = itertools.count(1)

    def strike(name: str, real: Callable[..., object], given: Sequence[object]) -> object:
        if name == "open" and Path(os.fspath(given[0])) == memory.manifest.path and next(append) == 1:  # type: ignore[call-overload]  # a path
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(*given)

    with struck(strike):
        drain(memory, titled())
    drain(memory)
    assert faults(memory, []) == []


def test_writes_that_stop_short_are_gone_on_with(fast: Path) -> None:
    points = list(every(fast, SHORT))
    assert harmed(fast, [points[0], *points[2::4], points[-1]]) == {}


@pytest.mark.torture
@pytest.mark.parametrize("operation", sorted({fault.operation for fault in REFUSALS}))
def test_each_operation_of_a_kind_fails_in_turn(fast: Path, operation: str) -> None:
    points = list(every(fast, [fault for fault in (*REFUSALS, *SHORT) if fault.operation == operation]))
    assert points
    assert harmed(fast, points) == {}


def limited(folder: Path, limit: Callable[[], None]) -> tuple[tuple[str, ...], list[str]]:
    memory = prepared(folder)

    def work(done: Done) -> None:
        limit()
        happen(memory, done)

    ended = in_child(work)
    assert ended.status == 0, ended.told
    return ended.told, fallen(memory, ended.told)


@pytest.mark.parametrize("size", [0, 100, 300, 500])
def test_where_a_file_can_only_grow_so_far_a_turn_or_note_is_whole_or_not_there(fast: Path, size: int) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    told, wrong = limited(fast / "repo", limit)
    assert "refused: File too large" in told
    assert wrong == []


@pytest.mark.parametrize("left", range(9))
def test_where_descriptors_run_out_no_turn_is_lost_or_disowned(fast: Path, left: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        taken = list[int]()
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for descriptor in taken[:left]:
            os.close(descriptor)

    told, wrong = limited(fast / "repo", limit)
    assert ("refused: Too many open files" in told) == (left < 4)
    assert wrong == []


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=256k,nr_inodes=100 none '{folder}' 2>/dev/null"):
        pytest.skip("only root can mount a small file system")
    yield folder
    os.system(f"umount -l '{folder}'")


@contextlib.contextmanager
def without_room(folder: Path, free: int = 0) -> Iterator[None]:
    """Fill a file system but for so many pages."""
    with (folder / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(bytes(4096))
    os.truncate(folder / "ballast", (folder / "ballast").stat().st_size - free * 4096)
    yield
    (folder / "ballast").unlink()


@contextlib.contextmanager
def without_names(folder: Path) -> Iterator[None]:
    """Fill a file system with files that hold nothing."""
    (folder / "ballast").mkdir()
    with contextlib.suppress(OSError):
        for number in itertools.count():
            (folder / "ballast" / str(number)).touch()
    yield
    shutil.rmtree(folder / "ballast")


@pytest.mark.parametrize("free", [0, 1, 2, 3, 4])
def test_a_full_disk_is_told_and_what_was_finished_is_written_once_there_is_room(small: Path, free: int) -> None:
    memory = prepared(small)
    with without_room(small, free):
        ended = in_child(lambda done: happen(memory, done))
    assert ended.status == 0, ended.told
    assert "refused: No space left on device" in ended.told
    assert fallen(memory, ended.told) == []


@pytest.mark.parametrize("filled", [without_room, pytest.param(without_names, marks=pytest.mark.torture)])
def test_a_turn_runs_on_a_full_disk_and_it_is_told_that_it_is_not_remembered(
    small: Path, tmp_path: Path, filled: Callable[[Path], AbstractContextManager[None]]
) -> None:
    place = new_place(small, git=False)
    place.environ["OGCODE_HOME"] = str(tmp_path / "home")
    with FakeServer(playing([Say("First."), Say("Second."), Say("Third.")])) as server:
        place.environ |= model_of(server)
        assert place.run("-p", "begin", "--memory-wait", "20").returncode == 0
        place.settle()
        with filled(small):
            done = place.run("-p", "go on")
            place.settle()
        assert (done.returncode, done.stdout) == (0, "Second.\n")
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        assert place.run("-p", "and on", "--memory-wait", "20").returncode == 0
        assert [note.name.split("--")[2] for note in place.notes] == ["begin.md", "and-on.md"]
