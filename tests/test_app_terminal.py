"""The app in a pseudo-terminal: what it does to the terminal before it is there, while it runs, and when it ends."""

import os
import re
import signal
import sys
import termios
import textwrap
import time
from pathlib import Path

import pytest
from stage_cli import Place, new_place
from terminals import FRAME, LIVE, Terminal, ogcode, played, sleeping, stuck

from ogcode.tui.screen.driver import Canvas
from ogcode.tui.screen.pace import QUESTION

TESTS = Path(__file__).parent
HOSTILE = (
    "a \x1b]52;c;cGF3bmVk\x07 b \x1b]52;c;cGF3bmVk\x1b\\ c",
    "\x1b]0;pwn\x07 \x1b[2J \x1b[?1049l \x1bc done",
    "\x1b]8;;https://evil.test\x1b\\click\x1b]8;;\x1b\\ \x1b]8;;https://evil.test unclosed",
    "[/foo] [@click=app.quit]x[/] [b +",
    "rm \u202e\u2066\u200b\U000e0041 x",
    "\x80\x9b31m\x9d0;title\x9c \ud800 end",
    "y" * 5_000 + "a" + "\u0301" * 500,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = new_place(tmp_path)
    answers = [
        {"role": "agent", "replies": [{"text": "it is done"}]},
        {"role": "scribe", "replies": [{"error": "broken"}]},
    ]
    return played(place, answers)


def staged(tmp_path: Path, code: str) -> Terminal:
    """Run the app at a stage that a piece of code builds."""
    program = f"""
        import asyncio, os, subprocess, sys
        from pathlib import Path
        sys.path.insert(0, {str(TESTS)!r})
        from stage import *
        from test_app_terminal import HOSTILE
        from ogcode.agent.events import *
        from ogcode.agent.turn import ToolCall
        from ogcode.tui.screen.launch import run_app
    """
    program = textwrap.dedent(program) + textwrap.dedent(code)
    return Terminal(
        [sys.executable, "-P", "-c", program], tmp_path, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    )


def test_what_is_typed_before_the_app_is_there_is_kept(place: Place) -> None:
    terminal = ogcode(place)
    terminal.child.delaybeforesend = None
    terminal.child.send("grüße 世界\r")
    terminal.sees(FRAME)
    terminal.child.send("\x1b[200~two\nlines\x1b[201~")
    terminal.sees("it is done")
    assert "grüße 世界" in terminal.plain()
    terminal.sees("lines")
    assert "queued" not in terminal.plain(terminal.raw.index("it is done"))
    terminal.child.send("\x03\x04")
    assert terminal.ends() == 0


def test_ctrl_c_before_the_app_is_there_ends_it_and_restores_the_terminal(place: Place) -> None:
    terminal = stuck(place)
    terminal.child.send("\x03")
    assert terminal.ends() == 130
    assert terminal.restored()


def test_sigterm_before_the_app_is_there_restores_the_terminal(place: Place) -> None:
    terminal = stuck(place)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 143
    assert terminal.restored()


def test_an_error_before_the_app_is_there_can_be_read(place: Place) -> None:
    place.home.mkdir()
    (place.home / "config.toml").write_text("modle = 'x'\n", "utf-8")
    terminal = ogcode(place)
    assert terminal.ends() == 2
    assert "unknown key 'modle'" in terminal.raw[terminal.raw.index("\x1b[?1049l") :]


def test_the_first_frame_shows_the_model_that_is_known(place: Place) -> None:
    terminal = stuck(place, "-m", "openai/\x1b]0;x\x07y")
    assert "openai/]0;xy" in terminal.plain()
    terminal.child.send("\x03")
    terminal.ends()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_app_and_restores_the_terminal(place: Place, number: int, code: int) -> None:
    terminal = ogcode(place)
    terminal.until(lambda: LIVE in terminal.raw)
    terminal.child.send("x")
    terminal.sees("x", terminal.raw.index(LIVE))
    os.kill(terminal.pid, number)
    assert terminal.ends() == code
    assert terminal.restored()
    assert all(each in terminal.raw for each in ("\x1b[?1000l", "\x1b[?1006l", "\x1b[<u", "\x1b[?25h", "\x1b[?1004l"))


def test_a_suspended_app_gives_the_terminal_back_and_takes_it_again(place: Place) -> None:
    terminal = ogcode(place)
    terminal.until(lambda: LIVE in terminal.raw)
    terminal.child.send("x")
    terminal.sees("x", terminal.raw.index(LIVE))
    terminal.child.send("\x1a")
    stat = Path(f"/proc/{terminal.pid}/stat")
    terminal.until(lambda: stat.read_text("utf-8").rpartition(")")[2].split()[0] == "T")
    terminal.until(terminal.restored)
    assert termios.tcgetattr(terminal.child.child_fd)[3] & termios.ICANON
    there = len(terminal.raw)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.until(lambda: LIVE in terminal.raw[there:])
    terminal.sees("/help shows", there)
    terminal.child.send("Ж")
    terminal.sees("Ж", there)
    there = len(terminal.raw)
    terminal.child.send("\x15")
    terminal.sees(FRAME[1:], there)
    terminal.child.send("\x04")
    assert terminal.ends() == 0


FAULTS = {
    "as it begins": """
        async def fail():
            secret = "s3cr3t"
            raise ZeroDivisionError("by zero")
        stage = Stage(opening=fail)
        """,
    "in a widget": """
        class Broken(Stage):
            def status(self):
                secret = "s3cr3t"
                return super().status() if not self.ended else 1 / 0
        stage = Broken()
        """,
}


@pytest.mark.parametrize(("where", "inline"), [("as it begins", True), ("in a widget", False)])
def test_a_fault_of_the_app_is_a_sentence_in_a_terminal_that_works(tmp_path: Path, where: str, *, inline: bool) -> None:
    terminal = staged(
        tmp_path,
        f"""{FAULTS[where]}
        try:
            run_app(stage, first_prompt="go", inline={inline})
        except ZeroDivisionError as error:
            print("after all:", error)
        """,
    )
    terminal.ends()
    given_back = terminal.raw.rindex("\x1b[?25h")
    assert re.search("after all: (division )?by zero", terminal.raw[given_back:])
    assert terminal.raw.rindex("\x1b[?2004l") > terminal.raw.rindex("\x1b[?2004h")
    assert "s3cr3t" not in terminal.raw


def test_stray_prints_go_to_the_log(tmp_path: Path) -> None:
    terminal = staged(
        tmp_path,
        """
        async def play(emit, approve):
            os.write(1, b"stray one\\n")
            sys.__stderr__.write("stray two\\n")
            subprocess.run(["sh", "-c", "echo stray three; echo stray four >&2"])
            await saying("it is done")(emit, approve)
        run_app(Stage([play]), first_prompt="go", log=Path("logs/app.log"))
        """,
    )
    terminal.sees("it is done")
    terminal.child.send("\x04")
    assert terminal.ends() == 0
    assert "stray" not in terminal.raw
    told = (tmp_path / "logs" / "app.log").read_text("utf-8")
    assert [f"stray {each}" in told for each in ("one", "two", "three", "four")] == [True] * 4


def test_no_sequence_of_others_reaches_the_terminal(tmp_path: Path) -> None:
    terminal = staged(
        tmp_path,
        """
        text = "\\n\\n".join(HOSTILE)
        call = ToolCall("c1", HOSTILE[3], '{"command": "' + HOSTILE[4] + '"}')
        events = [ToolStarted(call), ToolFinished(call, text), Warned(text), *map(TextDelta, text)]
        plays = [happening(*events, Answered(text, (), Usage(1, 1)))]
        run_app(Stage(plays, notices=HOSTILE, before=[(text, text)]), first_prompt=text)
        """,
    )
    terminal.sees("note 2026")
    there = len(terminal.raw)
    terminal.child.send("\x0f")  # unfold all
    terminal.until(lambda: len(terminal.raw) > there)
    terminal.child.send("\x04")
    assert terminal.ends() == 0
    assert "\x1b[?1049l" not in terminal.raw[:there]
    sent = [
        each
        for each in ("\x1b]52", "\x1b]0", "\x1b]8", "\x1bc", "\x1b[2J", "\u202e", "\u2066", "\x9b", "\x9d")
        if each in terminal.raw
    ]
    assert sent == []


def test_below_the_prompt_no_block_of_a_long_turn_is_lost_and_lines_end_where_their_text_does(tmp_path: Path) -> None:
    terminal = staged(
        tmp_path,
        """
        steps = [Warned(f"step {number} of it") for number in range(60)]
        run_app(Stage([happening(*steps, Answered("all is over", (), Usage(1, 1)))]), first_prompt="go", inline=True)
        """,
    )
    line = r"step (\d+) of it(?:\x1b\[[0-9;]*m)*\r+\n"
    terminal.until(lambda: re.search(line, terminal.raw[terminal.raw.rfind("step 59") :]))
    terminal.until(lambda: terminal.raw.rindex("main") > terminal.raw.rindex("step 59"))
    terminal.child.send("\x04")
    assert terminal.ends() == 0
    printed = [int(number) for number in re.findall(line, terminal.raw)]
    assert printed == [*range(60)]
    moves = re.findall(r"\x1b\[(\d*)([AB])", terminal.raw[terminal.raw.rindex("main") :])
    assert sum(int(lines or 1) * (1 if way == "A" else -1) for lines, way in moves) == 2  # from the status to the top


def test_a_terminal_that_is_slow_gets_what_holds_now_and_nobody_waits_for_what_was(tmp_path: Path) -> None:
    terminal = staged(
        tmp_path,
        """
        async def play(emit, approve):
            for number in range(300):
                emit(TextDelta(f"word {number}\\n\\n"))
                await asyncio.sleep(0.002)
            Path("over").touch()
            await asyncio.Event().wait()
        run_app(Stage([play]))
        """,
    )
    terminal.until(lambda: QUESTION in terminal.raw)
    terminal.answer()
    terminal.child.send("go\r")
    terminal.until((tmp_path / "over").exists)
    there = len(terminal.raw)
    assert there < 16_000
    assert "word 299" not in terminal.plain()
    terminal.answers = True
    terminal.answer()
    terminal.sees("word 299", there)
    terminal.child.send("\x04")
    assert terminal.ends() == 0
    assert terminal.restored()


def test_a_plain_terminal_as_over_ssh_shows_a_turn_in_its_own_colours_and_is_left_as_it_was(place: Place) -> None:
    terminal = ogcode(place, "go on", TERM="vt100", LANG="C", LC_ALL="C")
    terminal.answers = True
    modes = os.dup(terminal.child.child_fd)
    before = termios.tcgetattr(modes)
    terminal.sees("it is done")
    terminal.sees("note 2")
    terminal.child.send("\x04")
    assert terminal.ends() == 0
    assert terminal.restored()
    assert termios.tcgetattr(modes) == before
    os.close(modes)
    codes = {code for each in re.findall(r"\x1b\[([\d;]*)m", terminal.raw) for code in each.split(";")}
    assert codes & {"38", "48"} == set()  # no colour but the terminal's own sixteen
    # What it still had to say was waited for: the shell would have taken it for typed.
    assert re.search(re.escape(QUESTION) + r"(\x1b\[\?\d+[hl])+\x1b\[<u", terminal.raw)


@pytest.mark.parametrize("delay", [0.2, 0.002], ids=["slowly", "in a flood"])
def test_a_turn_whose_terminal_is_closed_is_recorded_and_the_app_ends(place: Place, delay: float) -> None:
    played(place, [{"role": "agent", "replies": [{"text": "one two three\n\n" * round(60 / delay), "delay": delay}]}])
    terminal = ogcode(place, "go on")
    terminal.sees("one two")
    os.close(terminal.child.child_fd)
    process = Path(f"/proc/{terminal.pid}/stat")
    deadline = time.monotonic() + 20
    while process.exists() and process.read_text("utf-8").rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
    store = place.folder / ".ogcode"
    [transcript] = (store / "sessions").glob("*.jsonl")
    assert '"outcome": "interrupted"' in transcript.read_text("utf-8")
    assert [*(store / "spool").glob("*.json"), *(store / "memory").glob("*.md")]
    os.waitpid(terminal.pid, 0)


def test_what_is_drawn_on_a_terminal_that_is_gone_goes_nowhere_and_is_told_once_as_a_hangup() -> None:
    heard = list[int]()
    before = signal.signal(signal.SIGHUP, lambda number, _: heard.append(number))
    there, here = os.openpty()
    try:
        canvas = Canvas(os.fdopen(here, "wb", closefd=False), "utf-8")
        os.close(there)
        for _ in range(100):
            canvas.write("a line\n" * 2_000)
            canvas.flush()
        assert heard == [signal.SIGHUP]
    finally:
        os.close(here)
        signal.signal(signal.SIGHUP, before)


def test_escape_ends_a_command_that_hangs(place: Place) -> None:
    call = {"name": "bash", "arguments": {"command": "touch begun; sleep 98765.5"}}
    played(place, [{"role": "agent", "replies": [{"text": "", "calls": [call]}]}])
    terminal = ogcode(place, "--mode", "yolo", "go on")
    terminal.until((place.folder / "begun").exists)
    terminal.child.send("\x1b")
    terminal.sees("interrupted")
    terminal.until(lambda: not sleeping("98765.5"))
    terminal.child.send("\x04")
    assert terminal.ends() == 0
