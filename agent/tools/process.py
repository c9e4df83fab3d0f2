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

    def told(self) -> list[str]:
        """Say it to the model, a line each; nothing where all went well."""
        told = [f"[{self.left} still running in the background: ended]"] if self.left else []
        if self.code < 0:
            told.append(f"exit {128 - self.code} ({signal.strsignal(-self.code) or 'signal'})")
        elif self.code:
            told.append(f"exit {self.code}")
        return told


class Running:
    """A process that was started without input, with all that it starts; `feed` gets what they print.

    It is the process that is waited for, not its output: a child in the background may hold that open for ever.
    A `keeper` only keeps what it was started for, as a sandbox does: on a timeout it is the others that are told.

    Raises:
        OSError: it could not be started.
        ValueError: a word of it holds what no program can be given.
    """

    def __init__(
        self,
        command: Sequence[str],
        feed: Callable[[bytes], bool],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        keeper: bool = False,
    ) -> None:
        _hide_environment()
        self._loop, self._feed, self._keeper = asyncio.get_running_loop(), feed, keeper
        self._closed, self._enough = asyncio.Event(), asyncio.Event()
        self._mark = secrets.token_hex(8)
        self._process, self._output = _start(command, cwd, {**environ, _MARK: self._mark})
        try:
            self._avenger = _Avenger(self._process.pid, self._mark)
        except OSError:
            _end(self._process, self._mark)
            os.close(self._output)
            raise
        self._loop.add_reader(self._output, self._pump)
        self._open = True

    @property
    def code(self) -> int | None:
        """As `subprocess` has it: negative for a signal, None while it runs."""
        return self._process.poll()

    async def wait(self, seconds: float) -> bool:
        """Wait until it ends or `feed` says no; tell whether that came in time."""
        return await _within(seconds, self._ended())

    async def terminate(self) -> None:
        """Ask it to end, and give it a moment to."""
        told = _kin(self._process.pid, self._mark) - {self._process.pid} if self._keeper else set[int]()
        for pid in told:
            _kill(pid, signal.SIGTERM)
        if not told:
            _signal(self._process.pid, signal.SIGTERM)
        await self.wait(_TERM_SECONDS)

    async def finish(self, *, timed_out: bool = False) -> Ended:
        """End what is left once the last of its output has come."""
        if not self._enough.is_set():
            await _within(_SETTLE_SECONDS, self._settled())
        left = _end(self._process, self._mark)
        if not self._enough.is_set():
            await _within(_SETTLE_SECONDS, self._closed.wait())
        self._release()
        return Ended(-signal.SIGKILL if self.code is None else self.code, timed_out, left)

    def kill(self) -> None:
        """End all of it at once, if that was not done."""
        if self._open:
            _end(self._process, self._mark)
            self._release()

    def _release(self) -> None:
        self._open = False
        self._avenger.dismiss()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._output)
        os.close(self._output)

    def _pump(self) -> None:
        try:
            piece = os.read(self._output, 65_536)
        except BlockingIOError:
            return
        if not piece:
            self._loop.remove_reader(self._output)
            self._closed.set()
        elif not self._feed(piece):
            self._loop.remove_reader(self._output)
            self._enough.set()

    async def _ended(self) -> None:
        while self._process.poll() is None and not self._enough.is_set():  # noqa: ASYNC110  # a thread outlives a cancel
            await asyncio.sleep(_TICK)

    async def _settled(self) -> None:
        await self._closed.wait()
        while _kin(self._process.pid, self._mark):  # noqa: ASYNC110  # nobody tells when they end
            await asyncio.sleep(_TICK)


async def run(
    command: Sequence[str],
    feed: Callable[[bytes], bool],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    seconds: float,
    keeper: bool = False,
) -> Ended:
    """Run a command without input and feed on what it prints until the process ends, or `feed` says no.

    Raises:
        OSError, ValueError: it could not be started.
    """
    running = Running(command, feed, cwd=cwd, environ=environ, keeper=keeper)
    try:
        timed_out = not await running.wait(seconds)
        if timed_out:
            await running.terminate()
        return await running.finish(timed_out=timed_out)
    finally:
        running.kill()


def program(name: str, path: str, *, outside: Path) -> Path | None:
    """Find a program by the absolute entries of a PATH, never in a folder whose files others may have made.

    A shim is passed over: what it runs is chosen by files of the folder that it is called in.
    """
    for entry in path.split(os.pathsep):
        if is_shim(entry):
            continue
        found = shutil.which(name, path=entry) if entry.startswith("/") else None
        if found and not any(Path(place).is_relative_to(outside) for place in (found, os.path.realpath(found))):
            return Path(found)
    return None


def is_shim(folder: str) -> bool:
    """Tell whether the programs of a folder only look up which one to run, as those of asdf, mise and pyenv do."""
    return folder.rstrip("/").endswith("/shims")


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


class _Avenger:
    """A shell that waits for the end of this process, however it comes, and then ends what it had started."""

    _SCRIPT = (
        'read -r _; kill -9 -- "-$0"; for each in $(grep -lsxz "$1" /proc/[0-9]*/environ); '
        'do each=${each#/proc/}; kill -9 "${each%/environ}"; done'
    )

    def __init__(self, group: int, mark: str) -> None:
        ours, self._held = os.pipe()
        null = subprocess.DEVNULL
        command = ["/bin/sh", "-c", self._SCRIPT, str(group), f"{_MARK}={mark}"]
        environ = {"PATH": "/usr/bin:/bin"}
        try:
            self._shell = subprocess.Popen(
                command, stdin=ours, stdout=null, stderr=null, env=environ, cwd="/", start_new_session=True
            )
        finally:
            os.close(ours)

    def dismiss(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._held)


async def _within(seconds: float, awaited: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await awaited
    except TimeoutError:
        return False
    return True


def _end(process: subprocess.Popen[bytes], mark: str) -> int:
    """Kill the process, its group, and what left the group but carries the mark; tell how many were left."""
    ended, kept = set[int](), {process.pid}
    for _ in range(5):
        kin = _kin(process.pid, mark)
        kept |= {pid for pid in kin if _is_first(pid)}
        _signal(process.pid, signal.SIGKILL)
        for pid in kin - ended:
            _kill(pid, signal.SIGKILL)
        if not kin - ended:
            break
        ended |= kin
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.1)
    return len(ended - kept)


def _kill(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _kin(group: int, mark: str) -> set[int]:
    """Find the living processes of a group, or with its mark, where the system has `/proc`."""
    return {pid for pid in _own_processes() if _is_kin(pid, group, f"{_MARK}={mark}".encode())}


def _own_processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and _is_own(name)]  # noqa: PTH208  # fast
    except OSError:
        return []  # a system without it


def _is_own(name: str) -> bool:
    try:
        return os.stat(f"/proc/{name}").st_uid == os.geteuid()  # noqa: PTH116  # fast
    except OSError:
        return False  # ended meanwhile


def _is_kin(pid: int, group: int, mark: bytes) -> bool:
    try:
        state, _, its_group = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:3]
        if state in (b"Z", b"X"):
            return False
        return int(its_group) == group or mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return False


def _is_first(pid: int) -> bool:
    """Tell the first process of a sandbox, which only keeps the others, from these."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return False
    numbers = next((line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:")), [])
    return len(numbers) > 1 and numbers[-1] == "1"
