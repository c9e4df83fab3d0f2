import json

import pytest

from ogcode.agent.model import Broken, Delta, Finished, Options, Restarted, Text, ToolSpec
from ogcode.agent.models.patient import Patient
from ogcode.agent.models.recover import Recovering, calls_in
from ogcode.agent.models.scripted import Part, Reply, ScriptedModel
from ogcode.agent.turn import Message, ToolCall

READ = ToolSpec("read", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}})
WRITE = ToolSpec("write", "Write.", {"type": "object", "properties": {}})
TOOLS = [READ, WRITE]
ONE = [("read", {"path": "a.py"})]
TWO = [*ONE, ("write", {"path": "b.md", "text": "```py\nx\n```\n"})]
FIRST, SECOND = (json.dumps({"name": name, "arguments": arguments}) for name, arguments in TWO)

CALLS = {
    "bare": (FIRST, ONE),
    "parameters": ('{"name": "read", "parameters": {"path": "a.py"}}', ONE),
    "arguments as text": (json.dumps({"name": "read", "arguments": '{"path": "a.py"}'}), ONE),
    "empty arguments": ('{"name": "read", "arguments": {}}', [("read", {})]),
    "function object": (json.dumps({"type": "function", "function": json.loads(FIRST)}), ONE),
    "list": (f"[{FIRST}, {SECOND}]", TWO),
    "lines": (f"{FIRST}\n{SECOND}", TWO),
    "fence": (f"```json\n{FIRST}\n```", ONE),
    "fence without a language": (f"\n```\n{FIRST}\n```\n", ONE),
    "two fences": (f"```json\n{FIRST}\n```\n\n```json\n{SECOND}\n```", TWO),
    "two in a fence": (f"```json\n{FIRST}\n{SECOND}\n```", TWO),
    "fence left open": (f"```json\n{FIRST}\n", ONE),
    "tag": (f"<tool_call>\n{FIRST}\n</tool_call>", ONE),
    "two tags": (f"<tool_call>{FIRST}</tool_call>\n<tool_call>{SECOND}</tool_call>", TWO),
    "tag left open": (f"<tool_call>\n{FIRST}\n", ONE),
    "fenced tag": (f"```xml\n<tool_call>{FIRST}</tool_call>\n```", ONE),
    "function": ("<function=read>\n<parameter=path>\na.py\n</parameter>\n</function>", ONE),
    "function in a tag": ("<tool_call>\n<function=read><parameter=path>a.py</parameter></function>\n</tool_call>", ONE),
    "function of two parameters": (
        "<function=write>\n<parameter=path>\nb.md\n</parameter>\n<parameter=text>\n```py\nx\n```\n\n</parameter>\n</function>",
        TWO[1:],
    ),
    "function without parameters": ("<function=read>\n</function>", [("read", {})]),
    "line feed in a string": ('{"name": "write", "arguments": {"text": "a\nb"}}', [("write", {"text": "a\nb"})]),
}

PROSE = {
    "before": f"I will read it:\n{FIRST}",
    "after": f"{FIRST}\nThat reads it.",
    "fence before": f"Like this:\n```json\n{FIRST}\n```",
    "fence after": f"```json\n{FIRST}\n```\nDone.",
    "tag after": f"<tool_call>{FIRST}</tool_call> and so on",
    "in code": f"```python\ncall = {FIRST}\n```",
    "one unoffered": '{"name": "delete_all", "arguments": {}}',
    "one of two unoffered": f'[{FIRST}, {{"name": "delete_all", "arguments": {{}}}}]',
    "no arguments": '{"name": "read"}',
    "other keys": '{"name": "read", "arguments": {}, "version": 2}',
    "package": '{"name": "read", "version": "1.0", "dependencies": {}}',
    "a list of numbers": "[1, 2, 3]",
    "broken": '{"name": "read", "arguments": {"path": "a.py"',
    "empty tag": "<tool_call></tool_call>",
    "empty fence": "```json\n```",
    "stray text in a function": "<function=read>why <parameter=path>a</parameter></function>",
    "a name that is no text": '{"name": ["read"], "arguments": {}}',
    "arguments that are a list": '{"name": "read", "arguments": ["a.py"]}',
}


async def said(*replies: Reply, tools: list[ToolSpec] = TOOLS) -> list[Delta]:
    model = Recovering(ScriptedModel(*replies))
    return [delta async for delta in model.stream((Message("user", "go"),), tools, options=Options())]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


def calls_of(deltas: list[Delta]) -> list[tuple[str, object]]:
    return [(delta.name, json.loads(delta.arguments)) for delta in deltas if isinstance(delta, ToolCall)]


@pytest.mark.parametrize("shape", CALLS)
async def test_a_whole_answer_that_is_calls_becomes_calls_and_is_never_shown(shape: str) -> None:
    text, calls = CALLS[shape]
    deltas = await said(text)
    assert calls_of(deltas) == calls
    assert text_of(deltas) == ""


@pytest.mark.parametrize("shape", PROSE)
async def test_a_look_alike_is_text_to_the_last_byte(shape: str) -> None:
    deltas = await said(PROSE[shape])
    assert calls_of(deltas) == []
    assert text_of(deltas) == PROSE[shape]


@pytest.mark.parametrize(
    "text",
    ["plain words " * 5, "```python\nprint(1)\nprint(2)\n```", "[a link](x) and more text", '{"version": 1, "x": 2}'],
)
async def test_what_cannot_be_a_call_is_streamed_at_once(text: str) -> None:
    assert len([delta for delta in await said(text) if isinstance(delta, Text)]) > 1


@pytest.mark.parametrize("shape", CALLS)
async def test_calls_are_held_back_however_they_are_cut(shape: str) -> None:
    text, calls = CALLS[shape]
    letters: tuple[Part, ...] = tuple(text)
    deltas = await said(letters)
    assert text_of(deltas) == ""
    assert calls_of(deltas) == calls


async def test_a_model_that_writes_the_same_calls_on_and_on_is_cut_off() -> None:
    deltas = await said(f"{FIRST}\n{SECOND}\n" * 500)
    assert calls_of(deltas) == TWO
    assert text_of(deltas) == ""
    finished = deltas[-1]
    assert isinstance(finished, Finished)
    assert finished.usage.output_tokens < len(f"{FIRST}\n{SECOND}\n")


async def test_native_calls_leave_text_alone() -> None:
    native = ToolCall("c1", "read", "{}")
    deltas = await said((FIRST, native))
    assert [delta for delta in deltas if isinstance(delta, ToolCall)] == [native]
    assert text_of(deltas) == FIRST


async def test_nothing_is_a_call_where_no_tools_are_offered() -> None:
    deltas = await said(FIRST, tools=[])
    assert text_of(deltas) == FIRST
    assert calls_of(deltas) == []


async def test_patience_around_recovery_starts_afresh() -> None:
    async def sleep(seconds: float) -> None:
        pass

    model = Patient(Recovering(ScriptedModel(Broken("b"), FIRST)), sleep=sleep)
    deltas = [delta async for delta in model.stream((Message("user", "go"),), TOOLS, options=Options())]
    assert any(isinstance(delta, Restarted) for delta in deltas)
    assert calls_of(deltas) == ONE


def test_a_long_answer_is_read_in_linear_time() -> None:
    assert calls_in("```json\n" + "[" * 200_000, TOOLS) == ()
    text = json.dumps({"name": "write", "arguments": {"text": "x" * 2_000_000}})
    assert len(calls_in(text, TOOLS)) == 1
