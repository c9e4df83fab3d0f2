import json
import random
from contextlib import suppress

import pytest

from ogcode.agent.arguments import BROKEN, Unreadable, mended, read, sendable, signature
from ogcode.agent.events import ignore
from ogcode.agent.loop import run_turn
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.tool import Malformed, tool
from ogcode.agent.turn import Limits, Message, Opening, ToolCall, Turn, Verdict

READABLE = {
    "as it should be": ('{"path": "a.py", "lines": [1, 2]}', {"path": "a.py", "lines": [1, 2]}),
    "nothing at all": ("", {}),
    "a trailing comma": ('{"path": "a.py",}', {"path": "a.py"}),
    "trailing commas inside": ('{"lines": [1, 2,], "at": {"x": 1,},}', {"lines": [1, 2], "at": {"x": 1}}),
    "a line feed in a string": ('{"text": "a\nb\tc"}', {"text": "a\nb\tc"}),
    "single quotes": ("{'path': 'a.py'}", {"path": "a.py"}),
    "single quotes around others": ("""{'say': 'a "b" it\\'s'}""", {"say": 'a "b" it\'s'}),
    "constants of Python": ('{"all": True, "none": None, "no": False}', {"all": True, "none": None, "no": False}),
    "keys without quotes": ('{path: "a.py", lines: 3}', {"path": "a.py", "lines": 3}),
    "an object in a string": (json.dumps('{"path": "a.py"}'), {"path": "a.py"}),
    "a closing bracket too many": ('{"path": "a.py"}}', {"path": "a.py"}),
    "a regular expression": (r'{"pattern": "\d+\.\w \"x\""}', {"pattern": r'\d+\.\w "x"'}),
    "a comma, a word and a quote in strings": ('{"text": "a,} True \'b\'",}', {"text": "a,} True 'b'"}),
    "a key twice with one value": ('{"path": "a", "path": "a"}', {"path": "a"}),
}

BEYOND_REPAIR = {
    "an opening bracket": "{",
    "cut in a string": '{"command": "rm -rf build',
    "cut after a string": '{"path": "a.py", "content": "x"',
    "cut after a comma": '{"path": "a.py", ',
    "cut in a number": '{"lines": 1',
    "cut in single quotes": "{'path': 'a.py', 'content': 'x",
    "cut in an object in a string": '"{\\"path\\": \\"a.py\\""',
    "an inner bracket missing": '{"at": {"x": 1, "path": "a.py"}',
    "quotes in quotes": '{"text": "say "hi", then go"}',
    "an apostrophe in single quotes": "{'text': 'it's', 'b': 'c'}",
    "a value without quotes": '{"path": a.py}',
    "escapes of two kinds": r'{"pattern": "\d+\n"}',
    "an escape of the shell": r'{"command": "echo \$HOME"}',
    "an escaped apostrophe": r'{"text": "it\'s"}',
    "a key twice": '{"path": "a", "path": "b"}',
    "two objects": '{"path": "a"}{"path": "b"}',
    "a number that is none": '{"lines": NaN}',
    "nothing but a comma": "{,}",
    "a comma": ",}",
    "two commas": '{"a": 1,,}',
    "two numbers": '{"lines": 1 3}',
    "a list": '[{"path": "a.py"}]',
    "a number": "3",
    "null": "null",
    "prose": "the file a.py",
    "brackets without end": "[" * 100_000,
    "words without end": "{" + "word " * 20_000,
}


@tool(effect="write")
async def put(path: str, content: str, lines: int = 0, share: float = 1.0, safe: bool = False) -> str:
    """Put it there."""
    return f"put {content} to {path}"


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


async def turn_of(model: ScriptedModel) -> Turn:
    opening = Opening("system", "go")
    return await run_turn(opening, model=model, tools=[put], emit=ignore, approve=yes, limits=Limits())


@pytest.mark.parametrize("kind", READABLE)
def test_what_can_be_meant_in_one_way_is_read_so(kind: str) -> None:
    text, meant = READABLE[kind]
    assert read(text) == meant
    assert json.loads(mended(ToolCall("c", "put", text)).arguments) == meant


@pytest.mark.parametrize("kind", BEYOND_REPAIR)
def test_what_can_be_meant_in_several_ways_is_not_read(kind: str) -> None:
    with pytest.raises(Unreadable):
        read(BEYOND_REPAIR[kind])
    call = ToolCall("c", "put", BEYOND_REPAIR[kind])
    assert mended(call) == call


def test_what_is_json_stays_as_it_was_written() -> None:
    call = ToolCall("c", "put", '{ "path":"a" ,"content":"b"}')
    assert mended(call) is call
    assert sendable(call) is call


def test_no_part_of_a_call_is_ever_taken_for_the_whole() -> None:
    text = json.dumps(
        {"path": "a 'b' {c}", "content": 'x,\n"y": [1, 2.5, {"z": null}], True', "lines": 12, "safe": True}
    )
    for end in range(1, len(text)):
        with pytest.raises(Unreadable):
            read(text[:end])


def test_damaged_arguments_are_read_as_they_were_meant_or_not_at_all() -> None:
    chance = random.Random(4)
    meant = {"path": "src/a.py", "content": "def f():\n\treturn {'a': [1, \"b\"]}\n", "lines": 3}
    text, read_so = json.dumps(meant), list[object]()
    for _ in range(4_000):
        place = chance.randrange(len(text) + 1)
        damaged = text[:place] + chance.choice("{}[],:'\" \nx1") + text[place + chance.randrange(2) :]
        try:
            json.loads(damaged, strict=False)
        except ValueError:
            with suppress(Unreadable):
                read_so.append(read(damaged))
    assert len(read_so) > 5
    assert all(given == meant for given in read_so)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"path": "a", "content": "", "lines": "3"}', ("lines", 3)),
        ('{"path": "a", "content": "", "lines": "3.0"}', ("lines", 3)),
        ('{"path": "a", "content": "", "share": "0.5"}', ("share", 0.5)),
        ('{"path": "a", "content": "", "share": 2}', ("share", 2.0)),
        ('{"path": "a", "content": "", "safe": "True"}', ("safe", True)),
    ],
)
def test_numbers_and_truths_that_came_as_text_are_what_the_tool_takes(
    arguments: str, given: tuple[str, object]
) -> None:
    assert put.arguments(arguments)[given[0]] == given[1]


def test_a_parameter_that_is_null_is_left_out_where_it_may_be() -> None:
    assert put.arguments('{"path": "a", "content": "b", "lines": null}') == {"path": "a", "content": "b"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"path": "a", "content": "rm', "it ends before it is complete"),
        ('{"path": "a", "text": "b"}', "no parameter 'text'"),
        ('{"path": "a", "contents": "b"}', "did you mean 'content'?"),
        ('{"path": "a"}', "put needs content"),
        ('{"path": null, "content": "b"}', "put needs path"),
        ('{"path": "a", "content": {"b": 1}}', "content must be a string, not an object"),
        ('{"path": "a", "content": "b", "lines": "nan"}', "lines must be an integer, not a string"),
        ('{"path": "a", "content": "b", "share": "nan"}', "share must be a number, not a string"),
        ('{"path": "a", "content": "b", "lines": true}', "lines must be an integer, not true or false"),
        (f'{{"{BROKEN}": "x"}}', f"no parameter '{BROKEN}'"),
    ],
)
def test_an_error_says_what_is_wrong_and_what_the_tool_takes(arguments: str, told: str) -> None:
    with pytest.raises(Malformed) as caught:
        put.arguments(arguments)
    assert told in str(caught.value)
    assert str(caught.value).endswith(signature(put.spec))


def test_a_signature_tells_names_types_and_what_may_be_left_out() -> None:
    assert signature(put.spec) == "put(path: string, content: string, lines?: integer, share?: number, safe?: boolean)"


async def test_nothing_malformed_stays_in_the_history_and_nothing_broken_looks_empty() -> None:
    cut = '{"path": "a", "content": "' + "x" * 5_000
    model = ScriptedModel(ToolCall("c1", "put", cut), ToolCall("c2", "put", "{'path': 'a', 'content': 'b'}"), "ok")
    turn = await turn_of(model)
    first, second = (call for message in model.asked[-1] for call in message.calls)
    assert json.loads(first.arguments)[BROKEN].startswith('{"path": "a"')
    assert len(first.arguments) < 1_000
    assert json.loads(second.arguments) == {"path": "a", "content": "b"}
    assert [step.failed for step in turn.steps] == [True, False]


async def test_what_is_asked_for_approval_is_what_runs() -> None:
    asked = list[object]()

    async def approve(call: ToolCall) -> Verdict:
        asked.append(json.loads(call.arguments))
        return Verdict(True)

    model = ScriptedModel(ToolCall("c1", "put", "{'path': 'a', 'content': 'b',}"), "ok")
    await run_turn(Opening("s", "go"), model=model, tools=[put], emit=ignore, approve=approve, limits=Limits())
    assert asked == [{"path": "a", "content": "b"}]
    assert model.asked[1][-1] == Message("tool", "put b to a", call_id="c1", name="put")


async def test_three_malformed_answers_in_a_row_end_the_turn_with_a_sentence() -> None:
    bad = ['{"path": "a', '{"path": "a"}', "{}"]
    turn = await turn_of(ScriptedModel(*(ToolCall("", "put", each) for each in bad), "never"))
    assert (turn.outcome, turn.cause, turn.requests) == ("limit", "loop", 3)
    assert "malformed 3 times in a row" in turn.reason


async def test_a_call_that_makes_sense_begins_a_new_count() -> None:
    bad, good = ToolCall("", "put", '{"path'), ToolCall("", "put", '{"path": "a", "content": "b"}')
    turn = await turn_of(ScriptedModel(bad, bad, good, ToolCall("", "nothing", "{}"), bad, "done"))
    assert turn.outcome == "done"
