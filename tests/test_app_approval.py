"""What the user is asked, and what they answer: calls, questions, plans, facts that others changed, rules."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest
from stage import NOTE, SIZE, STATUS, Clock, Play, Stage, calling, saying, screen_text, sees, until
from textual.pilot import Pilot

from ogcode.agent.events import Emit, TextDelta
from ogcode.agent.rules import Written
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.ask_user import Alternative, Question
from ogcode.agent.turn import ToolCall, Verdict
from ogcode.tui.desks.desk import Ask
from ogcode.tui.desks.rights import RuleLine, Unbelieved
from ogcode.tui.desks.work import JobLine
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.card import Card
from ogcode.tui.screen.prompt import Prompt

BASH = ToolCall("c1", "bash", json.dumps({"command": "make test"}))
WHICH = Question("Which [/] database?", (Alternative("SQLite", "one file"), Alternative("Postgres", "a server")))


@asynccontextmanager
async def running(stage: Stage, clock: Clock, size: tuple[int, int] = SIZE) -> AsyncIterator[Pilot[int]]:
    app = Ogcode(stage, clock=clock)
    async with app.run_test(size=size, notifications=True) as pilot:
        await sees(pilot, "ogcode ·")
        yield pilot


async def send(pilot: Pilot[int], text: str) -> None:
    pilot.app.query_one(Prompt).put(text)
    await pilot.press("enter")


def draft(pilot: Pilot[int]) -> str:
    return pilot.app.query_one(Prompt).text


def asking(stage: Stage, *questions: Question) -> Play:
    """Ask these at the same time, as a model may, and say what was answered."""

    async def play(emit: Emit, approve: Ask) -> None:
        assert stage.work.person is not None
        answers = await asyncio.gather(*map(stage.work.person, questions))
        await saying("\n\n".join(f"said: {answer}" for answer in answers))(emit, approve)

    return play


async def test_a_card_shows_all_that_matters_to_who_decides() -> None:
    clock, stage = Clock(), Stage([calling(BASH)], shown="make test")
    stage.rights.rule, stage.rights.boundary = "Bash(make test)", "sandbox ws (bubblewrap): no network"
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Allow bash?")
        for each in ("it runs a command", "make test", "sandbox ws (bubblewrap)", "g keeps the rule  Bash(make test)"):
            assert each in screen_text(pilot.app)


async def test_for_good_gives_the_rule_that_was_shown() -> None:
    verdicts = list[Verdict]()

    async def play(emit: Emit, approve: Ask) -> None:
        verdicts.append(await approve(BASH, "it runs a command"))

    clock, stage = Clock(), Stage([play])
    stage.rights.rule = "Bash(make test)"
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Allow bash?")
        clock.now += 1
        await pilot.press("g")
        await until(pilot, lambda: verdicts)
        assert verdicts == [Verdict(True, rule="Bash(make test)")]


async def test_where_no_rule_would_help_none_is_offered() -> None:
    clock = Clock()
    async with running(Stage([calling(BASH)]), clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Allow bash?")
        assert "keeps the rule" not in screen_text(pilot.app)
        clock.now += 1
        await pilot.press("g")
        assert pilot.app.query(Card)


@pytest.mark.parametrize("key", ["r", "N", "R"])
async def test_a_no_with_a_reason_is_read_by_the_model(key: str) -> None:
    clock = Clock()
    async with running(Stage([calling(BASH)]), clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Allow bash?")
        clock.now += 1
        await pilot.press(key, *"use uv", "enter")
        await sees(pilot, "✗ use uv")


async def test_several_cards_are_counted_and_each_is_blind_at_first() -> None:
    async def play(emit: Emit, approve: Ask) -> None:
        calls = [replace(BASH, id=name, arguments=json.dumps({"command": name})) for name in "abc"]
        verdicts = await asyncio.gather(*(approve(call, f"why {call.id}") for call in calls))
        await saying(f"{[verdict.allowed for verdict in verdicts]}")(emit, approve)

    clock = Clock()
    async with running(Stage([play]), clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Allow bash?  1 of 3")
        clock.now += 1
        await pilot.press("y", "y")
        await sees(pilot, "Allow bash?  2 of 3")
        assert "why b" in screen_text(pilot.app)
        await until(pilot, lambda: draft(pilot) == "y")
        clock.now += 1
        await pilot.press("n")
        await sees(pilot, "Allow bash?  3 of 3")
        clock.now += 1
        await pilot.press("y")
        await sees(pilot, "[True, False, True]")


async def test_a_wide_card_shows_a_change_side_by_side() -> None:
    diff = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2"
    edit = ToolCall("e", "edit", json.dumps({"path": "a.py"}))
    clock = Clock()
    async with running(Stage([calling(edit)], shown=diff), clock, (160, 30)) as pilot:
        await send(pilot, "go")
        await sees(pilot, " │ 1 + x = 2")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: " │ " not in screen_text(pilot.app))
        assert "1 - x = 1" in screen_text(pilot.app)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("2",), "said: Postgres"),
        (("down", "enter"), "said: Postgres"),
        (("up", "enter"), "said: Postgres"),
        (("enter",), "said: SQLite"),
        ((*"neither", "enter"), "said: neither"),
        (("x", "escape", "1"), "said: SQLite"),
        (("9", "3", "1"), "said: SQLite"),
    ],
)
async def test_a_question_is_answered_by_a_key_or_in_words(keys: tuple[str, ...], said: str) -> None:
    clock, stage = Clock(), Stage()
    stage.plays.append(asking(stage, WHICH))
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Which [/] database?")
        assert "2 Postgres  a server" in screen_text(pilot.app)
        clock.now += 1
        await pilot.press(*keys)
        await sees(pilot, said)
        assert isinstance(pilot.app.focused, Prompt)


async def test_a_question_without_options_takes_words_and_no_empty_answer() -> None:
    clock, stage = Clock(), Stage()
    stage.plays.append(asking(stage, Question("What port?")))
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "What port?")
        clock.now += 1
        await pilot.press("enter", "enter", *"8080", "enter")
        await sees(pilot, "said: 8080")


async def test_several_questions_wait_for_each_other() -> None:
    clock, stage = Clock(), Stage()
    stage.plays.append(asking(stage, WHICH, Question("What port?", (Alternative("80"), Alternative("81")))))
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "The agent asks  1 of 2")
        clock.now += 1
        await pilot.press("1")
        await sees(pilot, "What port?")
        clock.now += 1
        await pilot.press("2")
        await sees(pilot, "said: 81")
        assert "said: SQLite" in screen_text(pilot.app)


async def test_what_is_typed_as_a_question_comes_is_no_answer() -> None:
    clock, stage = Clock(), Stage()
    stage.plays.append(asking(stage, WHICH))
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Which [/] database?")
        for key in ("1", "enter", "2"):
            clock.now += 0.2
            await pilot.press(key)
        await until(pilot, lambda: draft(pilot) == "12")
        assert pilot.app.query(Card)


async def test_escape_ends_the_turn_with_its_question() -> None:
    clock, stage = Clock(), Stage()
    stage.plays.append(asking(stage, WHICH))
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Which [/] database?")
        clock.now += 1
        await pilot.press("escape")
        await sees(pilot, "interrupted")
        assert not pilot.app.query(Card)
        assert stage.ended[0].outcome == "interrupted"


@pytest.mark.parametrize(
    ("keys", "mode", "said"),
    [
        (("1",), "edit", "the user approves the plan; the mode is edit now"),
        (("2",), "ask", "the user approves the plan; the mode is ask now"),
        (("3", *"less", "enter"), "plan", "change it and present it again: less"),
    ],
)
async def test_a_plan_is_approved_with_the_mode_to_go_on_in(keys: tuple[str, ...], mode: str, said: str) -> None:
    clock, stage = Clock(), Stage(state=replace(STATUS, mode="plan"))
    stage.plays.append(asking(stage, Question("", plan="# Plan\n\n1. Write **a.txt** [/]")))
    async with running(stage, clock) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Carry out this plan?")
        assert "1. Write a.txt [/]" in " ".join(screen_text(pilot.app).split())
        clock.now += 1
        await pilot.press(*keys)
        await sees(pilot, NOTE)
        assert said in " ".join(screen_text(pilot.app).split())
        assert stage.state.mode == mode


@pytest.mark.parametrize("mode", ["ask", "edit", "auto"])
async def test_where_nothing_has_to_be_planned_no_plan_is_asked_about(mode: str) -> None:
    stage = Stage(state=replace(STATUS, mode=mode))

    async def play(emit: Emit, approve: Ask) -> None:
        assert stage.work.person is not None
        with pytest.raises(ToolError, match=f"the mode is {mode}: no plan has to be approved, carry it out"):
            await stage.work.person(Question("", plan="fix it"))
        await saying("carried out")(emit, approve)

    stage.plays.append(play)
    async with running(stage, Clock()) as pilot:
        await send(pilot, "go")
        await sees(pilot, "carried out")
        assert not pilot.app.query(Card)


async def test_facts_that_others_changed_are_shown_and_accepted_by_one_key() -> None:
    clock, stage = Clock(), Stage()
    stage.rights.changed = [
        Unbelieved(Written("MEMORY.md", "b", theirs=True), "--- accepted\n+++ now\n@@ -1 +1 @@\n-a\n+b")
    ]
    async with running(stage, clock) as pilot:
        await sees(pilot, "MEMORY.md was changed outside ogcode")
        assert "1 + b" in screen_text(pilot.app)
        clock.now += 1
        await pilot.press("y")
        await sees(pilot, "MEMORY.md is believed as it was shown")
        assert stage.rights.believed == stage.rights.changed


@pytest.mark.parametrize("key", ["n", "escape"])
async def test_a_change_that_was_not_accepted_is_not_shown_again_until_it_is_another(key: str) -> None:
    clock, stage = Clock(), Stage()
    first = Unbelieved(Written("MEMORY.md", "b", theirs=True), "first change")
    stage.rights.changed = [first]
    async with running(stage, clock) as pilot:
        await sees(pilot, "first change")
        clock.now += 1
        await pilot.press(key)
        await until(pilot, lambda: not pilot.app.query(Card))
        await send(pilot, "go")
        await sees(pilot, NOTE)
        assert not pilot.app.query(Card)
        stage.rights.changed = [replace(first, file=replace(first.file, text="c"), difference="second change")]
        await send(pilot, "go on")
        await sees(pilot, "second change")
        assert stage.rights.believed == []


async def test_rules_are_listed_with_their_origin_and_one_is_removed() -> None:
    stage = Stage()
    stage.rights.lines = [
        RuleLine("deny", "Bash(git push*)", ".ogcode/config.toml", kept=False),
        RuleLine("allow", "Bash([/] x)", "your settings", kept=True),
    ]
    async with running(stage, Clock()) as pilot:
        await send(pilot, "/permissions")
        await sees(pilot, "allow Bash([/] x)  (your settings)  [1]")
        assert "deny  Bash(git push*)  (.ogcode/config.toml)" in screen_text(pilot.app)
        assert "sandbox ws (bubblewrap)" in screen_text(pilot.app)
        await send(pilot, "/permissions remove 2")
        await sees(pilot, "there is no rule '2' that can be removed; 1 to 1 are there")
        await send(pilot, "/permissions remove 1")
        await sees(pilot, "'Bash([/] x)' is removed")
        assert [line.kind for line in stage.rights.lines] == ["deny"]


async def test_text_goes_on_above_a_card() -> None:
    async def play(emit: Emit, approve: Ask) -> None:
        emit(TextDelta("I will run it.\n\n"))
        await approve(BASH, "it runs a command")

    async with running(Stage([play]), Clock(), (60, 16)) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Allow bash?")
        await sees(pilot, "Esc stop")


HOSTILE = "[/] [b + [@click=app.quit]x[/] \x1b]52;c;cGF3bmVk\x07 \x9b31m a\u202eb\u200bc"


async def test_nothing_that_is_asked_is_markup_or_an_escape() -> None:
    planning = replace(STATUS, mode="plan")
    clock, stage = Clock(), Stage(state=planning, shown=f"--- {HOSTILE}\n+++ {HOSTILE}\n@@ -1 +1 @@\n-{HOSTILE}\n+x")
    asked = Question(HOSTILE, (Alternative(HOSTILE, HOSTILE), Alternative("b")))
    stage.plays += [
        asking(stage, asked),
        asking(stage, Question("", plan=HOSTILE)),
        calling(ToolCall("c", HOSTILE, HOSTILE), why=HOSTILE),
    ]
    stage.rights.rule = stage.rights.boundary = HOSTILE
    stage.rights.lines = [RuleLine("allow", HOSTILE, HOSTILE, kept=True)]
    stage.rights.changed = [Unbelieved(Written(HOSTILE, HOSTILE, theirs=True), HOSTILE)]
    stage.work.running = [JobLine(HOSTILE, HOSTILE, running=True)]
    stage.work.outputs = {HOSTILE: HOSTILE}
    stage.work.left = f"[>] {HOSTILE}"
    async with running(stage, clock) as pilot:
        await sees(pilot, "was changed outside ogcode")
        seen = screen_text(pilot.app)
        clock.now += 1
        await pilot.press("n", "ctrl+t")
        await sees(pilot, "Ctrl+T hides")
        await send(pilot, "/permissions")
        await sees(pilot, "/permissions remove NUMBER")
        await pilot.press("ctrl+b")
        await sees(pilot, "Commands in the background")
        seen += screen_text(pilot.app)
        await pilot.press("escape")
        for sign, key in (("The agent asks", "1"), ("Carry out this plan?", "1"), ("g keeps the rule", "n")):
            await send(pilot, "go")
            await sees(pilot, sign)
            seen += screen_text(pilot.app)
            clock.now += 1
            await pilot.press(key)
            await until(pilot, lambda: not pilot.app.query(Card))
            await until(pilot, lambda: isinstance(pilot.app.focused, Prompt))
    assert not any(each in seen for each in "\x1b\x07\x9b\u202e\u200b")
    assert "cGF3bmVk" not in seen
    assert seen.count("[@click=app.quit]") > 8


async def test_always_does_not_hold_where_the_reason_or_the_bounds_are_other() -> None:
    clock = Clock()
    reasons = ("it runs a command", "it runs a command", "it leads to another file", "it runs a command")
    stage = Stage([calling(BASH, why=why) for why in reasons])
    stage.rights.boundary = "sandbox ws"
    async with running(stage, clock) as pilot:
        for turn, answered in enumerate(("a", "", "y", "y"), 1):
            if turn == 4:
                stage.rights.boundary = "no sandbox"
            await send(pilot, f"turn {turn}")
            if answered:
                await sees(pilot, "Allow bash?")
                clock.now += 1
                await pilot.press(answered)
            await until(pilot, partial(ended, stage, turn))
        assert not stage.plays


def ended(stage: Stage, turns: int) -> bool:
    return len(stage.ended) == turns
