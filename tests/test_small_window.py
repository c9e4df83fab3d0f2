"""A turn that is larger than its window: what goes is told and can be had again, what the user said never goes."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from ogcode.agent.events import Event, Retrying, SummedUp, ToolFinished, Warned
from ogcode.agent.loop import run_turn
from ogcode.agent.model import ContextOverflow, Overloaded, Truncated
from ogcode.agent.models.scripted import Reply, ScriptedModel
from ogcode.agent.tool import tool
from ogcode.agent.turn import Limits, Message, Opening, ToolCall, Turn, Verdict
from ogcode.agent.window import tokens
from ogcode.agent.window.fit import Scale
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.wiring import open_session

FREE = Limits()
WINDOW = 8_192
RESERVE = 2_048
FILES = 30
REQUEST = "Read all thirty parts, find where the limit is set, and raise it in parts 3 and 17. KEEP-THESE-WORDS"
SUMMARY = "Read the parts in order; LIMIT stands in part3.py and part17.py. Left: edit both."


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


def is_summary(messages: Sequence[Message]) -> bool:
    return "the room for its steps has run out" in messages[0].content


@dataclass
class Worker:
    """Works off a list of calls, each part read to its end; sums up when asked to."""

    plan: Iterator[Reply]
    summary: Reply = SUMMARY
    summaries: list[Sequence[Message]] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message]) -> Reply:
        if is_summary(messages):
            self.summaries.append(messages)
            return self.summary
        further = re.search(r"go on with start_line=(\d+)\]", messages[-1].content)
        if messages[-1].name == "read" and further:
            given = json.loads(messages[-2].calls[0].arguments)
            return ToolCall("", "read", json.dumps({**given, "start_line": int(further[1])}))
        return next(self.plan)

    def model(self, window: int = WINDOW) -> ScriptedModel:
        return ScriptedModel(*[self] * 400, window=window)


def call(name: str, **given: object) -> ToolCall:
    return ToolCall("", name, json.dumps(given))


def thirty_files() -> Iterator[Reply]:
    yield call("grep", pattern="LIMIT")
    for number in range(FILES):
        yield call("read", path=f"part{number}.py")
        if number in (3, 17):
            yield call("edit", path=f"part{number}.py", old="LIMIT = 10", new="LIMIT = 20")
    yield call("bash", command="cat part3.py part17.py")
    yield "Both limits are 20 now."


@pytest.fixture
def here(tmp_path: Path) -> Here:
    top = tmp_path / "repo"
    top.mkdir()
    for number in range(FILES):
        lines = [f"value_{number}_{line} = compute({line}, {line * 7919})" for line in range(200)]
        lines[120] = "LIMIT = 10" if number in (3, 17) else lines[120]
        top.joinpath(f"part{number}.py").write_text("\n".join(lines) + "\n", "utf-8")
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(top, environ, utc_now, trust=True)


def as_sent(model: ScriptedModel) -> list[int]:
    """Count each request as it would go over the wire."""
    count = cache(tokens.count)
    return [
        sum(count(f"{json.dumps(wire(message), ensure_ascii=False)}, ") for message in asked)
        + count(json.dumps([[spec.name, spec.description, spec.parameters] for spec in offered]))
        for asked, offered in zip(model.asked, model.offered, strict=True)
    ]


def wire(message: Message) -> dict[str, object]:
    calls = [
        {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
        for each in message.calls
    ]
    row = {"role": message.role, "content": message.content, "tool_call_id": message.call_id, "tool_calls": calls}
    return {key: value for key, value in row.items() if value}


async def test_thirty_files_are_read_and_two_edited_in_eight_thousand_tokens(here: Here) -> None:
    worker = Worker(thirty_files())
    model = worker.model()
    events = list[Event]()
    opened = open_session(here, model, Choice(), memory="on")
    turn = await opened.session.ask(REQUEST, emit=events.append, approve=yes, limits=FREE)
    assert (turn.outcome, turn.answer) == ("done", "Both limits are 20 now.")
    for number in (3, 17):
        assert "LIMIT = 20" in (here.root.top / f"part{number}.py").read_text("utf-8")
    assert max(as_sent(model)) + RESERVE <= WINDOW
    assert all("KEEP-THESE-WORDS" in asked[1].content for asked in model.asked)
    edited = [place for place, asked in enumerate(model.asked) if asked[-1].name == "edit"]
    for number, first in zip((3, 17), edited, strict=True):
        for asked in model.asked[first:]:
            assert f"part{number}.py" in "".join(map(str, (asked[1].content, *(each.calls for each in asked))))
    assert len({asked[0].content for asked in model.asked if not is_summary(asked)}) == 1  # with the rules in it
    assert 1 <= len(worker.summaries) <= 2
    assert [event.text for event in events if isinstance(event, SummedUp)] == [SUMMARY] * len(worker.summaries)
    assert SUMMARY in model.asked[-1][1].content
    assert "Files changed so far: part3.py, part17.py" in model.asked[-1][1].content
    transcript = next(here.root.sessions.glob("*.jsonl")).read_text("utf-8")
    assert all(f"value_{number}_7 = " in transcript for number in range(FILES))


@pytest.mark.parametrize("window", [8_192, 16_384, 32_768])
async def test_one_result_leaves_room_for_another(here: Here, window: int) -> None:
    here.root.top.joinpath("big.txt").write_text("one two three four five\n" * 20_000, "utf-8")
    plan: list[Reply] = [
        call("read", path="big.txt"),
        call("grep", pattern="three"),
        call("bash", command="cat big.txt"),
        "done",
    ]
    model = ScriptedModel(*plan, window=window)
    events = list[Event]()
    session = open_session(here, model, Choice(), memory="off").session
    await session.ask("go", emit=events.append, approve=yes, limits=FREE)
    outputs = [event.output for event in events if isinstance(event, ToolFinished)]
    assert len(outputs) == 3
    assert max(map(tokens.count, outputs)) <= window // 4


@tool(effect="read")
async def read(path: str, size: int = 1_800) -> str:
    """Read a file."""
    lines = [f"{number}| {path} line {number} of it" for number in range(1, 400)]
    return "\n".join(lines)[:size]


@tool(effect="write")
async def write(path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {path}: {len(content)} characters"


@tool(effect="run")
async def bash(command: str) -> str:
    """Run a command."""
    return "noise of the build\n" * 100 + "exit 2"


async def turn_of(
    worker: Worker, *, window: int = 4_096, request: str = "go"
) -> tuple[Turn, ScriptedModel, list[Event]]:
    model, events = worker.model(window), list[Event]()
    turn = await run_turn(
        Opening("system text", request),
        model=model,
        tools=[read, write, bash],
        emit=events.append,
        approve=yes,
        limits=FREE,
    )
    return turn, model, events


def contents(asked: Sequence[Message]) -> str:
    return "\n".join(message.content for message in asked)


async def test_a_stub_says_what_was_there_and_how_to_get_it_back() -> None:
    plan: list[Reply] = [call("read", path=f"{name}.py") for name in "abcd"]
    _, model, _ = await turn_of(Worker(iter([*plan, call("bash", command="make"), *plan, "done"])))
    assert "[80 lines left out to save room; read a.py lines 1-79 again if you need it]" in contents(model.asked[4])
    assert "a.py line 60 of it" in contents(model.asked[6])  # it was read again, and is there
    assert "[101 lines left out to save room; the last: exit 2; bash make again if you need it]" in contents(
        model.asked[-1]
    )


async def test_what_an_old_call_was_given_is_shortened_and_stays_json() -> None:
    plan = [
        call("write", path="a.py", content="some words of a text\n" * 200),
        *(call("read", path=f"{n}.py") for n in range(3)),
    ]
    _, model, _ = await turn_of(Worker(iter([*plan, "done"])))
    given = json.loads(model.asked[-1][2].calls[0].arguments)
    assert given == {"path": "a.py", "content": "[4,200 characters left out to save room]"}


async def test_the_words_of_the_user_and_the_second_summary_replace_older_steps() -> None:
    worker = Worker(call("read", path=f"module{number}/file.py") for number in range(80))
    worker.plan = iter([*worker.plan, "done"])
    turn, model, _ = await turn_of(worker)
    assert turn.outcome == "done"
    assert len(worker.summaries) == 2
    assert SUMMARY in worker.summaries[1][1].content  # the first is not lost
    last = model.asked[-1][1].content
    assert last.startswith("go\n\n<so_far>")
    assert last.count(SUMMARY) == 1
    # After two summaries, a line says what was done.
    assert "- read module5" in last
    assert turn.requests == len(model.asked) - 2


@pytest.mark.parametrize("failure", ["", Overloaded("the server is busy")])
async def test_a_model_that_can_not_sum_up_goes_on_with_a_line_for_each_step(failure: Reply) -> None:
    plan: list[Reply] = [call("read", path=f"module{number}/file.py") for number in range(30)]
    turn, model, events = await turn_of(Worker(iter([*plan, "done"]), summary=failure))
    assert turn.outcome == "done"
    assert "- read module0/file.py lines 1-54: 54 lines" in model.asked[-1][1].content
    assert any("could not be summed up" in event.text for event in events if isinstance(event, Warned))


async def test_what_was_tried_in_vain_is_told_when_its_step_is_gone() -> None:
    plan: list[Reply] = [
        call("read", path="a.py", size="huge"),
        *(call("bash", command=f"make {n}") for n in range(30)),
    ]
    _, model, _ = await turn_of(Worker(iter([*plan, "done"]), summary=""), window=3_000)
    lines = model.asked[-1][1].content
    assert "- read a.py huge: error: size must be an integer" in lines
    assert "- bash make 0: 101 lines, the last: exit 2" in lines


async def test_the_summary_is_asked_for_without_tools_and_with_the_results_themselves() -> None:
    worker = Worker(iter([*(call("read", path=f"module{number}/file.py") for number in range(40)), "done"]))
    _, model, _ = await turn_of(worker)
    [asked, *_] = worker.summaries
    assert model.offered[model.asked.index(tuple(asked))] == ()
    assert "module0/file.py line 1 of it" in asked[1].content
    assert tokens.count(contents(asked)) + 4_096 // 8 <= 4_096


async def test_results_that_come_at_once_are_cut_alike_until_they_fit() -> None:
    at_once = tuple(call("read", path=f"{name}.py") for name in "abcdef")
    turn, model, _ = await turn_of(Worker(iter([at_once, "done"])))
    assert turn.outcome == "done"
    for message in model.asked[1][-6:]:
        assert "line 3 of it" in message.content
        assert "ask for a part" in message.content


async def test_a_turn_without_end_is_limited_and_says_so_with_what_it_had() -> None:
    def endless() -> Iterator[Reply]:
        number = 0
        while True:
            number += 1
            yield call("write", path=f"folder_{number:04}/module.py", content=f"{number}")

    turn, model, _ = await turn_of(Worker(endless()), window=2_048)
    assert (turn.outcome, turn.cause) == ("limit", "window")
    assert "say continue" in turn.reason
    assert turn.answer == SUMMARY
    assert "folder_0001/module.py" in model.asked[-1][1].content


async def test_a_message_that_does_not_fit_is_refused_with_what_to_do() -> None:
    turn, model, _ = await turn_of(Worker(iter(["never"])), request="a1 b2 " * 4_000)
    assert (turn.outcome, turn.cause, model.asked) == ("limit", "window", [])
    assert "put it into a file" in turn.reason


async def test_what_was_left_out_stays_out_so_that_a_large_window_keeps_its_cache() -> None:
    plan = [call("read", path=f"{number}.py", size=9_000) for number in range(30)]
    _, model, _ = await turn_of(Worker(iter([*plan, "done"])), window=32_768)
    broken = [
        later[: len(earlier) - 1] != earlier[:-1] for earlier, later in zip(model.asked, model.asked[1:], strict=False)
    ]
    assert 0 < sum(broken) <= 12  # one in two or three, and not each


async def test_after_a_limit_the_next_turn_goes_on_from_the_text_so_far(here: Here) -> None:
    plan: Iterator[Reply] = (call("write", path=f"new/part_{number}.txt", content="x" * 60) for number in range(400))
    model = ScriptedModel(*[Worker(plan)] * 400, "fine", window=2_800)
    session = open_session(here, model, Choice(), memory="on").session
    turn = await session.ask("go", emit=lambda event: None, approve=yes, limits=FREE)
    assert turn.cause == "window"
    session.model = after = ScriptedModel("fine", window=2_800)
    await session.ask("continue", emit=lambda event: None, approve=yes, limits=FREE)
    told = after.asked[0][1].content
    assert 'outcome="limit"' in told
    assert SUMMARY in told
    assert "new/part_0.txt" in told


def overfull(times: int, kind: type[ContextOverflow] = ContextOverflow) -> tuple[ScriptedModel, list[int]]:
    """Script a server whose window is smaller than it says: it refuses the request behind the sixth result."""
    sizes = list[int]()

    def answer(messages: Sequence[Message]) -> Reply:
        results = sum(message.role == "tool" for message in messages)
        if results < 6:
            return ToolCall("", "lines", json.dumps({"number": results}))
        sizes.append(sum(len(message.content) for message in messages))
        return kind("the request is larger than its window") if len(sizes) <= times else "all read"

    return ScriptedModel(*[answer] * 20, window=32_768), sizes


@tool(effect="read")
async def lines(number: int) -> str:
    """Give many lines."""
    return f"line {number} of the file\n" * 200


async def test_a_request_that_the_server_finds_too_large_is_made_again_with_less_of_the_turn() -> None:
    model, sizes = overfull(times=2)
    events: list[Event] = []
    opening = Opening("system text", REQUEST)
    turn = await run_turn(opening, model=model, tools=(lines,), emit=events.append, approve=yes, limits=FREE)
    assert (turn.outcome, turn.answer) == ("done", "all read")
    assert sizes[0] > sizes[1] > sizes[2]
    assert all(REQUEST in asked[1].content for asked in model.asked)
    assert sum(isinstance(event, Retrying) for event in events) == 2


@pytest.mark.parametrize(("times", "kind", "asked"), [(9, ContextOverflow, 3), (9, Truncated, 1)])
async def test_what_stays_too_large_or_was_cut_silently_ends_the_turn(
    times: int, kind: type[ContextOverflow], asked: int
) -> None:
    model, sizes = overfull(times, kind)
    opening = Opening("system text", REQUEST)
    with pytest.raises(ContextOverflow, match="larger than its window"):
        await run_turn(opening, model=model, tools=(lines,), emit=lambda _: None, approve=yes, limits=FREE)
    assert len(sizes) == asked


async def test_thoughts_have_room_of_their_own() -> None:
    class Thinker(ScriptedModel):
        thinks = True

    largest = dict[type, int]()
    for kind in (ScriptedModel, Thinker):
        calls = [ToolCall("", "lines", json.dumps({"number": number})) for number in range(12)]
        model = kind(*calls, "done", window=WINDOW)
        turn = await run_turn(
            Opening("system text", REQUEST), model=model, tools=(lines,), emit=lambda _: None, approve=yes, limits=FREE
        )
        assert turn.outcome == "done"
        largest[kind] = max(map(Scale([]).weight, model.asked))
    assert largest[Thinker] <= WINDOW - RESERVE - WINDOW // 8 < largest[ScriptedModel] <= WINDOW - RESERVE
