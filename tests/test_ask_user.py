"""What the agent asks of its user inside a turn."""

import json
from pathlib import Path

import pytest
from test_prompt_budget import as_sent

from ogcode.agent.events import Event, Steered, ToolFinished, ignore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Mode, Rules
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.ask_user import Alternative, Question, ask_user_tool
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.agent.window import tokens
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.wiring import open_session

APP_CAP = 1_600


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo").mkdir()
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, utc_now, trust=True)


def begin(here: Here, model: ScriptedModel, mode: Mode = "ask") -> Conversation:
    return Conversation(here, model, Choice(), mode=mode, rules=Rules(), limits=Limits(), memory="on")


async def asked_with(**arguments: str) -> Question:
    asked = list[Question]()

    async def person(question: Question) -> str:
        asked.append(question)
        return "a"

    await ask_user_tool(person, ignore, planning=True).function(**arguments)
    return asked[0]


async def no(call: ToolCall, why: str) -> Verdict:
    return Verdict(False, "no")


async def yes(call: ToolCall, why: str) -> Verdict:
    return Verdict(True)


def call(name: str, **arguments: str) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


async def test_options_are_lines_of_a_label_and_what_it_means() -> None:
    asked = await asked_with(question="Which?", options="- SQLite: one file\n- Postgres: a server: bigger\nneither\n")
    assert asked.options == (
        Alternative("SQLite", "one file"),
        Alternative("Postgres", "a server: bigger"),
        Alternative("neither"),
    )


async def test_a_single_option_is_no_choice() -> None:
    assert (await asked_with(question="Which?", options="only: this")).options == ()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"question": " "}, "question is empty"),
        ({"question": "x" * 2_001}, "at most 2,000 characters"),
        ({"question": "?", "options": "\n".join("abcdefg")}, "6 options at most"),
        ({"question": "?", "options": "a: 1\na: 2"}, "the same label"),
        ({"question": "?", "options": f"{'x' * 81}: 1\nb"}, "a label has at most 80"),
        ({"plan": "x" * 40_001}, "at most 40,000 characters; sum it up"),
    ],
)
async def test_what_can_not_be_asked_says_what_to_do(arguments: dict[str, str], why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await asked_with(**arguments)


async def test_what_the_user_answers_stays_in_the_turn_and_is_remembered_with_it(here: Here) -> None:
    async def person(question: Question) -> str:
        return "SQLite"

    model = ScriptedModel(call("ask_user", question="Which database?", options="SQLite\nPostgres"), "done")
    desk, events = begin(here, model), list[Event]()
    desk.work.answer_with(person)
    turn = await desk.ask("set up storage", emit=events.append, approve=no)
    assert model.asked[1][-1].content == "the user answers: SQLite"
    assert turn.words == "set up storage\n\n(Asked: Which database?) SQLite"
    assert [event.text for event in events if isinstance(event, Steered)] == [turn.steered[0]]


async def test_a_question_is_put_to_the_user_once_a_turn(here: Here) -> None:
    asked = list[str]()

    async def person(question: Question) -> str:
        asked.append(question.text)
        return "SQLite"

    again = call("ask_user", question="Which database?")
    model = ScriptedModel(again, again, "done")
    desk = begin(here, model)
    desk.work.answer_with(person)
    await desk.ask("set up storage", emit=ignore, approve=no)
    assert asked == ["Which database?"]
    assert model.asked[2][-1].content == "the user has answered this already: SQLite"


async def test_without_a_person_the_tool_is_not_offered(here: Here) -> None:
    model = ScriptedModel(call("ask_user", question="?"), "done")
    events = list[Event]()
    await begin(here, model).ask("go", emit=events.append, approve=no)
    assert "no tool named ask_user" in next(event.output for event in events if isinstance(event, ToolFinished))


async def test_a_plan_that_is_approved_is_carried_out_in_the_same_turn(here: Here) -> None:
    plans = list[str]()

    async def person(question: Question) -> str:
        plans.append(question.plan)
        desk.set_mode("edit")
        return "the user approves the plan"

    model = ScriptedModel(
        call("write", path="a.txt", content="too early"),
        call("ask_user", plan="1. write a.txt"),
        call("write", path="a.txt", content="now"),
        "done",
    )
    desk = begin(here, model, "plan")
    desk.work.answer_with(person)
    turn = await desk.ask("do it", emit=ignore, approve=no)
    assert plans == ["1. write a.txt"]
    assert (here.root.top / "a.txt").read_text("utf-8") == "now"
    assert [step.failed for step in turn.steps] == [True, False, False]
    assert "in plan mode nothing is changed" in model.asked[1][-1].content


@pytest.mark.parametrize(("mode", "told"), [("plan", True), ("ask", False)])
async def test_the_model_is_told_how_to_present_a_plan_in_plan_mode_only(here: Here, mode: Mode, told: bool) -> None:
    async def person(question: Question) -> str:
        return ""

    model = ScriptedModel("done")
    desk = begin(here, model, mode)
    desk.work.answer_with(person)
    await desk.ask("do it", emit=ignore, approve=no)
    assert ("(Plan mode: " in model.asked[0][1].content) is told
    offered = next(spec for spec in model.offered[0] if spec.name == "ask_user")
    assert ("plan" in offered.parameters["properties"]) is told  # type: ignore[operator]  # an object of JSON


async def test_a_mode_that_is_left_in_the_middle_of_a_turn_holds_from_the_next_call_on(here: Here) -> None:
    asked = list[str]()

    async def person(call_: ToolCall, why: str) -> Verdict:
        asked.append(call_.arguments)
        desk.set_mode("edit")
        return Verdict(True)

    calls = [call("write", path=f"{name}.txt", content="x") for name in "abc"]
    desk = begin(here, ScriptedModel(*calls, "done"))
    await desk.ask("go", emit=ignore, approve=person)
    assert asked == [calls[0].arguments]


def test_the_tools_of_the_app_stay_under_the_cap(here: Here) -> None:

    async def person(question: Question) -> str:
        return ""

    opened = open_session(here, ScriptedModel(), Choice(), memory="read")
    opened.person = person
    tools = sorted(opened.tools(ignore), key=lambda tool: tool.name)
    assert "ask_user" in [tool.name for tool in tools]
    assert tokens.count(opened.session.system) + tokens.count(as_sent(tools)) <= APP_CAP
