"""The command from its front door on, in this process: all but the start of an interpreter, most of what one takes."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ogcode.tui.entry import run


def run_indoors(
    arguments: Sequence[str], *, folder: Path, environ: Mapping[str, str], stdin: str | None
) -> "subprocess.CompletedProcess[str]":
    """Run one command line as `subprocess.run` would, with a folder, an environment and streams of its own."""
    with ExitStack() as undo:
        out, err = (undo.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        given = os.open(os.devnull, os.O_RDONLY) if stdin is None else _pipe(stdin)
        undo.enter_context(_streams(given, out.fileno(), err.fileno()))
        undo.enter_context(_place(folder, environ))
        undo.enter_context(_deadline(60))
        code = run(arguments)
        said = [os.pread(stream, os.fstat(stream).st_size, 0).decode("utf-8") for stream in (1, 2)]
    return subprocess.CompletedProcess(["ogcode", *arguments], code, *said)


def _pipe(text: str) -> int:
    """Give the end that can be read of a pipe that all of a text goes into."""
    reader, writer = os.pipe()

    def write() -> None:
        with os.fdopen(writer, "wb") as end:
            end.write(text.encode())

    threading.Thread(target=write, daemon=True).start()
    return reader


@contextmanager
def _streams(*streams: int) -> Iterator[None]:
    """Put files in the place of the standard streams, for children as well."""
    before, usual = [os.dup(number) for number in range(3)], (sys.stdin, sys.stdout, sys.stderr)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.close(streams[0])
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = usual
        for number, stream in enumerate(before):
            os.dup2(stream, number)
            os.close(stream)


@contextmanager
def _place(folder: Path, environ: Mapping[str, str]) -> Iterator[None]:
    here, usual, mask = os.open(".", os.O_RDONLY), dict(os.environ), os.umask(0o022)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(usual)
        os.fchdir(here)
        os.close(here)
        os.umask(mask)


@contextmanager
def _deadline(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        pytest.fail(f"it ran for more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
