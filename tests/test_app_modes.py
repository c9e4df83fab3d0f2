"""The other ways in: below the shell's prompt, and as plain lines that a screen reader reads one after the other."""

import asyncio
import io
import os
import pty
import signal
import termios
from pathlib import Path

import pytest
from stage import Clock, Stage, calling, happening, saying
from stage_cli import Place, new_place
from terminals import FRAME, LIVE, ogcode, played, sleeping, stuck
from test_startup import imported, spared

from ogcode.agent.events import Emit, Nested, Retrying, TextDelta, ToolFinished, ToolStarted, Waiting
from ogcode.agent.rules import Written
from ogcode.agent.tools.ask_user import Alternative, Question
from ogcode.agent.turn import ToolCall
from ogcode.tui.desks.desk import Ask
from ogcode.tui.desks.rights import Unbelieved
from ogcode.tui.linear.front import Linear
from ogcode.tui.linear.telling import in_words

TOUCH = {"name": "bash", "arguments": {"command": "touch made"}}
HANG = {"name": "bash", "arguments": {"command": "touch begun; sleep 98764.5"}}
DRAWN = "\x1b\r─│▸▌█░…⠋"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path)


def agent(place: Place, *replies: object) -> Place:
    return played(place, [{"role": "agent", "replies": replies}, {"role": "scribe", "replies": [{"error": "broken"}]}])


def told(stage: Stage, typed: str) -> list[str]:
    """Say this into the line-based front end, all at once, and give what it says."""

    async def run() -> str:
        reading, writing = os.pipe()
        os.write(writing, typed.encode())
        os.close(writing)
        out = io.StringIO()
        try:
            assert await Linear(stage, reading, out).run("") == 0
        finally:
            os.close(reading)
        return out.getvalue()

    return asyncio.run(run()).splitlines()


def asked(question: Question) -> Stage:
    """Set a stage on which the agent asks this, and says what it reads for an answer."""
    stage = Stage()

    async def play(emit: Emit, approve: Ask) -> None:
        assert stage.work.person
        await saying(f"it reads: {await stage.work.person(question)}")(emit, approve)

    stage.plays.append(play)
    return stage


def test_a_turn_through_pipes_is_plain_lines_in_order(place: Place) -> None:
    agent(place, {"text": "I make it.", "calls": [TOUCH]}, {"text": "It is not made."})
    done = place.run("--screen-reader", stdin="make it\nmaybe\nn not now\n")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    order = [
        "the turn begins",
        "answer: I make it.",
        "tool bash started: touch made",
        "approval needed: bash",
        "y: yes, once",
        "that is no answer",
        "tool bash failed: not allowed: not now",
        "answer: It is not made.",
        "done; ",
    ]
    places = [next(at for at, line in enumerate(lines) if line.startswith(words)) for words in order]
    assert places == sorted(places)
    assert [letter for letter in DRAWN if letter in done.stdout] == []
    assert not (place.folder / "made").exists()


def test_a_file_of_messages_is_taken_line_by_line(tmp_path: Path) -> None:
    said, stage = tmp_path / "said", Stage()
    said.write_text("first\nsecond\\\nstill second", "utf-8")

    async def run() -> int:
        with said.open("rb") as file:
            return await Linear(stage, file.fileno(), io.StringIO()).run("")

    assert asyncio.run(run()) == 0
    assert stage.asked == ["first", "second\nstill second"]


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("how", ["flag", "setting", "dumb", "ascii"])
def test_plain_lines_come_by_a_flag_a_setting_or_a_terminal_that_can_do_no_more(place: Place, how: str) -> None:
    agent(place, {"text": "it is done"})
    place.home.mkdir()
    (place.home / "config.toml").write_text("screen_reader = true\n" if how == "setting" else "", "utf-8")
    terminal = ogcode(
        place,
        *(["--screen-reader"] if how == "flag" else []),
        **{"dumb": {"TERM": "dumb"}, "ascii": ASCII}.get(how, {}),
    )
    terminal.sees("message> ")
    assert ("LC_ALL=C.UTF-8" in terminal.raw) is (how == "ascii")
    before = termios.tcgetattr(terminal.child.child_fd)
    terminal.child.send("go\n")
    terminal.sees("answer: it is done")
    terminal.sees("done; ")
    terminal.sees("message> ", terminal.raw.index("done; "))
    assert termios.tcgetattr(terminal.child.child_fd) == before
    terminal.child.send("\x04")
    assert terminal.ends() == 0
    assert "\x1b" not in terminal.raw


def test_who_reads_plain_lines_is_told_of_keys_that_are_there() -> None:
    said = told(Stage(), "/doctor\n")
    assert "looking whether ogcode works here; Ctrl+C stops it" in said


def test_no_color_alone_is_still_the_app(place: Place) -> None:
    terminal = stuck(place)
    terminal.child.send("\x03")
    terminal.ends()
    assert "\x1b[?1049h" in terminal.raw


def test_ctrl_c_interrupts_a_command_that_hangs_and_the_next_two_leave(place: Place) -> None:
    agent(place, {"text": "", "calls": [HANG]})
    terminal = ogcode(place, "--screen-reader", "--mode", "yolo", "go on")
    terminal.until((place.folder / "begun").exists)
    terminal.child.send("\x03")
    terminal.sees("interrupted; /continue goes on")
    terminal.until(lambda: not sleeping("98764.5"))
    terminal.sees("message> ", terminal.raw.index("interrupted"))
    terminal.child.send("/quit\n")
    assert terminal.ends() == 0
    store = place.folder / ".ogcode"
    assert [*(store / "spool").glob("*.json"), *(store / "memory").glob("*.md")]


def test_sigterm_ends_plain_lines_with_the_turn_recorded(place: Place) -> None:
    agent(place, {"text": "", "calls": [HANG]})
    terminal = ogcode(place, "--screen-reader", "--mode", "yolo", "go on")
    terminal.until((place.folder / "begun").exists)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 143
    assert "interrupted" in terminal.raw
    assert not sleeping("98764.5")


def test_each_thing_that_happens_is_a_line_of_words() -> None:
    call, edit = ToolCall("c1", "bash", '{"command": "make"}'), ToolCall("c2", "edit", '{"path": "a.py"}')
    stage = Stage(
        [
            happening(
                Waiting("the model is being loaded"),
                TextDelta("half an"),
                Retrying("it broke off", 0),
                ToolStarted(call),
                Nested("bash", ToolStarted(ToolCall("c9", "read", '{"path": "x"}'))),
                ToolFinished(call, "a\nb"),
                ToolStarted(edit),
                ToolFinished(edit, "changed"),
                ToolFinished(ToolCall("c3", "todo", "{}"), "[x] one\n[>] two\n[ ] three"),
            )
        ]
    )
    stage.work.differences["c2"] = "--- a/a.py\n+++ b/a.py\n@@ -3 +3 @@\n-x\n+y\n"
    said = told(stage, "go\n/output\n")
    assert said[3:15] == [
        "waiting: the model is being loaded",
        "what was said of this answer is void",
        "trying again: it broke off",
        "tool bash started: make",
        "bash uses read: x",
        "tool bash done, 2 lines; /output reads them",
        "tool edit started: a.py",
        "tool edit done: 1 added, 1 removed; /output reads the change",
        "the steps:",
        "done: one",
        "now: two",
        "to do: three",
    ]
    assert said[16:] == ["[x] one", "[>] two", "[ ] three"]


def test_plain_lines_come_without_loading_the_screen(tmp_path: Path) -> None:
    loaded = imported("-c", "import ogcode.tui.interactive, ogcode.tui.linear.front", cwd=tmp_path)
    assert "ogcode.tui.linear.front" in loaded
    assert spared({"textual", "rich", "httpx", "litellm", "sqlite3", "ogcode.tui.wiring"}, loaded)


def test_a_difference_is_told_without_signs() -> None:
    shown = "--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,2 @@ def f\n x\n-y\n+z\n"
    assert in_words(shown) == ["file b/a.py", "from line 3", "kept: x", "removed: y", "added: z"]


def test_text_of_others_can_steer_neither_the_terminal_nor_the_eye() -> None:
    call = ToolCall("c1", "bash", '{"command": "rm \\u202ex \\u001b[2J"}')
    said = "\n".join(told(Stage([calling(call), saying("\x1b]0;pwn\x07 \x1b[2J")], notices=["\x9b31m"]), "go\ny\n\n"))
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(said)


@pytest.mark.parametrize(
    ("answer", "allowed"), [("y", True), ("YES", True), ("n", False), ("no thanks", False), ("", False), ("x\ny", True)]
)
def test_a_call_is_allowed_only_by_a_clear_yes(answer: str, allowed: bool) -> None:
    said = told(Stage([calling(ToolCall("c1", "bash", '{"command": "ls"}'))]), f"go\n{answer}\n")
    assert ("tool bash done, 1 line; /output reads them" in said) is allowed


def test_an_exact_call_that_is_always_allowed_is_asked_for_once() -> None:
    call = ToolCall("c1", "bash", '{"command": "ls"}')
    said = told(Stage([calling(call, call)]), "go\na\n")
    assert said.count("approval needed: bash") == 1


@pytest.mark.parametrize(
    ("answer", "reads"), [("2", "blue"), ("a light green", "a light green"), ("7\n1", "red"), ("", "nobody is there")]
)
def test_a_question_is_answered_by_a_number_or_in_words(answer: str, reads: str) -> None:
    said = told(asked(Question("Which?", (Alternative("red"), Alternative("blue", "a colour")))), f"go\n{answer}\n")
    assert "2: blue; a colour" in said
    assert any(line.startswith(f"answer: it reads: {reads}") for line in said)


@pytest.mark.parametrize(
    ("answer", "reads", "mode"),
    [("1", "the user approves the plan; the mode is edit", "edit"), ("shorter", "the user does not approve", "plan")],
)
def test_a_plan_is_approved_by_a_number(answer: str, reads: str, mode: str) -> None:
    stage = asked(Question("", plan="1. do it"))
    stage.set_mode("plan")
    said = told(stage, f"go\n{answer}\n")
    assert "1. do it" in said
    assert any(reads in line for line in said)
    assert stage.state.mode == mode


def test_a_changed_file_of_facts_is_believed_only_by_a_yes() -> None:
    stage = Stage()
    stage.rights.changed = [Unbelieved(Written("MEMORY.md", "x"), "--- a\n+++ b\n@@ -1 +1 @@\n-y\n+x\n")]
    said = told(stage, "y\n")
    assert "added: x" in said
    assert "MEMORY.md is believed as it was shown" in said


def test_what_is_typed_before_a_question_does_not_answer_it() -> None:
    clock = Clock()
    stage = Stage([calling(ToolCall("c1", "bash", '{"command": "ls"}'))])
    ours, theirs = pty.openpty()
    out = io.StringIO()

    async def run() -> int:
        running = asyncio.ensure_future(Linear(stage, theirs, out, clock=clock).run("go"))
        await shows("approval needed")
        os.write(ours, b"y\n")
        await shows("it waits until the turn is over")
        clock.now += 1
        os.write(ours, b"n\n")
        await shows("failed")
        await shows("echo: y")
        os.write(ours, b"\x04")
        return await running

    async def shows(text: str) -> None:
        async with asyncio.timeout(30):
            while text not in out.getvalue():
                await asyncio.sleep(0)

    try:
        assert asyncio.run(run()) == 0
    finally:
        os.close(ours)
        os.close(theirs)
    assert stage.asked == ["go", "y"]


def test_below_the_prompt_what_is_over_goes_to_the_scrollback(place: Place) -> None:
    agent(place, {"text": "\n\n".join(f"line {number} of it" for number in range(60))})
    terminal = ogcode(place, "--inline")
    terminal.until(lambda: LIVE in terminal.raw)
    terminal.child.send("go on\r")
    terminal.sees("· note")
    terminal.until(lambda: "line 0 of it" in terminal.plain() and "line 59 of it" in terminal.plain())
    terminal.child.send("\x03\x04")
    assert terminal.ends() == 0
    whole = [f"line {number} of it" in terminal.plain() for number in range(60)]
    assert all(whole)
    assert "─" not in terminal.raw  # a narrower window breaks a line as wide as it was, and keeps its beginning
    assert not [each for each in ("\x1b[?1049", "\x1b[2J", "\x1b[?1000h", "\x1b[?1003h") if each in terminal.raw]
    assert terminal.raw.rindex("\x1b[?2004l") > terminal.raw.rindex("\x1b[?2004h")
    assert "go on with: ogcode -r" in terminal.plain(terminal.raw.rindex("\x1b[?25h"))


def test_the_first_frame_below_the_prompt_is_taken_back(place: Place) -> None:
    terminal = stuck(place, "--inline")
    assert terminal.raw.index("\r\x1b[J") < terminal.raw.index(FRAME)
    there = len(terminal.raw)
    terminal.child.send("\x03")
    assert terminal.ends() == 130
    assert "\x1b[1A\r\x1b[J\x1b[?25h" in terminal.raw[there:]


@pytest.mark.parametrize("rows", [(5, 20), (50, 200)])
def test_a_window_of_any_size_will_do_below_the_prompt(place: Place, rows: tuple[int, int]) -> None:
    agent(place, {"text": "it is done"})
    terminal = ogcode(place, "--inline")
    terminal.child.setwinsize(*rows)
    terminal.until(lambda: LIVE in terminal.raw)
    terminal.child.send("go\r")
    terminal.sees("it is done")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 143
    assert terminal.raw.rindex("\x1b[?2004l") > terminal.raw.rindex("\x1b[?2004h")


def test_a_pause_below_the_prompt_gives_the_terminal_back_and_takes_it_again(place: Place) -> None:
    agent(place, {"text": "it is done"})
    terminal = ogcode(place, "--inline")
    terminal.until(lambda: LIVE in terminal.raw)
    terminal.child.send("x")
    terminal.sees("x", terminal.raw.index(LIVE))
    terminal.child.send("\x1a")
    stat = Path(f"/proc/{terminal.pid}/stat")
    terminal.until(lambda: stat.read_text("utf-8").rpartition(")")[2].split()[0] == "T")
    assert termios.tcgetattr(terminal.child.child_fd)[3] & termios.ICANON
    there = len(terminal.raw)
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.until(lambda: LIVE in terminal.raw[there:])
    terminal.child.send("Ж")
    terminal.sees("Ж", there)
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 143
