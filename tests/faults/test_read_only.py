"""F7: folders that an ordinary user can't write: every way in works on, says so once, and ends as it would have."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_server import FakeServer, Say
from stage_cli import OGCODE, Place, model_of, new_place, playing

WAYS_IN = (
    ("-p", "hi"),
    ("-p", "hi", "--output-format", "json"),
    ("-p", "hi", "-c"),
    ("-p", "hi", "--memory", "read"),
    ("recall", "what was added?"),
    ("memory", "list"),
    ("memory", "list", "--json"),
    ("memory", "show", "2026"),
    ("memory", "search", "add"),
    ("memory", "status"),
    ("memory", "wait", "0.1"),
    ("memory", "path"),
    ("sessions",),
)
CLOSED = {"store": (".ogcode",), "home": ("home",), "both": (".ogcode", "home"), "repository": ("repo", "home")}


class Visitor:
    """Runs the installed command as somebody whom permissions hold, root too."""

    def __init__(self, place: Place) -> None:
        self.place = place
        dropped = "-dac_override,-dac_read_search"
        self._before = ["setpriv", f"--bounding-set={dropped}", f"--inh-caps={dropped}"] if os.geteuid() == 0 else []

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self._before, OGCODE, *arguments],
            cwd=self.place.folder,
            env=self.place.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )


def close(folder: Path) -> None:
    """Take the right to write away from everybody, below a folder too."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)


@pytest.fixture
def visitor(fast: Path) -> Iterator[Visitor]:
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("only root is here, whom no permission holds")
    place = new_place(fast)
    (fast / "home").mkdir()
    visitor = Visitor(place)
    with FakeServer(playing([Say("It says hi.")] * 99)) as server:
        place.environ |= model_of(server)
        assert visitor.run("-p", "Explain the module " + "at length " * 80, "--memory-wait", "20").returncode == 0
        place.settle()
        yield visitor
    for path in (fast, *fast.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)


def closed(visitor: Visitor, kind: str) -> None:
    top = visitor.place.folder
    for name in CLOSED[kind]:
        close({"repo": top, ".ogcode": top / ".ogcode", "home": visitor.place.home}[name])


def complaints(visitor: Visitor, way: tuple[str, ...], before: "subprocess.CompletedProcess[str]") -> list[str]:
    done = visitor.run(*way)
    said = [line for line in done.stderr.splitlines() if "can't be written" in line or "ermission" in line]
    wrong = [line for line in done.stderr.splitlines() if "Traceback" in line or "Error" in line]
    if done.returncode != before.returncode:
        wrong.append(f"exit code {done.returncode}, not {before.returncode}: {done.stderr}")
    if len(said) > 1:
        wrong.append(f"said more than once: {said}")
    if way[0] == "-p" and "read" not in way and len(said) != 1:
        wrong.append(f"not said once: {done.stderr}")
    if "json" not in str(way) and way not in (("memory", "status"), ("sessions",)) and done.stdout != before.stdout:
        wrong.append(f"stdout was {before.stdout!r}, now {done.stdout!r}")
    return wrong


def found(visitor: Visitor, kind: str, ways: tuple[tuple[str, ...], ...]) -> dict[tuple[str, ...], list[str]]:
    before = {way: visitor.run(*way) for way in ways}
    visitor.place.settle()
    closed(visitor, kind)
    wrong = {way: complaints(visitor, way, before[way]) for way in ways}
    return {way: said for way, said in wrong.items() if said}


@pytest.mark.parametrize("kind", ["store", "home"])
def test_a_turn_runs_where_memory_cannot_be_written_and_it_is_said_once(visitor: Visitor, kind: str) -> None:
    assert found(visitor, kind, WAYS_IN[:1]) == {}


def test_what_is_remembered_is_read_where_nothing_can_be_written(visitor: Visitor) -> None:
    assert found(visitor, "both", WAYS_IN[4:9:4]) == {}


@pytest.mark.torture
@pytest.mark.parametrize("kind", CLOSED)
def test_every_way_in_works_on_where_nothing_can_be_written(visitor: Visitor, kind: str) -> None:
    began = time.monotonic()
    assert found(visitor, kind, WAYS_IN) == {}
    print(f"{len(WAYS_IN)} ways in, {kind} closed: {time.monotonic() - began:.1f} s")  # noqa: T201  # what it is run for
