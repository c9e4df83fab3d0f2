"""One attempt at a task: a headless run in a process of its own that outlives us, and is found again."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.files.durable import born, make_folder, replace_file

_LAST = 2_000
"""Bytes of a log in which its last line is looked for."""
_LARGEST = 20_000_000


@dataclass(frozen=True, slots=True)
class Files:
    """What an attempt is told, what it answers, and what it says meanwhile."""

    prompt: Path
    answer: Path
    """Locked for as long as the process lives."""
    log: Path

    @classmethod
    def of(cls, folder: Path, task: str, attempt: int) -> "Files":
        return cls(*(folder / f"{task}.{attempt}.{what}" for what in ("prompt", "json", "log")))

    def drop(self) -> None:
        """Remove what was told and answered, once that is no longer needed; the log stays."""
        for path in (self.prompt, self.answer):
            path.unlink(missing_ok=True)

    def alive(self) -> bool:
        """Tell whether the process that answers is still there, whoever started it."""
        try:
            descriptor = os.open(self.answer, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def told(self) -> Mapping[str, object] | None:
        """Give the result object, if there is a whole one."""
        with suppress(OSError, ValueError, RecursionError):
            if self.answer.stat().st_size <= _LARGEST:
                given = json.loads(self.answer.read_bytes())
                return given if isinstance(given, dict) and given.get("type") == "result" else None
        return None


@dataclass(slots=True)
class Child:
    """The process of an attempt, ours or one that an earlier run of the batch has left."""

    files: Files
    pid: int | None
    born: str
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def running(self) -> bool:
        return self.files.alive() if self.process is None else self.process.poll() is None

    @property
    def code(self) -> int | None:
        """As `subprocess` has it; of one that was not ours, nobody knows."""
        return self.process.poll() if self.process else None

    def interrupt(self, number: int) -> None:
        """Ask it to end."""
        if self._is_it():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid or 0, number)

    def kill(self) -> None:
        """End it and its process group at once."""
        if self._is_it():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid or 0, signal.SIGKILL)

    def _is_it(self) -> bool:
        return bool(self.pid) and self.running and born(self.pid or 0) == self.born


def start(files: Files, prompt: str, words: Sequence[str], *, folder: Path, environ: Mapping[str, str]) -> Child:
    """Start a headless run: its own session, the prompt as its input.

    Raises:
        OSError: it did not start.
    """
    make_folder(files.answer.parent)
    replace_file(files.prompt, prompt.encode())
    environ = {name: value for name, value in environ.items() if not name.startswith(("PYTHON", "OGCODE_CALL"))}
    write = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    answer = os.open(files.answer, write, 0o600)
    try:
        fcntl.flock(answer, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with files.prompt.open("rb") as told, os.fdopen(os.open(files.log, write, 0o600), "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-E", "-m", "ogcode.tui", "-p", "-", "--output-format", "json", *words],
                stdin=told,
                stdout=answer,
                stderr=log,
                cwd=folder,
                env=environ,
                start_new_session=True,
            )
    finally:
        os.close(answer)
    return Child(files, process.pid, born(process.pid), process)


def last_line(log: Path) -> str:
    """Give the last line that a run said."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _LAST))
        lines = file.read(_LAST).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""
