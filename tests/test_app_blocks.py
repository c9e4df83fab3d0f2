"""What happens in a turn, as it is seen: commands, changes, recalls, steps, jobs."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from stage import NOTE, SIZE, Clock, Stage, calling, happening, screen_text, sees, until, waiting
from textual.content import Content
from textual.message import Message
from textual.pilot import Pilot

from ogcode.agent.events import Emit, Event, Nested, ToolFinished, ToolStarted
from ogcode.agent.turn import ToolCall
from ogcode.tui.calls import subject
from ogcode.tui.desks.desk import Ask
from ogcode.tui.desks.work import JobLine
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.blocks.change import told
from ogcode.tui.screen.blocks.command import CommandBlock
from ogcode.tui.screen.blocks.fold import Fold
from ogcode.tui.screen.blocks.recall import OpenNote, RecallBlock
from ogcode.tui.screen.diff import WIDE, laid_out, rows_of
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.syntax import coloured

DIFF = """--- dispatch/retry.py
+++ dispatch/retry.py
@@ -8,4 +8,5 @@
 import time

-tries = 1
+tries = 5
+limit = 60
 # the end"""
EDIT = ToolCall("c1", "edit", json.dumps({"path": "dispatch/retry.py", "old": "tries = 1", "new": "tries = 5"}))
BASH = ToolCall("c2", "bash", json.dumps({"command": "make test"}))
RECALL = ToolCall("c3", "memory_recall", json.dumps({"question": "what about retries?"}))


@asynccontextmanager
async def running(stage: Stage, heard: list[OpenNote] | None = None) -> AsyncIterator[Pilot[int]]:
    """Run the app, and hear which notes are to be opened."""

    def hear(message: Message) -> None:
        if heard is not None and isinstance(message, OpenNote) and all(message is not each for each in heard):
            heard.append(message)

    app = Ogcode(stage, clock=Clock())
    async with app.run_test(size=SIZE, notifications=True, message_hook=hear) as pilot:
        await sees(pilot, "ogcode ·")
        yield pilot


async def send(pilot: Pilot[int], text: str) -> None:
    pilot.app.query_one(Prompt).put(text)
    await pilot.press("enter")


def pausing(go_on: asyncio.Event, *events: Event) -> object:
    async def play(emit: Emit, approve: Ask) -> None:
        emit(ToolStarted(BASH))
        await go_on.wait()
        for event in events:
            emit(event)

    return play


def laid(width: int) -> str:
    rows = rows_of(DIFF)
    return laid_out(rows, [Content(row.text) for row in rows], width).plain


def test_a_narrow_difference_is_one_column_with_the_numbers_of_the_file() -> None:
    assert laid(80).split("\n") == [
        "dispatch/retry.py",
        "@@ -8,4 +8,5 @@",
        " 8   import time",
        " 9   ",
        "10 - tries = 1",
        "10 + tries = 5",
        "11 + limit = 60",
        "12   # the end",
    ]


def test_a_wide_difference_stands_side_by_side() -> None:
    lines = [line.split(" │ ") for line in laid(WIDE).split("\n")[2:]]
    assert [left.rstrip() for left, _ in lines] == [" 8   import time", " 9", "10 - tries = 1", "", "11   # the end"]
    assert [right for _, right in lines] == [
        " 8   import time",
        " 9   ",
        "10 + tries = 5",
        "11 + limit = 60",
        "12   # the end",
    ]


@pytest.mark.parametrize("width", [24, 80, WIDE])
def test_no_character_of_a_difference_is_cut_off(width: int) -> None:
    rows = rows_of(f"--- a\n+++ a\n@@ -1 +1 @@\n-{'日本' * 100}\n+{'x' * 300}")
    shown = laid_out(rows, [Content(row.text) for row in rows], width)
    assert max(line.cell_length for line in shown.split("\n")) <= width
    assert (shown.plain.count("日"), shown.plain.count("x")) == (100, 300)


def test_lines_that_look_like_the_head_of_a_difference_are_lines_of_it() -> None:
    rows = rows_of("--- a\n+++ a\n@@ -1,2 +1,2 @@\n--- sql comment\n+++ plus\n-@@ -9 +9 @@\n+ok")
    assert [row.kind for row in rows] == ["told", "told", "@", "-", "+", "-", "+"]
    assert rows[3].text == "-- sql comment"


def test_the_colours_of_a_language_change_no_character() -> None:
    lines = ["def f(x):", '\treturn "é日"  # why', "", "class A: pass"]
    found = coloured(lines, "a.py")
    assert found is not None
    assert [line.plain for line in found] == lines
    assert any(line.spans for line in found)


@pytest.mark.parametrize(("lines", "name"), [(["x"], "no.such"), (["x" * 1_001], "a.py"), (["x"] * 40_000, "a.py")])
def test_what_is_too_long_or_of_no_language_stays_plain(lines: list[str], name: str) -> None:
    assert coloured(lines, name) is None


def test_a_change_that_nobody_looked_at_is_told_from_its_call() -> None:
    more = [{"old": "b", "new": "c"}]
    call = ToolCall("", "edit", json.dumps({"path": "x\n+++ y", "old": "a", "new": "", "more": more}))
    assert told(call) == "--- x +++ y\n+++ x +++ y\n@@ -1 +0,0 @@\n-a\n@@ -1 +1 @@\n-b\n+c"
    assert told(ToolCall("", "write", json.dumps({"path": "x", "content": 3}))) == ""


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"zzz": "a", "path": "b"}', "b"),
        ("{nonsense", "{nonsense"),
        ("[1]", "[1]"),
        ("{}", ""),
        ('{"path": "a\\u001b[31m\\nb"}', "a b"),
        ("[" * 5_000, "[" * 400),
    ],
)
def test_a_call_is_named_by_what_it_is_about(arguments: str, shown: str) -> None:
    assert subject(ToolCall("", "x", arguments)) == shown


async def test_an_edit_unfolds_to_its_difference_in_the_form_that_fits() -> None:
    stage = Stage([happening(ToolStarted(EDIT), ToolFinished(EDIT, "edited dispatch/retry.py: 1 line replaced at 10"))])
    stage.work.differences["c1"] = DIFF
    async with running(stage) as pilot:
        await send(pilot, "go")
        await sees(pilot, "edit  dispatch/retry.py  ✓ +2 -1")
        assert "tries = 5" not in screen_text(pilot.app)
        await pilot.press("ctrl+o")
        await sees(pilot, "11 + limit = 60")
        assert "│" not in screen_text(pilot.app)
        await pilot.resize_terminal(160, 30)
        await sees(pilot, " │ 10 + tries = 5")
        await pilot.resize_terminal(60, 30)
        await until(pilot, lambda: "│" not in screen_text(pilot.app))


async def test_an_edit_that_failed_says_why_and_shows_no_difference() -> None:
    error = "error: old is not in dispatch/retry.py; read it again"
    async with running(Stage([happening(ToolStarted(EDIT), ToolFinished(EDIT, error, failed=True))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "✗ old is not in dispatch/retry.py; read it again")
        await pilot.press("ctrl+o")
        await sees(pilot, "error: old is not in")
        assert "tries" not in screen_text(pilot.app)


async def test_a_running_command_shows_its_last_lines_and_then_folds() -> None:
    go_on = asyncio.Event()
    stage = Stage([pausing(go_on, ToolFinished(BASH, "one\ntwo"))])  # type: ignore[list-item]  # a Play
    async with running(stage) as pilot:
        await send(pilot, "go")
        await sees(pilot, "bash  make test")
        stage.work.printed = "\n".join(f"test {number} ok\x1b]0;t\x07" for number in range(40))
        pilot.app.query_one(CommandBlock).look()
        await sees(pilot, "test 39 ok")
        seen = screen_text(pilot.app)
        assert "test 35 ok" in seen
        assert "test 34 ok" not in seen
        go_on.set()
        await sees(pilot, "✓ 2 lines")
        await until(pilot, lambda: "test 39 ok" not in screen_text(pilot.app))


async def test_a_command_in_the_background_bears_its_name() -> None:
    call = ToolCall("c", "bash", json.dumps({"command": "npm start", "job": "web"}))
    async with running(Stage([happening(ToolStarted(call), ToolFinished(call, "(no output)"))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "bash  [web] npm start  ✓ no output")


async def test_a_recall_shows_what_it_opened_and_each_citation_leads_to_its_note() -> None:
    opened = ToolCall("n1", "read", json.dumps({"path": "2026-09-12--note"}))
    missing = ToolCall("n2", "read", json.dumps({"path": "gone"}))
    play = happening(
        ToolStarted(RECALL),
        Nested("memory_recall", ToolStarted(opened)),
        Nested("memory_recall", ToolFinished(opened, "text")),
        Nested("memory_recall", ToolStarted(missing)),
        Nested("memory_recall", ToolFinished(missing, "error: no note named gone", failed=True)),
        ToolFinished(RECALL, f"At five. [[{NOTE}#Decisions & why]] And [[other-note]]."),
    )
    heard = list[OpenNote]()
    async with running(Stage([play]), heard) as pilot:
        await send(pilot, "go")
        await sees(pilot, "✓ 2 notes cited")
        seen = screen_text(pilot.app)
        assert all(each in seen for each in ("what about retries?", "✓ read 2026-09-12--note", "✗ read gone: no note"))
        await pilot.press("tab", "right", "right", "right", "left", "enter")
        await until(pilot, lambda: [each.note_id for each in heard] == ["other-note"])
        await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
        await pilot.press("escape")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        line = next(place for place, text in enumerate(seen.split("\n")) if NOTE in text)
        await pilot.click(offset=(seen.split("\n")[line].index(NOTE), line))
        await until(pilot, lambda: [each.note_id for each in heard[1:]] == [NOTE])
        assert not pilot.app.screen_stack[0].query_one(RecallBlock).folded


async def test_a_recall_that_failed_is_an_error_and_stays_folded() -> None:
    play = happening(ToolStarted(RECALL), ToolFinished(RECALL, "error: the librarian gave up; ask again", failed=True))
    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "✗ the librarian gave up; ask again")
        assert pilot.app.query_one(RecallBlock).folded


def listing(*steps: str) -> tuple[Event, Event]:
    call = ToolCall("t", "todo", json.dumps({"items": "\n".join(steps)}))
    done = sum(step.startswith("[x]") for step in steps)
    return ToolStarted(call), ToolFinished(call, "\n".join([*steps, f"{done} of {len(steps)} done"]))


async def test_the_list_of_steps_is_seen_as_it_changes_and_hidden_by_a_key() -> None:
    first, then = listing("[x] look", "[>] change [/] it"), listing("[x] look", "[x] change it", "[ ] test it")
    async with running(Stage([happening(*first), happening(*then)])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "▸ change [/] it")
        assert "steps: 1 of 2 done" in screen_text(pilot.app)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "steps: " not in screen_text(pilot.app))
        await send(pilot, "on")
        await until(pilot, lambda: screen_text(pilot.app).count(NOTE) == 2)
        assert "steps: " not in screen_text(pilot.app)
        await pilot.press("ctrl+t")
        await sees(pilot, "steps: 2 of 3 done")


async def test_of_a_long_list_the_steps_around_the_current_one_are_seen() -> None:
    steps = [
        *(f"[x] done {number}" for number in range(20)),
        "[>] now",
        *(f"[ ] later {number}" for number in range(20)),
    ]
    async with running(Stage([happening(*listing(*steps))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "▸ now")
        assert "later 4" in screen_text(pilot.app)
        assert "later 9" not in screen_text(pilot.app)


async def test_the_list_of_a_resumed_session_is_brought_back_by_the_key() -> None:
    stage = Stage()
    stage.work.left = "[x] look\n[ ] test it"
    async with running(stage) as pilot:
        await pilot.press("ctrl+t")
        await sees(pilot, "· test it")


async def test_a_session_without_steps_says_so() -> None:
    async with running(Stage()) as pilot:
        await pilot.press("ctrl+t")
        await sees(pilot, "keeps no list of steps")


async def test_commands_in_the_background_are_watched_and_ended() -> None:
    stage = Stage([waiting(ToolStarted(BASH))])
    stage.work.running = [JobLine("web", "npm start", running=True), JobLine("db", "postgres [/]", running=False)]
    stage.work.outputs = {"web": "listening on 3000", "db": "ready"}
    async with running(stage) as pilot:
        await send(pilot, "go")
        await pilot.press("ctrl+b")
        await sees(pilot, "web  running  npm start")
        assert "db   ended    postgres [/]" in screen_text(pilot.app)
        assert "listening on 3000" in screen_text(pilot.app)
        await pilot.press("j")
        await sees(pilot, "ready")
        await pilot.press("k", "x")
        await sees(pilot, "web was ended")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.focused, Prompt))
        assert "interrupt" not in [turn.outcome for turn in stage.ended]


async def test_where_nothing_runs_in_the_background_it_says_how() -> None:
    async with running(Stage()) as pilot:
        await send(pilot, "/tasks")
        await sees(pilot, "nothing runs in the background")
        await pilot.press("ctrl+b")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


@pytest.mark.parametrize(
    ("outcome", "memory", "typed", "sent"),
    [
        ("interrupted", "on", "/continue", "Go on with the turn before this one: it was interrupted by me."),
        ("limit", "on", "/continue but no tests", "finish it. but no tests"),
        ("interrupted", "off", "/continue rename it", "was interrupted by me. rename it"),
    ],
)
async def test_a_turn_that_was_cut_short_is_gone_on_with(outcome: str, memory: str, typed: str, sent: str) -> None:
    stage = Stage()
    stage.work.cut_short = outcome
    async with running(stage) as pilot:
        await send(pilot, f"/memory {memory}")
        await send(pilot, typed)
        await until(pilot, lambda: stage.asked)
        assert sent in stage.asked[0]
        assert ("memory_recall" in stage.asked[0]) is (memory == "on")


@pytest.mark.parametrize(
    ("outcome", "memory", "said"),
    [("", "on", "the last turn was not cut short"), ("limit", "off", "memory is off, so what it was asked")],
)
async def test_what_can_not_be_gone_on_with_says_so(outcome: str, memory: str, said: str) -> None:
    stage = Stage()
    stage.work.cut_short = outcome
    async with running(stage) as pilot:
        await send(pilot, f"/memory {memory}")
        await send(pilot, "/continue")
        await sees(pilot, said)
        assert stage.asked == []


async def test_an_interrupted_turn_says_how_to_go_on() -> None:
    async with running(Stage([calling(BASH)])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "yes, once")
        clock = pilot.app.approvals.clock  # type: ignore[attr-defined]  # the app's
        clock.now += 1
        await pilot.press("escape")
        await sees(pilot, "/continue goes on")


async def test_every_fold_opens_and_closes_at_once() -> None:
    calls = [ToolCall(f"r{number}", "read", json.dumps({"path": f"f{number}"})) for number in range(3)]
    play = happening(*(event for call in calls for event in (ToolStarted(call), ToolFinished(call, f"in {call.id}"))))
    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, NOTE)
        await pilot.press("ctrl+o")
        await sees(pilot, "in r2")
        assert "in r0" in screen_text(pilot.app)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: all(fold.folded for fold in pilot.app.query(Fold)))
