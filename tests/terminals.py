"""One program in a pseudo-terminal, and the installed command there with a scripted model."""

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pexpect
from stage_cli import OGCODE, Place

FRAME = "Ask for something"
LIVE = "\x1b[?1004h"
"""Focus reports are asked for by the app, not by its first frame."""
LEFT = ("\x1b[?2004l", "\x1b[?1049l", "\x1b[?25h")


class Terminal:
    """One program, and all that it wrote."""

    def __init__(self, arguments: list[str], cwd: Path, environ: dict[str, str]) -> None:
        given = {"LANG": "C.UTF-8", "TERM": "xterm-256color", **environ}
        self.child = pexpect.spawn(
            arguments[0],
            arguments[1:],
            cwd=str(cwd),
            env=given,
            dimensions=(24, 80),
            timeout=30,
            encoding="utf-8",
            codec_errors="replace",
        )
        self.pid = self.child.pid or 0
        self.raw = ""
        self.answers = False
        """It says where its cursor is when it is asked, as real ones do."""
        self._answered = 0

    def answer(self) -> None:
        """Answer all questions that have come by now."""
        asked = self.raw.count("\x1b[6n")
        os.write(self.child.child_fd, b"\x1b[5;3R" * (asked - self._answered))
        self._answered = asked

    def until(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < deadline, self.raw[-3000:]
            try:
                self.raw += self.child.read_nonblocking(1 << 16, timeout=0.1)
                if self.answers:
                    self.answer()
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                assert holds(), self.raw[-3000:]

    def sees(self, text: str, after: int = 0) -> None:
        self.until(lambda: text in self.plain(after))

    def plain(self, after: int = 0) -> str:
        return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", self.raw[after:]).replace("\xa0", " ")

    def ends(self) -> int:
        """Wait for its end; give the exit code."""
        deadline = time.monotonic() + 30
        try:
            while True:
                assert time.monotonic() < deadline, self.raw[-3000:]
                self.raw += self.child.read_nonblocking(1 << 16, timeout=30)
                if self.answers:
                    self.answer()
        except pexpect.EOF:
            self.child.close()
        assert self.child.exitstatus is not None, self.child.signalstatus
        return int(self.child.exitstatus)

    def restored(self) -> bool:
        """Whether the terminal is as it was found."""
        return all(self.raw.rfind(each) > self.raw.rfind(each[:-1] + "h") for each in LEFT[:2])


def played(place: Place, script: Sequence[object]) -> Place:
    path = place.folder.parent / "script.json"
    path.write_text(json.dumps(script), "utf-8")
    place.environ |= {"OGCODE_MODEL": f"scripted/{path}", "OGCODE_TRUST": "1", "OGCODE_SCRIBE_LINGER": "0"}
    return place


def ogcode(place: Place, *arguments: str, **environ: str) -> Terminal:
    return Terminal([str(OGCODE), *arguments], place.folder, {**place.environ, **environ})


def stuck(place: Place, *arguments: str) -> Terminal:
    """Start it where it can't get beyond its first frame: its settings are a pipe that nobody writes to."""
    place.home.mkdir()
    os.mkfifo(place.home / "config.toml")
    terminal = ogcode(place, *arguments)
    terminal.sees(FRAME)
    return terminal


def sleeping(seconds: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{seconds}\0".encode():
                return True
        except OSError:
            continue
    return False
