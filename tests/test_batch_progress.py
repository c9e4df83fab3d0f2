import io
from pathlib import Path

import pytest
from stage import Clock

from ogcode.tui.batch.progress import Progress
from ogcode.tui.batch.results import Result


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def seen(terminal: Terminal) -> list[str]:
    """Give the lines that a terminal ends up showing."""
    lines = list[str]()
    for piece in terminal.getvalue().split("\x1b["):
        head, moved, rest = piece.partition("A")
        if moved and head.isdecimal():
            lines = lines[: -int(head)]
            piece = rest
        lines += piece.removeprefix("J").splitlines()
    return lines


def test_a_terminal_shows_what_is_at_work_below_what_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    log, clock, terminal = tmp_path / "log", Clock(), Terminal()
    log.write_text("first\n\x1b[2Jread 试试试试试试试试试试试试试试试试试试试试试试试试\n", "utf-8")
    progress = Progress(terminal, 3, clock)
    progress.at("one", "runs", log)
    progress.at("two", "setup")
    progress.draw()
    clock.now += 5
    progress.ended(Result("two", 1, "check_failed", reason="the check\nended with 1", check=1), 0.5)
    progress.draw()
    lines = seen(terminal)
    assert lines[:2] == [
        "[1/3] two: check failed, 0.0 s, check 1: the check ended with 1",
        "1 check failed, $0.5000; 1 at work, 1 waiting; 5 s",
    ]
    assert lines[2].startswith("one runs, 5 s: read 试")
    assert len(lines[2].encode("gb18030")) <= 59
    progress.clear()
    assert len(seen(terminal)) == 1


def test_elsewhere_each_event_is_a_line() -> None:
    out = io.StringIO()
    progress = Progress(out, 2, Clock())
    progress.at("one", "runs")
    progress.draw()
    progress.ended(Result("one", 1, "done"), 0.0)
    progress.clear()
    assert out.getvalue() == "one: runs\n[1/2] one: done, 0.0 s\n"
