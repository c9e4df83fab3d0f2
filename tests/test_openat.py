import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ogcode.agent.files.openat import open_below, open_step_by_step
from ogcode.agent.tools.workspace import Workspace

SWAP = """
import os, sys
top, outside = sys.argv[1:]
while True:
    os.rename(f"{top}/d", f"{top}/kept")
    os.symlink(outside, f"{top}/d")
    os.unlink(f"{top}/d")
    os.rename(f"{top}/kept", f"{top}/d")
"""
LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EXDEV, errno.ENOENT)


@pytest.fixture
def top(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    folder, outside = tmp_path / "top", tmp_path / "outside"
    (folder / "d" / "deep").mkdir(parents=True)
    outside.mkdir()
    (folder / "d" / "f").write_text("inside")
    (outside / "f").write_text("outside")
    (folder / "out").symlink_to(outside)
    (folder / "in").symlink_to("d")
    (folder / "file").symlink_to("d/f")
    (folder / "new").symlink_to(outside / "new")
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    yield opened, folder
    os.close(opened)


@pytest.mark.parametrize("way", [open_below, open_step_by_step])
@pytest.mark.parametrize(
    "path", ["out/f", "in/f", "file", "new", "../outside/f", "d/../../outside/f", "/etc/passwd", "d/f/x", "none"]
)
def test_nothing_is_opened_that_is_not_really_below(top: tuple[int, Path], way: Callable[..., int], path: str) -> None:
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT):
        if path == "none" and flags & os.O_CREAT:
            continue
        with pytest.raises(OSError, match=r".") as refused:
            way(top[0], path, flags | os.O_NOFOLLOW, 0o600)
        assert refused.value.errno in LINKS
    assert names(top[1].parent / "outside") == ["f"]


@pytest.mark.parametrize("way", [open_below, open_step_by_step])
def test_what_is_below_is_opened_and_made(top: tuple[int, Path], way: Callable[..., int]) -> None:
    for path, flags in (("d/f", os.O_RDONLY), ("d/deep", os.O_DIRECTORY), (".", os.O_DIRECTORY)):
        os.close(way(top[0], path, flags, 0))
    made = way(top[0], "d/deep/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640)
    assert os.fstat(made).st_mode & 0o777 == 0o640 & ~umask()
    assert not os.get_inheritable(made)
    os.close(made)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


@pytest.fixture
def swapping(top: tuple[int, Path]) -> Iterator[Path]:
    """A folder that is a link to another one every other moment."""
    child = subprocess.Popen([sys.executable, "-c", SWAP, str(top[1]), str(top[1].parent / "outside")])
    yield top[1]
    child.kill()
    child.wait()


@pytest.mark.parametrize(
    ("way", "times"),
    [
        (open_below, 1_000),
        (open_step_by_step, 1_000),
        pytest.param(open_below, 10_000, marks=pytest.mark.torture),
        pytest.param(open_step_by_step, 10_000, marks=pytest.mark.torture),
    ],
)
def test_a_folder_that_is_swapped_for_a_link_never_leads_out(
    top: tuple[int, Path], swapping: Path, way: Callable[..., int], times: int
) -> None:
    read, refused = list[bytes](), list[int | None]()
    while len(read) + len(refused) < times or not (read and refused):
        try:
            opened = way(top[0], "d/f", os.O_RDONLY | os.O_NOFOLLOW, 0)
        except OSError as error:
            refused.append(error.errno)
            continue
        read.append(os.read(opened, 100))
        os.close(opened)
    assert set(read) == {b"inside"}
    assert set(refused) <= set(LINKS)


@pytest.mark.parametrize("times", [300, pytest.param(10_000, marks=pytest.mark.torture)])
def test_a_workspace_makes_nothing_behind_a_link_that_is_put_there(swapping: Path, times: int) -> None:
    workspace = Workspace(swapping)
    refused = set[int | None]()
    for number in range(times):
        try:
            with workspace.parent(swapping.resolve() / "d" / f"new{number % 7}" / "x", make=True) as folder:
                assert os.fstat(folder).st_ino
        except OSError as error:
            refused.add(error.errno)
    assert refused <= set(LINKS)
    assert names(swapping.parent / "outside") == ["f"]
