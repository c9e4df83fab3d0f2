"""What is long, failed, or does not fit: all of it can be read, and what matters is seen first."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from stage import NOTE, Clock, Play, Stage, calling, happening, saying, screen_text, sees, until
from stage_cli import new_place
from terminals import LIVE, ogcode, played
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input

from ogcode.agent.events import Emit, Event, Nested, ReasoningDelta, ToolFinished, ToolStarted
from ogcode.agent.model import ModelError
from ogcode.agent.tools.ask_user import Alternative, Question
from ogcode.agent.turn import ToolCall
from ogcode.tui.desks.desk import Ask
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.blocks.fold import Fold
from ogcode.tui.screen.diff import laid_out, rows_of
from ogcode.tui.screen.prompt import Prompt


def call_of(tool: str, /, **arguments: object) -> ToolCall:
    return ToolCall(f"{tool} {arguments}", tool, json.dumps(arguments))


def ran(call: ToolCall, output: str) -> Sequence[Event]:
    return ToolStarted(call), ToolFinished(call, output)


@asynccontextmanager
async def playing(play: Play | Stage, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[int]]:
    """Run the app and send a message; the clock has gone on since a card came."""
    clock, stage = Clock(), play if isinstance(play, Stage) else Stage([play])
    app = Ogcode(stage, clock=clock)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.opening.over)
        app.query_one(Prompt).put("go")
        await pilot.press("enter")
        await until(pilot, lambda: app.approvals.waits or stage.ended)
        clock.now += 1
        yield pilot


def asking(stage: Stage, question: Question) -> Play:
    async def play(emit: Emit, approve: Ask) -> None:
        assert stage.work.person is not None
        await saying(await stage.work.person(question))(emit, approve)

    return play


ENDINGS = (
    ({"command": "make test"}, "1 failed\nexit 2", "bash  make test  ✗ exit 2, 2 lines"),
    ({"command": "make"}, "exit 137 (Killed)\nput back .git/config", "bash  make  ✗ exit 137 (Killed), 2 lines"),
    ({"command": "cat how"}, "exit 2 means trouble\nsee exit(3)", "bash  cat how  ✓ 2 lines"),
    ({"command": "grep x y"}, "exit 1", "bash  grep x y  ✗ exit 1, 1 line"),
    (
        {"command": "npm start", "job": "web"},
        "up\n[job 'web' is running: command '' reads on, 'stop' ends it]",
        "bash  [web] npm start  ✓ in the background, Ctrl+B shows it",
    ),
)


async def test_how_a_command_ended_is_seen_while_it_is_folded() -> None:
    events = [each for given, output, _ in ENDINGS for each in ran(call_of("bash", **given), output)]
    async with playing(happening(*events)) as pilot:
        await sees(pilot, NOTE)
        shown = [line.strip(" ▸") for line in screen_text(pilot.app).split("\n") if "▸ bash" in line]
        assert shown == [told for _, _, told in ENDINGS]


async def test_a_block_unfolds_to_all_that_the_call_was_given() -> None:
    bash = call_of("bash", command="set -e\ncd src [/]\nmake", timeout=5)
    grep = call_of("grep", pattern="def backoff", path="dispatch")
    recall = call_of("memory_recall", question="why five?")
    nested = Nested("memory_recall", ToolStarted(call_of("read", name="n1")))
    events = *ran(bash, "built"), *ran(grep, "a\nb"), ToolStarted(recall), nested
    async with playing(happening(*events), (80, 40)) as pilot:
        await sees(pilot, "bash  set -e …  ✓ 1 line")
        assert "grep  def backoff  ✓ 2 lines" in screen_text(pilot.app)
        await pilot.press("ctrl+o")
        await sees(pilot, "path: dispatch")
        shown = "\n".join(line.strip() for line in screen_text(pilot.app).split("\n"))
        assert "set -e\ncd src [/]\nmake\ntimeout: 5\nbuilt" in shown
        assert "pattern:" not in shown
        assert "question" not in shown


@pytest.mark.parametrize("by", ["click", "key"])
async def test_what_is_unfolded_is_read_from_its_beginning(by: str) -> None:
    events = *ran(call_of("read", path="a"), "\n".join(f"line {n}." for n in range(200))), *ran(call_of("x"), "")
    async with playing(happening(*events)) as pilot:
        await sees(pilot, NOTE)
        if by == "click":
            await pilot.click("Fold .head")
        else:
            await pilot.press("tab", "up", "enter")
        await sees(pilot, "line 0.")
        assert "▾ read" in screen_text(pilot.app)


async def test_unfolding_what_is_short_leaves_the_transcript_at_its_end() -> None:
    go_on = asyncio.Event()

    async def play(emit: Emit, approve: Ask) -> None:
        emit(ReasoningDelta("one\ntwo"))
        stage.ended.append(None)  # type: ignore[arg-type]  # only its being there counts
        await go_on.wait()
        await saying("\n\n".join(f"words {n}." for n in range(60)))(emit, approve)

    stage = Stage([play])
    async with playing(stage) as pilot:
        await until(pilot, lambda: pilot.app.query(Fold))
        await pilot.click("Fold .head")
        await sees(pilot, "two")
        go_on.set()
        await sees(pilot, "words 59.")


async def test_the_keys_of_a_card_stay_in_sight_and_all_else_is_scrolled_to() -> None:
    stage = Stage([calling(call_of("bash", command="x"), why="it reaches outside: " + "/srv/data " * 60)])
    stage.shown = "\n".join(f"command {n}." for n in range(60))
    stage.rights.rule = f"Bash({'x ' * 400}last)"
    stage.rights.boundary = "sandbox ws: no network " * 8
    async with playing(stage) as pilot:
        await sees(pilot, "↑↓ see the rest")
        assert "command 0." in screen_text(pilot.app)
        assert "y yes, once" in screen_text(pilot.app)
        await pilot.press("end")
        await sees(pilot, "command 59.")
        await pilot.press("end")
        await sees(pilot, "last)")
        assert "y yes, once" in screen_text(pilot.app)
        await pilot.press("home", "home")
        await sees(pilot, "command 0.")
        await pilot.press("y")
        await sees(pilot, NOTE)


def test_below_the_prompt_the_keys_of_a_card_are_in_the_window_too(tmp_path: Path) -> None:
    write = {"name": "write", "arguments": {"path": "a.txt", "content": "a line\n" * 40}}
    replies = [{"text": "\n\n".join(f"words {n}." for n in range(20)), "calls": [write]}]
    terminal = ogcode(played(new_place(tmp_path), [{"role": "agent", "replies": replies}]), "--inline")
    terminal.until(lambda: LIVE in terminal.raw)
    terminal.child.send("go\r")
    terminal.sees("↑↓ see the rest")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 143


async def test_a_card_that_is_seen_whole_names_no_key_to_scroll() -> None:
    stage = Stage([calling(call_of("bash", command="npm start", job="web"))], shown="npm start")
    async with playing(stage) as pilot:
        await sees(pilot, "Allow bash in the background, as web?")
        assert "see the rest" not in screen_text(pilot.app)
        await pilot.press("r")
        await sees(pilot, "Enter send   Esc back")
        await pilot.press("escape")
        await sees(pilot, "y yes, once")


async def test_options_and_the_line_to_write_in_come_into_sight_in_a_small_terminal() -> None:
    options = (Alternative("SQLite", "one file and nothing to be installed anywhere"), Alternative("Postgres"))
    stage = Stage()
    stage.plays.append(asking(stage, Question("Which database? " * 12, options)))
    async with playing(stage, (44, 16)) as pilot:
        await sees(pilot, "The agent asks")
        await pilot.press("down")
        await sees(pilot, "❯ 2 Postgres")
        assert "    installed anywhere" in screen_text(pilot.app)
        await pilot.press(*"both")
        await until(pilot, lambda: pilot.app.query_one("Card Input", Input).region.height)
        await sees(pilot, "both")


async def test_a_step_takes_one_line_and_a_finished_list_only_its_head() -> None:
    todo = call_of("todo", items="")
    long = f"[>] {'words ' * 40}\n[ ] the last one\n0 of 2 done"
    async with playing(happening(*ran(todo, long))) as pilot:
        await sees(pilot, "the last one")
        first = next(line for line in screen_text(pilot.app).split("\n") if line.startswith("  ▸ words"))
        assert first.endswith("…")
    async with playing(happening(*ran(todo, "[x] look\n[x] test\n2 of 2 done"))) as pilot:
        await sees(pilot, "steps: 2 of 2 done")
        assert "✓ look" not in screen_text(pilot.app)


async def test_a_turn_that_failed_says_how_its_message_comes_back() -> None:
    async def play(emit: Emit, approve: Ask) -> None:
        raise ModelError("nothing listens")

    async with playing(play) as pilot:
        await sees(pilot, "failed, Up brings the message back")
        await pilot.press("up")
        await until(pilot, lambda: pilot.app.query_one(Prompt).text == "go")


async def test_a_turn_of_which_no_use_is_known_names_no_numbers() -> None:
    async with playing(happening(ReasoningDelta("x"))) as pilot:
        await sees(pilot, NOTE)
        assert "done · note" in screen_text(pilot.app)


def test_what_changes_stands_out_of_what_stays() -> None:
    rows = rows_of("--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n stays\n-goes\n+comes")
    shown = laid_out(rows, [Content.styled(row.text, "ansi_blue") for row in rows], 80).split("\n")
    styles = {line.plain.split()[-1]: [str(span.style) for span in line.spans] for line in shown[2:]}
    assert set(styles["stays"]) == {"dim"}
    assert "ansi_blue" in styles["goes"]
    assert "ansi_blue" in styles["comes"]
