"""The app as its user meets it: keys in, a screen out."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest
from stage import (
    NOTE,
    SIZE,
    STATUS,
    Clock,
    Stage,
    StagedPrompt,
    calling,
    happening,
    saying,
    screen_text,
    sees,
    until,
    waiting,
)
from stage_memory import a_note
from textual import events
from textual.pilot import Pilot
from textual.widgets import Markdown

from ogcode.agent.events import (
    Answered,
    Emit,
    Nested,
    ReasoningDelta,
    Retrying,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Warned,
)
from ogcode.agent.model import ModelError
from ogcode.agent.turn import ToolCall, Usage
from ogcode.tui.desks.desk import Ask, ModelLine
from ogcode.tui.screen.actions.catalogue import named
from ogcode.tui.screen.actions.elsewhere import INSTEAD_IN_APP
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.approval import ApprovalCard
from ogcode.tui.screen.blocks.fold import Fold
from ogcode.tui.screen.memory.screen import MemoryScreen
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.status import status_line
from ogcode.tui.screen.transcript import Transcript

ROOT = Path(__file__).resolve().parents[1]
BASH = ToolCall("c1", "bash", json.dumps({"command": "make test"}))
HOSTILE = (
    "[/] [b + [tag=value: [@click=app.quit]x[/] [link=https://e.org]y[/link]",
    "\x1b]52;c;cGF3bmVk\x07tail \x1b]8;;https://e.org\x1b\\z \x9b31m\x9d0;title\x9c",
    "a\u202eb\u200bc",
)


@asynccontextmanager
async def running(stage: Stage, clock: Clock | None = None, first: str = "") -> AsyncIterator[Pilot[int]]:
    app = Ogcode(stage, first_prompt=first, clock=clock or Clock())
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.query(Transcript).first().children)
        yield pilot


async def send(pilot: Pilot[int], text: str) -> None:
    pilot.app.query_one(Prompt).put(text)
    await pilot.press("enter")


def draft(pilot: Pilot[int]) -> str:
    return pilot.app.screen_stack[0].query_one(Prompt).text


async def test_an_answer_is_shown_and_leaves_no_live_markdown() -> None:
    async with running(Stage([saying("# Done\n\nSee `retry", ".go`.")])) as pilot:
        await pilot.press(*"fix it", "enter")
        await sees(pilot, NOTE)
        assert all(each in screen_text(pilot.app) for each in ("fix it", "Done", "See retry.go.", "1.2k tokens"))
        assert not pilot.app.query(Markdown)
        assert draft(pilot) == ""


async def test_the_first_prompt_is_sent() -> None:
    stage = Stage()
    async with running(stage, first="hello") as pilot:
        await sees(pilot, "echo: hello")
        assert stage.asked == ["hello"]


async def test_earlier_turns_of_a_resumed_session_are_shown() -> None:
    async with running(Stage(before=[("rename it", "It is **renamed**.")])) as pilot:
        await sees(pilot, "It is renamed.")
        assert "rename it" in screen_text(pilot.app)


async def test_what_the_user_should_know_is_shown_at_the_start() -> None:
    async with running(Stage(notices=("AGENTS.md was cut at 32 kB",))) as pilot:
        await sees(pilot, "AGENTS.md was cut at 32 kB")


async def test_a_tool_call_is_one_line_until_it_is_unfolded() -> None:
    play = happening(ToolStarted(BASH), ToolFinished(BASH, "line one\nline two"))
    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, NOTE)
        assert "bash  make test  ✓ 2 lines" in screen_text(pilot.app)
        assert "line two" not in screen_text(pilot.app)
        await pilot.press("ctrl+o")
        await sees(pilot, "line two")
        await pilot.press("ctrl+o", "tab", "enter")
        await sees(pilot, "line two")
        await pilot.press("x")
        await until(pilot, lambda: draft(pilot) == "x")


async def test_a_click_unfolds_a_tool_call() -> None:
    async with running(Stage([happening(ToolStarted(BASH), ToolFinished(BASH, "line one", failed=True))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "✗ line one")
        await pilot.click("Fold .head")
        await until(pilot, lambda: not pilot.app.query_one(Fold).folded)


async def test_a_recall_shows_its_question_and_its_cited_answer() -> None:
    call = ToolCall("c1", "memory_recall", json.dumps({"question": "what about retries?"}))
    inner = Nested("memory_recall", ToolStarted(ToolCall("n1", "read", json.dumps({"path": "a-note"}))))
    play = happening(ToolStarted(call), inner, ToolFinished(call, "They stop at five. [[n1#Outcome]]"))
    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "They stop at five. [[n1#Outcome]]")
        assert "what about retries?" in screen_text(pilot.app)
        assert "read a-note" in screen_text(pilot.app)


async def test_reasoning_is_folded() -> None:
    async with running(Stage([happening(ReasoningDelta("secret "), ReasoningDelta("thought"))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "thought, 2 words")
        assert "secret" not in screen_text(pilot.app)


async def test_a_retry_is_shown_and_takes_the_void_text_away() -> None:
    async with running(Stage([waiting(TextDelta("half an ans"), Retrying("overloaded", 3))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "trying again in 3 s: overloaded")
        assert "half an ans" not in screen_text(pilot.app)


async def test_a_warning_is_a_line() -> None:
    async with running(Stage([happening(Warned("the scribe did not start"))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "the scribe did not start")


async def test_an_escape_sequence_split_over_two_pieces_never_reaches_the_screen() -> None:
    pieces = ("before \x1b]52;", "c;cGF3bmVk", "\x1b", "\\ after", "\n\nend")
    async with running(Stage([waiting(*map(TextDelta, pieces))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "end")
        assert "after" in screen_text(pilot.app)
        assert "cGF3bmVk" not in screen_text(pilot.app)


async def test_a_model_that_fails_says_so_once_and_the_app_stays() -> None:
    async def play(emit: Emit, approve: Ask) -> None:
        raise ModelError("ollama is not running; start it")

    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "failed")
        assert screen_text(pilot.app).count("ollama is not running; start it") == 1
        await send(pilot, "again")
        await sees(pilot, "echo: again")


async def test_a_fault_of_ours_is_one_sentence() -> None:
    async def play(emit: Emit, approve: Ask) -> None:
        raise ZeroDivisionError("division by zero")

    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "the turn failed in ogcode itself: ZeroDivisionError: division by zero")
        await send(pilot, "again")
        await sees(pilot, "echo: again")


async def test_escape_interrupts_and_keeps_the_draft() -> None:
    async with running(Stage([waiting(TextDelta("so far"))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "so far")
        pilot.app.query_one(Prompt).put("a draft")
        await pilot.press("escape")
        await sees(pilot, "interrupted")
        assert "so far" in screen_text(pilot.app)
        assert draft(pilot) == "a draft"
        await send(pilot, "again")
        await sees(pilot, "echo: again")


async def test_an_interrupt_ends_a_turn_that_would_never_end_each_time() -> None:
    stage, ended = Stage([waiting() for _ in range(4)]), 0
    async with running(stage) as pilot:
        while stage.plays:
            await send(pilot, "go")
            await until(pilot, lambda: len(stage.asked) > ended)  # noqa: B023  # it is over before the next round
            pilot.app.post_message(events.Key("escape", None))
            await until(pilot, lambda: len(stage.ended) > ended)  # noqa: B023
            ended += 1
            await until(pilot, lambda: screen_text(pilot.app).count("interrupted") == ended)  # noqa: B023
    assert ended == 4


async def test_a_call_that_was_interrupted_does_not_look_as_if_it_ran_on() -> None:
    async with running(Stage([waiting(ToolStarted(BASH))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "make test")
        await pilot.press("escape")
        await sees(pilot, "✗ stopped")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("y",), "✓ 1 line"),
        (("n",), "✗ the user said no"),
        (("r", *"use x", "enter"), "✗ use x"),
        (("r", "escape", "y"), "✓ 1 line"),
        (("escape",), "interrupted"),
    ],
)
async def test_an_approval_is_answered_by_a_key(keys: tuple[str, ...], said: str) -> None:
    clock = Clock()
    async with running(Stage([calling(BASH)]), clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "it runs a command")
        clock.now += 1
        await pilot.press(*keys)
        await sees(pilot, said)
        assert not pilot.app.query(ApprovalCard)
        assert isinstance(pilot.app.focused, Prompt)


async def test_an_approval_takes_no_key_that_was_meant_for_the_prompt() -> None:
    clock = Clock()
    async with running(Stage([calling(BASH)]), clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "it runs a command")
        clock.now += 0.2
        await pilot.press("y")
        clock.now += 0.2
        await pilot.press("a")
        await until(pilot, lambda: draft(pilot) == "ya")
        assert pilot.app.query(ApprovalCard)
        clock.now += 0.31
        await pilot.press("y")
        await sees(pilot, NOTE)


async def test_always_allows_this_exact_call_and_no_other() -> None:
    clock, other = Clock(), ToolCall("c2", "bash", json.dumps({"command": "make"}))
    async with running(Stage([calling(BASH), calling(BASH, other)]), clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "it runs a command")
        clock.now += 1
        await pilot.press("a")
        await sees(pilot, NOTE)
        await send(pilot, "again")
        await until(pilot, lambda: pilot.app.query(ApprovalCard))
        assert pilot.app.query_one(ApprovalCard).call == other


async def test_approvals_come_one_after_the_other() -> None:
    async def play(emit: Emit, approve: Ask) -> None:
        second = replace(BASH, id="c2", arguments=json.dumps({"command": "make clean"}))
        verdicts = await asyncio.gather(approve(BASH, "the first"), approve(second, "the second"))
        await saying(f"{[verdict.allowed for verdict in verdicts]}")(emit, approve)

    clock = Clock()
    async with running(Stage([play]), clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "the first")
        assert "the second" not in screen_text(pilot.app)
        clock.now += 1
        await pilot.press("y")
        await sees(pilot, "the second")
        clock.now += 1
        await pilot.press("n")
        await sees(pilot, "[True, False]")


async def test_an_approval_that_comes_while_memory_is_read_waits_behind_it() -> None:
    go_on, clock = asyncio.Event(), Clock()

    async def play(emit: Emit, approve: Ask) -> None:
        await go_on.wait()
        await calling(BASH)(emit, approve)

    async with running(Stage([play]), clock) as pilot:
        await send(pilot, "go")
        await send(pilot, "/memory")
        await sees(pilot, "Dispatch retry fix")
        go_on.set()
        await sees(pilot, "a call waits for your answer")
        clock.now += 1
        await pilot.press("y", "escape", "y")
        await sees(pilot, "it runs a command")
        clock.now += 1
        await pilot.press("n")
        await sees(pilot, "✗ the user said no")


async def test_a_click_elsewhere_takes_the_keys_from_nobody() -> None:
    clock = Clock()
    async with running(Stage([happening(ToolStarted(BASH)), calling(BASH)]), clock) as pilot:
        await pilot.click(Transcript)
        await pilot.press("x")
        assert draft(pilot) == "x"
        await send(pilot, "go")
        await sees(pilot, NOTE)
        await send(pilot, "again")
        await sees(pilot, "it runs a command")
        await pilot.click("Fold .head")
        await pilot.press("escape")
        clock.now += 1
        await pilot.press("y")
        await until(pilot, lambda: not pilot.app.query(ApprovalCard))


async def test_a_long_diff_is_scrolled_and_the_keys_stay_in_sight() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1,90 @@\n" + "\n".join(f"+line {number}" for number in range(90))
    async with running(Stage([calling(BASH)], shown=diff)) as pilot:
        await send(pilot, "go")
        await sees(pilot, "yes, once")
        assert "line 80" not in screen_text(pilot.app)
        pilot.app.query_one(ApprovalCard).query_one("VerticalScroll").scroll_end(animate=False)
        await sees(pilot, "line 89")


@pytest.mark.parametrize(
    ("start", "modes"),
    [("ask", ["edit", "plan", "auto", "ask"]), ("yolo", ["ask", "edit", "plan", "auto", "yolo"])],
)
async def test_shift_tab_goes_through_the_modes(start: str, modes: list[str]) -> None:
    stage = Stage(state=replace(STATUS, mode=start))
    async with running(stage) as pilot:
        for mode in modes:
            await pilot.press("shift+tab")
            assert stage.state.mode == mode
            await sees(pilot, f"· {mode} ·")


async def test_a_message_sent_while_a_turn_runs_waits_for_its_end() -> None:
    go_on = asyncio.Event()

    async def play(emit: Emit, approve: Ask) -> None:
        await go_on.wait()

    stage = Stage([play])
    async with running(stage) as pilot:
        await send(pilot, "one")
        await send(pilot, "two")
        await sees(pilot, "queued: two")
        assert stage.asked == ["one"]
        go_on.set()
        await sees(pilot, "echo: two")
        assert "queued" not in screen_text(pilot.app)


async def test_up_takes_a_queued_message_back() -> None:
    async with running(Stage([waiting()])) as pilot:
        await send(pilot, "one")
        await send(pilot, "two")
        await sees(pilot, "queued: two")
        await pilot.press("up")
        await until(pilot, lambda: draft(pilot) == "two")
        assert "queued" not in screen_text(pilot.app)


async def test_an_interrupted_turn_gives_queued_messages_back_instead_of_sending_them() -> None:
    stage = Stage([waiting()])
    async with running(stage) as pilot:
        await send(pilot, "one")
        await send(pilot, "two")
        await sees(pilot, "queued: two")
        await pilot.press(*"three", "escape")
        await sees(pilot, "interrupted")
        await until(pilot, lambda: draft(pilot) == "two\n\nthree")
        assert stage.asked == ["one"]


@pytest.mark.parametrize("keys", [("shift+enter",), ("alt+enter",), ("ctrl+j",), ("\\", "enter")])
async def test_a_newline_does_not_send(keys: tuple[str, ...]) -> None:
    stage = Stage()
    async with running(stage) as pilot:
        await pilot.press("a", *keys, "b")
        assert draft(pilot) == "a\nb"
        await pilot.press("enter")
        await until(pilot, lambda: stage.asked == ["a\nb"])


async def test_up_and_down_walk_through_earlier_messages_and_back_to_the_draft() -> None:
    async with running(Stage(prompt=StagedPrompt(["one", "two\nlines"]))) as pilot:
        await pilot.press("d", "up")
        assert draft(pilot) == "two\nlines"
        await pilot.press("up", "up")
        assert draft(pilot) == "one"
        await pilot.press("down", "down")
        assert draft(pilot) == "d"


async def test_a_large_paste_is_one_piece_that_is_sent_whole_and_not_by_itself() -> None:
    stage, pasted = Stage([saying("ok")]), "x [/] y\r\n" * 20_000
    async with running(stage) as pilot:
        pilot.app.query_one(Prompt).post_message(events.Paste(pasted))
        await sees(pilot, "[pasted 1: 20,001 lines]")
        assert stage.asked == []
        await pilot.press(*" why", "enter")
        await until(pilot, lambda: stage.asked)
        assert stage.asked == [pasted.replace("\r\n", "\n") + " why"]


async def test_a_small_paste_is_text_without_escapes() -> None:
    async with running(Stage()) as pilot:
        pilot.app.query_one(Prompt).post_message(events.Paste("a\nb\x1b[31mc"))
        await until(pilot, lambda: draft(pilot) == "a\nbc")


async def test_control_c_clears_and_a_second_one_leaves() -> None:
    clock, stage = Clock(), Stage()
    async with running(stage, clock) as pilot:
        await pilot.press("x", "ctrl+c")
        assert draft(pilot) == ""
        clock.now += 2.1
        await pilot.press("ctrl+c")
        assert pilot.app.is_running
        clock.now += 1
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not pilot.app.is_running)


async def test_control_d_leaves_only_when_the_prompt_is_empty() -> None:
    async with running(Stage()) as pilot:
        await pilot.press("x", "ctrl+d")
        assert pilot.app.is_running
        await pilot.press("backspace", "ctrl+d")
        await until(pilot, lambda: not pilot.app.is_running)


async def test_leaving_records_the_running_turn_first() -> None:
    stage = Stage([waiting()])
    async with running(stage) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: stage.asked)
        await send(pilot, "/quit")
        await until(pilot, lambda: not pilot.app.is_running)
        assert [turn.outcome for turn in stage.ended] == ["interrupted"]


async def test_commands_are_offered_as_they_are_typed() -> None:
    async with running(Stage()) as pilot:
        await pilot.press("/")
        await sees(pilot, "/memory [word]")
        await pilot.press("m", "down", "tab")
        assert draft(pilot) == "/memory "
        assert "/memory [word]" not in screen_text(pilot.app)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/memroy", "there is no command /memroy; did you mean /memory?"),
        ("/xyzzy", "there is no command /xyzzy; /help lists what there is"),
        ("/diff main", "/diff takes no words; it would do this: what ogcode's tools changed"),
        ("/compact", "ogcode has no /compact: no request carries earlier turns"),
        ("/help", "Shift+Tab"),
        ("/model none", "there is no model named none"),
        ("/model openai/gpt-5", "from the next turn on: openai/gpt-5"),
        ("/clear", "a new session"),
        ("/usr/bin/env is what?", "echo: /usr/bin/env is what?"),
    ],
)
async def test_a_command_answers(typed: str, said: str) -> None:
    async with running(Stage()) as pilot:
        await send(pilot, typed)
        await sees(pilot, said)


def test_what_fingers_know_from_elsewhere_is_a_command_or_has_an_answer() -> None:
    known = """help clear new resume sessions continue compact context cost usage stats model effort thinking
    permissions memory remember forget dream flush init plan rewind undo redo fork branch diff review export
    copy rename title theme vim config settings mcp agents skills hooks tasks bashes status doctor editor btw
    loop goal add-dir login feedback bug exit quit"""
    assert [name for name in known.split() if not named(f"/{name}") and f"/{name}" not in INSTEAD_IN_APP] == []
    assert [name for name in INSTEAD_IN_APP if named(name)] == []


@pytest.mark.parametrize("typed", ["exit", ":q"])
async def test_the_words_that_leave_everywhere_leave_and_are_not_asked_about(typed: str) -> None:
    async with running(stage := Stage()) as pilot:
        await send(pilot, typed)
        await until(pilot, lambda: pilot.app._exit)
        assert stage.asked == []


async def test_an_unknown_command_stays_in_the_prompt() -> None:
    stage = Stage()
    async with running(stage) as pilot:
        await send(pilot, "/memroy retries")
        await until(pilot, lambda: draft(pilot) == "/memroy retries")
        assert stage.asked == []


async def test_a_new_session_waits_for_the_turn() -> None:
    async with running(Stage([waiting()])) as pilot:
        await send(pilot, "go")
        await send(pilot, "/new")
        await sees(pilot, "a turn is running; Esc interrupts it, then /new")


async def test_a_model_is_picked_from_the_list() -> None:
    stage = Stage()
    async with running(stage) as pilot:
        await send(pilot, "/model")
        await sees(pilot, "openai/gpt-5")
        await pilot.press("down", "enter")
        await until(pilot, lambda: stage.state.model == "openai/gpt-5")


async def test_models_that_cannot_be_listed_say_why() -> None:
    async with running(Stage(named=ModelError("ollama does not answer"))) as pilot:
        await send(pilot, "/model")
        await sees(pilot, "ollama does not answer")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.focused, Prompt))


async def test_memory_is_read_filtered_and_left() -> None:
    async with running(Stage()) as pilot:
        await send(pilot, "/memory")
        await sees(pilot, "2026-09-12 09:14 pending")
        await sees(pilot, "2026-09-11 16:02 foreign")
        await sees(pilot, "n2")
        await pilot.press("down")
        await sees(pilot, "n1")
        await pilot.press("slash", *"retry")
        await until(pilot, lambda: "CI cache" not in screen_text(pilot.app))
        await pilot.press("escape")
        await sees(pilot, "CI cache")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, MemoryScreen))
        assert isinstance(pilot.app.focused, Prompt)


async def test_memory_says_on_its_screen_what_it_does() -> None:
    async with running(Stage(state=replace(STATUS, memory="read"))) as pilot:
        await send(pilot, "/memory")
        await sees(pilot, "Memory is read: earlier turns are recalled, nothing is saved")


async def test_memory_is_switched_and_the_status_line_says_so() -> None:
    async with running(Stage()) as pilot:
        for word, shown in (("read", "memory 14 read only"), ("off", "memory off"), ("on", "memory 14")):
            await send(pilot, f"/memory {word}")
            await sees(pilot, f"memory is {word} from the next turn on")
            await sees(pilot, f" · {shown} · ")


async def test_a_word_that_is_no_switch_changes_nothing_and_brings_the_three() -> None:
    stage = Stage()
    async with running(stage) as pilot:
        await send(pilot, "/memory of")
        await sees(pilot, "memory stays on; 'of' is no switch of it. on: ")
        assert stage.state.memory == "on"
        assert draft(pilot) == "/memory of"


async def test_a_script_is_labelled_on_every_screen() -> None:
    async with running(Stage([calling(BASH)])) as pilot:
        for typed, seen in (("/memory", "Memory"), ("/model", "Choose a model")):
            await send(pilot, typed)
            await sees(pilot, seen)
            await sees(pilot, "SCRIPTED")
            await pilot.press("escape")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await send(pilot, "go")
        await sees(pilot, "it runs a command")
        assert "SCRIPTED" in screen_text(pilot.app)
        await pilot.resize_terminal(60, 16)
        await until(pilot, lambda: "SCRIPTED" in screen_text(pilot.app).splitlines()[15])
        assert "yes, once" in screen_text(pilot.app)


@pytest.mark.parametrize(
    ("changes", "width", "line"),
    [
        ({}, 100, " SCRIPTED  m · ask · memory 14 · main"),
        ({"scripted": False, "pending": 1}, 100, "m · ask · memory 14 +1 · main"),
        ({"trusted": False, "branch": ""}, 100, " SCRIPTED  m · ask · untrusted · memory 14"),
        ({"cost": 0.004}, 100, " SCRIPTED  m · ask · memory 14 · main"),
        ({"cost": 0.012}, 100, " SCRIPTED  m · ask · $0.01 · memory 14 · main"),
        (
            {"turn_tokens": 1234, "replay_tokens": 98_765},
            64,
            " SCRIPTED  m · ask · turn 1.2k · replay would be 99k · memory 14",
        ),
        ({}, 10, " SCRIPTED  m · ask"),
    ],
)
def test_the_status_line_says_what_fits(changes: dict[str, object], width: int, line: str) -> None:
    assert status_line(replace(STATUS, model="m", **changes), width).plain == line  # type: ignore[arg-type]  # a table


async def test_a_reader_who_scrolled_up_stays_there() -> None:
    go_on = asyncio.Event()

    async def play(emit: Emit, approve: Ask) -> None:
        for number in range(60):
            emit(Warned(f"warning {number}"))
        await go_on.wait()
        await saying("line\n\n" * 30)(emit, approve)

    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "warning 59")
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: "warning 59" not in screen_text(pilot.app))
        top = pilot.app.query_one(Transcript).scroll_y
        go_on.set()
        await until(pilot, lambda: pilot.app.query("Ending"))
        assert pilot.app.query_one(Transcript).scroll_y == top


@pytest.mark.parametrize("text", HOSTILE)
async def test_nothing_that_others_wrote_is_markup_or_an_escape(text: str) -> None:
    call = ToolCall(text, text, json.dumps({text: text, "command": text}))
    recall = ToolCall("r", "memory_recall", text)
    events_ = (
        ReasoningDelta(text),
        TextDelta(text),
        Answered(text, (call,), Usage()),
        ToolStarted(call),
        Nested(text, ToolStarted(call)),
        ToolFinished(call, text, failed=True),
        ToolStarted(recall),
        ToolFinished(recall, text),
        Warned(text),
        Retrying(text, 1),
    )

    async def play(emit: Emit, approve: Ask) -> None:
        for event in events_:
            emit(event)
        await approve(call, text)
        raise ModelError(text)

    clock = Clock()
    stage = Stage(
        [play],
        state=replace(STATUS, model=text, mode=text, branch=text),
        shown=f"--- {text}\n+++ {text}\n@@ {text} @@\n-{text}",
        prompt=StagedPrompt([text]),
        before=[(text, text)],
        named=[ModelLine(text, text)],
    )
    stage.memory.notes, stage.memory.note_text = [a_note(text, text, text, text, pending=True)], text
    async with running(stage, clock) as pilot:
        seen = ""
        for typed, sign in (("/memory", "Esc back"), ("/model", "Esc back"), (f"/x{text.split('/')[0]}", "command")):
            await send(pilot, typed)
            await sees(pilot, sign)
            seen += screen_text(pilot.app)
            await pilot.press("escape")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await send(pilot, f"go {text}")
        await sees(pilot, "yes, once")
        await pilot.press("ctrl+o")
        seen += screen_text(pilot.app)
        clock.now += 1
        await pilot.press("y")
        await sees(pilot, "failed, Up")
        seen += screen_text(pilot.app)
        assert not any(each in seen for each in "\x1b\x07\x9b\x9c\x9d\u202e")
        assert not text.startswith("[") or text in seen
        assert "cGF3bmVk" not in seen
        assert pilot.app.is_running


async def test_keys_that_come_before_the_prompt_has_the_focus_are_not_lost() -> None:
    async with running(stage := Stage()) as pilot:
        pilot.app.set_focus(None)
        await pilot.press(*"hi", "enter")
        await sees(pilot, "echo: hi")
        assert stage.asked == ["hi"]


def terminal(**more: str) -> "pexpect.spawn[str]":
    code = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from ogcode.tui.screen.launch import run_app
from stage import Stage, waiting
sys.exit(run_app(Stage([waiting()])))
"""
    environment = {**os.environ, "TERM": "xterm-256color", **more}
    child = pexpect.spawn(
        sys.executable, ["-c", code], env=environment, encoding="utf-8", dimensions=(30, 100), timeout=20
    )
    child.expect("SCRIPTED")
    return child


def test_the_app_leaves_with_an_exit_code_and_a_clean_terminal() -> None:
    child = terminal()
    child.send("/quit\r")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert "\x1b[?1049l" in str(child.before)


def test_alt_enter_of_an_older_terminal_does_not_send() -> None:
    child = terminal()
    child.send("one\x1b\rtwo")
    child.expect("two")
    seen = str(child.before)
    child.send("\x03\x03")
    child.expect(pexpect.EOF)
    assert "working" not in seen + str(child.before)


def test_the_app_ends_its_turn_and_restores_the_terminal_when_it_is_terminated() -> None:
    child = terminal()
    child.send("go\r")
    child.expect("working")
    child.kill(signal.SIGTERM)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 143
    assert "\x1b[?1049l" in str(child.before)


def test_without_colour_the_terminal_keeps_its_own() -> None:
    child = terminal(NO_COLOR="1")
    child.send("/quit\r")
    child.expect(pexpect.EOF)
    assert not re.search("\x1b\\[[0-9;]*[34]8;", str(child.before))


async def test_a_citation_of_a_recall_opens_its_note_and_one_escape_comes_back() -> None:
    call = ToolCall("c1", "memory_recall", json.dumps({"question": "what about the cache?"}))
    play = happening(ToolStarted(call), ToolFinished(call, "It is kept a week. [[n1#Outcome]]"))
    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "It is kept a week. [[n1#Outcome]]")
        await pilot.press("tab", "right", "enter")
        await sees(pilot, "1 file     retry.go  changed since")
        await pilot.press("escape")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
