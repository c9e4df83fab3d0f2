import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import pytest

from ogcode.agent.events import Answered, Event, Progress, Retrying, TextDelta, ToolFinished, ToolStarted, ignore
from ogcode.agent.guard import NUDGE, repeats
from ogcode.agent.loop import run_turn
from ogcode.agent.model import Broken
from ogcode.agent.models.patient import Patient
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.turn import Limits, Message, Opening, Step, ToolCall, Usage, Verdict
from ogcode.agent.window.fit import Scale
from ogcode.agent.window.view import View

FREE = Limits()


def opening(request: str) -> Opening:
    return Opening("system text", request)


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


@tool(effect="read")
async def shout(text: Annotated[str, "what to shout"], times: int = 1, tone: Literal["low", "high"] = "low") -> str:
    """Say it louder."""
    if text == "":
        raise ToolError("there is nothing to shout; give a text")
    return text.upper() * times


TOOLS: Sequence[Tool] = (shout,)


async def test_the_answer_without_calls_ends_the_turn() -> None:
    turn = await run_turn(
        opening("go"), model=ScriptedModel("done"), tools=TOOLS, emit=ignore, approve=yes, limits=FREE
    )
    assert (turn.answer, turn.outcome, turn.requests) == ("done", "done", 1)


async def test_a_call_runs_and_its_result_goes_back() -> None:
    model = ScriptedModel(ToolCall("c1", "shout", '{"text": "hey", "times": 2}'), "ok")
    events: list[Event] = []
    turn = await run_turn(opening("go"), model=model, tools=TOOLS, emit=events.append, approve=yes, limits=FREE)
    assert model.asked[1][-1].content == "HEYHEY"
    assert [type(event) for event in events if not isinstance(event, TextDelta)] == [
        Answered,
        ToolStarted,
        ToolFinished,
        Answered,
    ]
    assert turn.steps[0].name == "shout"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "a list instead of an object"),
        ("{}", "needs text"),
        ('{"text": 3}', "must be a string"),
        ('{"text": "a", "tmes": 2}', "did you mean 'times'"),
        ('{"text": "a", "times": "many"}', "must be an integer"),
        ('{"text": "a", "tone": "mid"}', "must be one of low, high"),
        ('{"text": ""}', "give a text"),
    ],
)
async def test_bad_arguments_go_back_to_the_model(arguments: str, told: str) -> None:
    model = ScriptedModel(ToolCall("c1", "shout", arguments), "sorry")
    turn = await run_turn(opening("go"), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    assert told in model.asked[1][-1].content
    assert turn.steps[0].failed


async def test_an_unknown_tool_is_an_error_that_names_the_known_ones() -> None:
    model = ScriptedModel(ToolCall("c1", "approve_all", "{}"), "sorry")
    await run_turn(opening("go"), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    assert "there is no tool named approve_all; there are shout" in model.asked[1][-1].content


async def test_a_refused_call_does_not_run_and_the_model_reads_why() -> None:
    async def no(call: ToolCall) -> Verdict:
        return Verdict(False, "not today")

    model = ScriptedModel(ToolCall("c1", "shout", '{"text": "hey"}'), "ok")
    await run_turn(opening("go"), model=model, tools=TOOLS, emit=ignore, approve=no, limits=FREE)
    assert model.asked[1][-1].content == "error: not allowed: not today"


async def test_every_call_has_an_answer_under_its_own_id() -> None:
    same = ToolCall("c1", "shout", '{"text": "a"}')
    model = ScriptedModel((same, same), replace(same, arguments='{"text": "b"}'), "ok")
    await run_turn(opening("go"), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    final = model.asked[-1]
    called = [call.id for message in final for call in message.calls]
    answered = [message.call_id for message in final if message.role == "tool"]
    assert called == answered
    assert len(set(called)) == 3


async def test_a_restarted_request_voids_its_text() -> None:
    async def at_once(seconds: float) -> None:
        return None

    model = Patient(ScriptedModel(Broken("cut"), "whole"), sleep=at_once)
    events: list[Event] = []
    turn = await run_turn(opening("go"), model=model, tools=TOOLS, emit=events.append, approve=yes, limits=FREE)
    assert turn.answer == "whole"
    assert any(isinstance(event, Retrying) for event in events)


@pytest.mark.parametrize(
    ("limits", "cause"),
    [(Limits(requests=2), "turns"), (Limits(tokens=5), "tokens"), (Limits(cost=0.0), "cost")],
)
async def test_a_limit_ends_the_turn_with_its_name(limits: Limits, cause: str) -> None:
    calls = [ToolCall(f"c{n}", "shout", json.dumps({"text": str(n)})) for n in range(9)]
    turn = await run_turn(
        opening("go"), model=ScriptedModel(*calls), tools=TOOLS, emit=ignore, approve=yes, limits=limits
    )
    assert (turn.outcome, turn.cause) == ("limit", cause)


@pytest.mark.parametrize("period", [1, 2, 3, 4])
async def test_calls_in_circles_end_the_turn(period: int) -> None:
    calls = [ToolCall("", "shout", json.dumps({"text": str(n % period)})) for n in range(3 * period + 1)]
    model = ScriptedModel(*calls, "never")
    turn = await run_turn(opening("go"), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    assert (turn.outcome, turn.cause, turn.requests) == ("limit", "loop", 3 * period)


async def test_a_model_that_repeats_itself_is_told_so_before_it_is_stopped() -> None:
    same = ToolCall("", "shout", '{"text": "a"}')
    model = ScriptedModel(same, same, "I stop.")
    turn = await run_turn(opening("go"), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    assert turn.outcome == "done"
    assert NUDGE not in model.asked[1][-1].content
    assert model.asked[2][-1].content == f"A{NUDGE}"


def test_the_same_command_between_different_edits_is_no_circle() -> None:
    history = list[Message]()
    for number in range(9):
        for name, given in (("edit", str(number)), ("bash", "make test")):
            call = ToolCall(f"{name}{number}", name, given)
            history += [Message("assistant", "", (call,)), Message("tool", "same", call_id=call.id, name=name)]
    assert not repeats(history)


async def test_a_model_that_says_nothing_has_failed() -> None:
    turn = await run_turn(opening("go"), model=ScriptedModel(""), tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    assert (turn.outcome, turn.cause, turn.empty) == ("failed", "provider", True)


async def test_the_oldest_results_become_stubs_before_a_window_is_exceeded() -> None:
    calls = [ToolCall(f"c{n}", "shout", json.dumps({"text": "a1 b2 c3 ", "times": 250 + n})) for n in range(12)]
    model = ScriptedModel(*calls, "done", window=8192)
    turn = await run_turn(opening("keep me"), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    assert turn.outcome == "done"
    assert all(Scale([]).weight(asked) <= 8192 - 2048 for asked in model.asked)
    assert all(asked[1].content == "keep me" for asked in model.asked)
    assert "left out to save room" in model.asked[-1][3].content


def test_near_the_limit_tokens_are_counted_and_nothing_is_left_out_too_early() -> None:
    messages = opening("go").messages()
    for number in range(3):
        call = ToolCall(f"c{number}", "read", "{}")
        result = Message("tool", "the quick brown fox jumps over it " * 120, call_id=call.id, name="read")
        messages = (*messages, Message("assistant", "", (call,)), result)
    assert View([], 8192).request(messages, ()) == messages
    assert View([], 3500).request(messages, ()) != messages


async def test_a_turn_that_can_not_fit_ends_as_limited_by_the_window() -> None:
    model = ScriptedModel("never", window=2000)
    turn = await run_turn(opening("a1 b2 " * 2000), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=FREE)
    assert (turn.outcome, turn.cause) == ("limit", "window")


def test_a_call_that_was_cut_short_is_a_failed_step() -> None:
    progress = Progress("go")
    progress.add(ToolStarted(ToolCall("c", "shout", "{}")))
    assert progress.turn("interrupted").steps == (Step("shout", "{}", failed=True),)


async def test_cancelling_reaches_the_tool_and_is_not_swallowed() -> None:
    started = asyncio.Event()

    @tool(effect="run")
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel(ToolCall("c1", "wait", "{}"))
    task = asyncio.ensure_future(
        run_turn(opening("go"), model=model, tools=[wait], emit=ignore, approve=yes, limits=FREE)
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_tool_is_its_signature() -> None:
    assert shout.spec.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to shout"},
            "times": {"type": "integer"},
            "tone": {"enum": ["low", "high"]},
        },
        "required": ["text"],
    }
    assert shout.spec.description == "Say it louder."


def test_numbers_and_truths_that_come_as_text_are_taken_as_meant() -> None:
    assert shout.arguments('{"text": "a", "times": "2"}') == {"text": "a", "times": 2}


def test_an_unknown_price_makes_the_whole_cost_unknown() -> None:
    assert (Usage(1, 1, 0, 0.5) + Usage(1, 1, 0, None)).cost is None


def test_a_turn_cut_short_keeps_the_text_so_far_and_no_tool_output() -> None:
    progress = Progress("go")
    for event in (ToolFinished(ToolCall("c", "shout", "{}"), "SECRET OUTPUT"), TextDelta("half an ans")):
        progress.add(event)
    turn = progress.turn("interrupted")
    assert turn.answer == "half an ans"
    assert "SECRET" not in repr(turn)


class Meeting:
    """Calls that wait for each other: they come to an end only where they run at the same time."""

    def __init__(self, size: int) -> None:
        self.tools = (self._tool("read"), self._tool("write"))
        self.order = list[str]()
        self._size, self._there, self._all = size, 0, asyncio.Event()

    def _tool(self, effect: Literal["read", "write"]) -> Tool:
        async def function(text: str) -> str:
            self.order.append(text)
            self._there += 1
            if self._there == self._size:
                self._all.set()
            if effect == "read":
                await asyncio.wait_for(self._all.wait(), 10)
            return text

        function.__name__ = effect
        return tool(effect=effect)(function)


def saying(*calls: str) -> tuple[ToolCall, ...]:
    parts = [call.split() for call in calls]
    return tuple(ToolCall(f"c{n}", name, json.dumps({"text": text})) for n, (name, text) in enumerate(parts))


async def test_calls_that_only_read_run_at_the_same_time_and_are_answered_in_order() -> None:
    meeting, model = Meeting(3), ScriptedModel(saying("read a", "read b", "read c"), "ok")
    turn = await run_turn(opening("go"), model=model, tools=meeting.tools, emit=ignore, approve=yes, limits=FREE)
    assert turn.answer == "ok"
    assert [message.content for message in model.asked[1][-3:]] == ["a", "b", "c"]


async def test_a_call_that_changes_something_keeps_its_place_among_those_that_read() -> None:
    meeting = Meeting(1)
    model = ScriptedModel(saying("read a", "write b", "write c", "read d"), "ok")
    await run_turn(opening("go"), model=model, tools=meeting.tools, emit=ignore, approve=yes, limits=FREE)
    assert meeting.order == ["a", "b", "c", "d"]


async def test_what_is_asked_for_is_asked_one_after_the_other() -> None:
    asked, most = 0, 0

    async def ask(call: ToolCall) -> Verdict:
        nonlocal asked, most
        asked += 1
        most = max(most, asked)
        await asyncio.sleep(0)
        asked -= 1
        return Verdict(True)

    model = ScriptedModel(saying("read a", "read b", "read c"), "ok")
    await run_turn(opening("go"), model=model, tools=Meeting(3).tools, emit=ignore, approve=ask, limits=FREE)
    assert most == 1


async def test_a_turn_that_is_interrupted_ends_all_calls_that_run() -> None:
    ended, started = list[str](), asyncio.Event()

    @tool(effect="read")
    async def read(text: str) -> str:
        """Wait for ever."""
        try:
            if text == "b":
                started.set()
            await asyncio.Event().wait()
        finally:
            ended.append(text)
        return ""

    model = ScriptedModel(saying("read a", "read b"), "ok")
    turn = run_turn(opening("go"), model=model, tools=(read,), emit=ignore, approve=yes, limits=FREE)
    running = asyncio.ensure_future(turn)
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(ended) == ["a", "b"]


async def test_a_fault_of_one_call_ends_the_others_and_the_turn() -> None:
    @tool(effect="read")
    async def read(text: str) -> str:
        """Fail, or wait for ever."""
        if text == "b":
            raise OSError("broken")
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel(saying("read b", "read a"), "ok")
    with pytest.raises(OSError, match="broken"):
        await run_turn(opening("go"), model=model, tools=(read,), emit=ignore, approve=yes, limits=FREE)


async def test_a_cost_that_nobody_knows_can_not_be_limited_and_that_is_said() -> None:
    model = ScriptedModel(ToolCall("c1", "shout", '{"text": "a"}'), "done")
    model.prices = None
    limits = Limits(cost=1.0)
    turn = await run_turn(opening("go"), model=model, tools=TOOLS, emit=ignore, approve=yes, limits=limits)
    assert (turn.outcome, turn.cause, turn.requests) == ("limit", "cost", 1)
    assert "not known" in turn.reason
