"""Run a child process to its end, and end all that it started with it."""

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_MARK = "OGCODE_CALL"
_PR_SET_DUMPABLE = 4
_TICK = 0.01
_TERM_SECONDS = 2.0
_SETTLE_SECONDS = 0.1
"""How long what a finished command left behind may still write, so that no last line of a `>(tee)` is lost."""


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    """As `subprocess` has it: negative for a signal."""
    timed_out: bool = False
    left: int = 0
    """Processes that were still running in the background and were ended."""


async def run(
    command: Sequence[str], feed: Callable[[bytes], bool], *, cwd: Path, environ: Mapping[str, str], seconds: float
) -> Ended:
    """Run a command without input and feed on what it prints until the process ends, or `feed` says no.

    It is the process that is waited for, not its output: a child in the background may hold that open for ever.

    Raises:
        OSError: it could not be started.
        ValueError: a word of it holds what no program can be given.
    """
    _hide_environment()
    mark = secrets.token_hex(8)
    process, output = _start(command, cwd, {**environ, _MARK: mark})
    loop, closed, enough = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def pump() -> None:
        try:
            piece = os.read(output, 65_536)
        except BlockingIOError:
            return
        if not piece:
            loop.remove_reader(output)
            closed.set()
        elif not feed(piece):
            loop.remove_reader(output)
            enough.set()

    timed_out, left = False, 0
    loop.add_reader(output, pump)
    try:
        try:
            async with asyncio.timeout(seconds):
                await _ended(process, enough)
        except TimeoutError:
            timed_out = True
            _signal(process.pid, signal.SIGTERM)
            await _within(_TERM_SECONDS, _ended(process, enough))
        if not enough.is_set():
            await _within(_SETTLE_SECONDS, _settled(closed, process.pid, mark))
        left = _end(process, mark)
        if not enough.is_set():
            await _within(_SETTLE_SECONDS, closed.wait())
    except BaseException:
        _end(process, mark)
        raise
    finally:
        loop.remove_reader(output)
        os.close(output)
    return Ended(process.returncode if process.returncode is not None else -signal.SIGKILL, timed_out, left)


def program(name: str, path: str, *, outside: Path) -> Path | None:
    """Find a program by the absolute entries of a PATH, never in a folder whose files others may have made."""
    for entry in path.split(os.pathsep):
        found = shutil.which(name, path=entry) if entry.startswith("/") else None
        if found and not any(Path(place).is_relative_to(outside) for place in (found, os.path.realpath(found))):
            return Path(found)
    return None


@cache
def _hide_environment() -> None:
    """Keep our environment, keys and all, from what we start: on Linux `/proc/<our id>/environ` is closed to it.

    Root with all its capabilities still sees it.
    """
    import ctypes  # only where a command is about to run

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _start(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    output, given = os.pipe()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=given,
            stderr=given,
            cwd=cwd,
            env=environ,
            start_new_session=True,
        )
    except BaseException:
        os.close(output)
        raise
    finally:
        os.close(given)
    os.set_blocking(output, False)
    return process, output


async def _ended(process: subprocess.Popen[bytes], enough: asyncio.Event) -> None:
    while process.poll() is None and not enough.is_set():  # noqa: ASYNC110  # a wait in a thread outlives a cancel
        await asyncio.sleep(_TICK)


async def _settled(closed: asyncio.Event, group: int, mark: str) -> None:
    await closed.wait()
    while _kin(group, mark):  # noqa: ASYNC110  # nobody tells when they end
        await asyncio.sleep(_TICK)


async def _within(seconds: float, awaited: Awaitable[object]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await awaited


def _end(process: subprocess.Popen[bytes], mark: str) -> int:
    """Kill the process, its group, and what left the group but carries the mark; tell how many were left."""
    ended = set[int]()
    for _ in range(5):
        kin = _kin(process.pid, mark)
        _signal(process.pid, signal.SIGKILL)
        for pid in kin - ended:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not kin - ended:
            break
        ended |= kin
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.1)
    return len(ended - {process.pid})


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _kin(group: int, mark: str) -> set[int]:
    """Find the living processes of a group, or with its mark, where the system has `/proc`."""
    return {pid for pid in _own_processes() if _is_kin(pid, group, f"{_MARK}={mark}".encode())}


def _own_processes() -> list[int]:
    try:
        with os.scandir("/proc") as entries:
            named = [entry for entry in entries if entry.name.isdigit()]
            return [int(entry.name) for entry in named if entry.stat().st_uid == os.geteuid()]
    except OSError:
        return []


def _is_kin(pid: int, group: int, mark: bytes) -> bool:
    try:
        state, _, its_group = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:3]
        if state in (b"Z", b"X"):
            return False
        return int(its_group) == group or mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return False
