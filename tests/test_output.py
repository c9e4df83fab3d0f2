import asyncio
import io
import os
import pty
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from ogcode.agent.events import Answered, Event, ToolFinished, ToolStarted, Warned
from ogcode.agent.turn import ToolCall, Usage
from ogcode.tui.headless.asked import BadInput
from ogcode.tui.headless.progress import Lines, Live, Quiet, Started, cut
from ogcode.tui.headless.structured import Structure

STARTED = Started("0123456789abcdef" * 2, "openai/x", "ask", ("read",))
CALL = ToolCall("1", "bash", '{"command": "sleep 1"}')
EVENTS: tuple[Event, ...] = (
    Answered("", (CALL,), Usage(1_200, 34)),
    ToolStarted(CALL),
    Warned("careful\x1b[2J"),
    ToolFinished(CALL, "a\nb\n"),
    Answered("done", (), Usage(10, 5)),
)


def on_a_terminal(columns: int, events: tuple[Event, ...]) -> str:
    """Give the bytes that a terminal of this width gets."""
    main, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, columns))

    async def run() -> None:
        with os.fdopen(terminal, "w", encoding="utf-8") as stderr:
            live = Live(stderr)
            live.begin(STARTED)
            for event in events:
                live.event(event)
            live.end("", "")

    asyncio.run(run())
    shown = b""
    with suppress(OSError):  # all was read, and nobody holds the other end
        while piece := os.read(main, 65_536):
            shown += piece
    os.close(main)
    return shown.decode()


def test_a_terminal_has_one_line_that_is_written_anew_and_goes_away_at_the_end() -> None:
    shown = on_a_terminal(80, EVENTS)
    lines = [part.removesuffix("\x1b[K") for part in shown.replace("\r\n", "\n").split("\r")]
    assert "1 step · 1,234 tokens · 0 s · bash sleep 1" in lines
    assert "ogcode: careful" in shown
    assert shown.rstrip().endswith("1 step · 1,249 tokens · 0 s · session 01234567")
    assert "\x1b[" not in shown.replace("\x1b[K", "")


def test_the_line_never_takes_more_than_the_terminal_has() -> None:
    long = (ToolStarted(ToolCall("1", "bash", "日本語" * 100)),)
    drawn = [part for part in on_a_terminal(40, long).split("\r") if part.endswith("\x1b[K") and len(part) > 3]
    assert drawn
    assert all(cut(part.removesuffix("\x1b[K"), 39) == part.removesuffix("\x1b[K") for part in drawn)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本", 4, "日本"),
        ("日本語", 4, "日…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
    ],
)
def test_a_line_is_cut_by_the_cells_that_its_letters_take(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown


def test_without_a_terminal_each_step_is_a_plain_line() -> None:
    stderr = io.StringIO()
    lines = Lines(stderr)
    lines.begin(STARTED)
    for event in EVENTS:
        lines.event(event)
    lines.end("", "/spool/x.json")
    assert stderr.getvalue().splitlines()[0] == "· bash sleep 1"
    assert "\x1b" not in stderr.getvalue()
    assert "spool" not in stderr.getvalue()


def test_quiet_says_why_a_turn_ended_early_and_nothing_else() -> None:
    stderr = io.StringIO()
    quiet = Quiet(stderr)
    quiet.begin(STARTED)
    quiet.notice("noticed")
    for event in EVENTS:
        quiet.event(event)
    quiet.end("limit: the limit", "")
    assert stderr.getvalue() == "ogcode: limit: the limit\n"


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        ('{"n": 1}', ""),
        ('```json\n{}\n```\nor\n```\n{"n": 2}\n```', ""),
        ('{"n": NaN}', "not one JSON value (NaN is not JSON)"),
        ("[" * 100_000, "not one JSON value"),
        ('{"n": "1", "m": 2}', "$.n: '1' is not of type 'integer'"),
        ("{}", "$: 'n' is a required property"),
        ('{"n": 1} and so on', "not one JSON value"),
    ],
)
def test_an_answer_is_held_against_the_schema(tmp_path: Path, answer: str, wrong: str) -> None:
    structure = Structure(
        '{"properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"], "$defs": {"n": {"type": "integer"}}}', tmp_path
    )
    checked = structure.check(answer)
    assert wrong in checked.wrong
    assert bool(wrong) == bool(checked.wrong)
    assert bool(structure.form.wrong(answer)) == bool(wrong)


def test_a_schema_that_refers_to_nothing_is_no_reason_to_lose_the_answer(tmp_path: Path) -> None:
    assert "refers to what is not in it" in Structure('{"$ref": "#/$defs/none"}', tmp_path).check("1").wrong


def test_a_schema_fetches_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="leads out of the schema"):
        Structure('{"items": [{"$ref": "http://127.0.0.1:9/x.json"}]}', tmp_path)
