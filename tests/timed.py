"""A program in a pseudo-terminal of ours: what it writes, how long that takes it, and how much memory it holds."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

PATIENCE = 150.0
QUIET = 0.03
"""Seconds without output and without work, after which a program has done what it was asked."""


class Terminal:
    """Runs one program until the block ends, and then kills it."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (100, 30)
    ) -> None:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if not self.pid:
            os.chdir(cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            os.execve(command[0], [*command], dict(env))
        self.output = bytearray()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self.pid, 0)

    @property
    def cpu(self) -> float:
        """Seconds of CPU time of all its threads, user and system."""
        return time.clock_gettime((~self.pid << 3) | 2)

    @property
    def resident(self) -> float:
        """Megabytes of memory."""
        told = Path(f"/proc/{self.pid}/status").read_text("ascii")
        return int(told.partition("VmRSS:")[2].split()[0]) / 1024

    def read(self, seconds: float) -> bool:
        """Take in what comes within a time; tell whether something did."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self._fd, 1 << 16)
        except OSError as error:  # Linux's way to say that the other end is closed
            raise EOFError(self.output[-2000:].decode(errors="replace")) from error
        self.output += got
        return bool(got)

    def until(self, text: str, start: int = 0) -> float:
        """Read until a text has come; return the CPU time that was used by then."""
        deadline = time.monotonic() + PATIENCE
        while self.output.find(text.encode(), start) < 0:
            assert time.monotonic() < deadline, f"no {text!r} in {self.output[start:][-3000:].decode(errors='replace')}"
            self.read(0.5)
        return self.cpu

    def settle(self) -> None:
        """Read until it neither writes nor works."""
        deadline, before = time.monotonic() + PATIENCE, self.cpu
        while time.monotonic() < deadline:
            if not self.read(QUIET) and self.cpu - before < QUIET / 20:
                return
            before = self.cpu

    def write(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
