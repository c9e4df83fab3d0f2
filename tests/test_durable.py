import os
import resource
import select
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ogcode.agent.files.durable import TEMPORARY, Lock, append_line, create_file, replace_file, sweep


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def create(path: Path, content: bytes) -> Callable[[], None]:
    return lambda: create_file(path, content)


def started(work: Callable[[], object]) -> int:
    """Do something in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except OSError:
            os._exit(1)
        except BaseException:
            os._exit(2)
        os._exit(0)
    return child


def ended(child: int) -> int:
    """Give 0, or 1 where the child raised OSError."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(work: Callable[[], object]) -> int:
    return ended(started(work))


def small_disk(work: Callable[[], None]) -> Callable[[], None]:
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        work()

    return limited


def test_a_write_that_stops_short_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    assert in_child(small_disk(lambda: replace_file(path, b"x" * 5_000))) == 1
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_write_that_stops_short_makes_no_file(tmp_path: Path) -> None:
    assert in_child(small_disk(lambda: create_file(tmp_path / "file", b"x" * 5_000))) == 1
    assert names(tmp_path) == []


def test_a_line_that_was_cut_short_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    append_line(path, b"first")
    assert in_child(small_disk(lambda: append_line(path, b"x" * 5_000))) == 1
    append_line(path, b"last", sync=True)
    lines = path.read_bytes().splitlines()
    assert (lines[0], lines[-1], len(lines)) == (b"first", b"last", 3)


def test_an_existing_name_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "file"
    create_file(path, b"first")
    with pytest.raises(FileExistsError):
        create_file(path, b"second")
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["file"]


def test_of_many_that_create_one_name_exactly_one_succeeds(tmp_path: Path) -> None:
    children = [started(create(tmp_path / "file", b"%d" % number * 2_000)) for number in range(8)]
    assert sorted(map(ended, children)) == [0] + [1] * 7
    assert len(set((tmp_path / "file").read_text())) == 1


def test_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    def write() -> None:
        os.umask(0)
        replace_file(tmp_path / "a", b"")
        create_file(tmp_path / "b", b"")
        append_line(tmp_path / "c", b"")
        Lock.take(tmp_path / "d")

    assert in_child(write) == 0
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("write", [lambda path: append_line(path, b"line"), Lock.take])
def test_nothing_is_written_through_a_link(tmp_path: Path, write: Callable[[Path], object]) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        write(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


def test_an_unfinished_file_is_swept_when_it_is_old_enough(tmp_path: Path) -> None:
    (tmp_path / f"{TEMPORARY}old").touch()
    (tmp_path / f"{TEMPORARY}new").touch()
    (tmp_path / "other").touch()
    os.utime(tmp_path / f"{TEMPORARY}old", (1_000, 1_000))
    sweep(tmp_path, older_than=3_600, now=(tmp_path / "other").stat().st_mtime)
    assert names(tmp_path) == [f"{TEMPORARY}new", "other"]


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    first = Lock.take(tmp_path / "lock")
    assert first
    assert Lock.take(tmp_path / "lock") is None
    first.release()
    assert Lock.take(tmp_path / "lock")


def test_a_lock_dies_with_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        held = Lock.take(path)
        os.write(tell, b"held" if held else b"free")
        signal.pause()
        os._exit(0)
    assert select.select([told], [], [], 10)[0]
    assert os.read(told, 4) == b"held"
    assert Lock.take(path) is None
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert Lock.take(path)


def test_a_lock_whose_file_was_removed_does_not_count_as_taken(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = Lock.take(path)
    assert first
    first.release(remove=True)
    second = Lock.take(path)
    assert second
    assert path.exists()
    assert Lock.take(path) is None


def test_two_never_hold_a_lock_that_is_removed_at_each_release(tmp_path: Path) -> None:
    inside, most = list[int](), list[int]()

    def work(number: int) -> None:
        for _ in range(200):
            while not (lock := Lock.take(tmp_path / "lock")):
                pass
            inside.append(number)
            most.append(len(inside))
            inside.remove(number)
            lock.release(remove=True)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
