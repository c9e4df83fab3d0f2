import json
import random
from collections.abc import AsyncGenerator, Sequence

import pytest

from ogcode.agent.arguments import Unreadable, no_such_tool, read
from ogcode.agent.model import Broken, Delta, Finished, Options, Restarted, Text, ToolSpec
from ogcode.agent.models.patient import Patient
from ogcode.agent.models.recover import Recovering, calls_in
from ogcode.agent.models.scripted import Part, Reply, ScriptedModel
from ogcode.agent.turn import Message, ToolCall, Usage

READ_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "start_line": {"type": "integer"}},
    "required": ["path"],
}
READ = ToolSpec("read", "Read.", READ_SCHEMA)
WRITE = ToolSpec("write", "Write.", {"type": "object", "properties": {}})
TOOLS = [READ, WRITE]
ONE = [("read", {"path": "a.py"})]
TWO = [*ONE, ("write", {"path": "b.md", "text": "```py\nx\n```\n"})]
ARGUMENTS = json.dumps(TWO[1][1])
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
    "function of JSON": ('<function=read>{"path": "a.py"}</function>', ONE),
    "function whose tag was never opened": (
        "<function=read>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
        ONE,
    ),
    "keys and values in a tag": (
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
        ONE,
    ),
    "invoke": (
        '<function_calls>\n<invoke name="read">\n<parameter name="path">a.py</parameter>\n</invoke>\n</function_calls>',
        ONE,
    ),
    "function_call": (f"<function_call>{FIRST}</function_call>", ONE),
    "fence of tool_call": (f"```tool_call\n{FIRST}\n```", ONE),
    "tools tag": (f"<tools>\n{FIRST}\n</tools>", ONE),
    "Mistral, a list": (f"[TOOL_CALLS] [{FIRST}, {SECOND}]", TWO),
    "Mistral, newer": ('[TOOL_CALLS]read[ARGS]{"path": "a.py"}', ONE),
    "Mistral, several": (
        f'[TOOL_CALLS]read[ARGS]{{"path": "a.py"}}[TOOL_CALLS]write[CALL_ID]abc[ARGS]{ARGUMENTS}',
        TWO,
    ),
    "harmony": (
        '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.py"}<|call|>',
        ONE,
    ),
    "harmony with its thoughts": (
        "<|channel|>analysis<|message|>I need a.py.<|end|><|start|>assistant"
        '<|channel|>commentary to=functions.read<|message|>{"path": "a.py"}',
        ONE,
    ),
    "harmony, the other way round": (
        '<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{"path": "a.py"}<|call|>',
        ONE,
    ),
    "Llama": ('<|python_tag|>{"name": "read", "parameters": {"path": "a.py"}}<|eom_id|>', ONE),
    "DeepSeek, older": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n"
        '{"path": "a.py"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        ONE,
    ),
    "DeepSeek, newer": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a.py"}<｜tool▁call▁end｜>'
        f"<｜tool▁call▁begin｜>write<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        TWO,
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
        '{"path": "a.py"}<|tool_call_end|><|tool_calls_section_end|>',
        ONE,
    ),
    "mended in a tag": ("<tool_call>{'name': 'read', 'arguments': {'path': 'a.py',}}</tool_call>", ONE),
    "a bracket too many": ('<tool_call>{"name": "read", "arguments": {"path": "a.py"}}}</tool_call>', ONE),
    "its own last bracket missing": ('{"name": "read", "arguments": {"path": "a.py"}', ONE),
    "end tokens": (f"{FIRST}<|im_end|>\n", ONE),
    "a result that is made up": (
        f"<tool_call>\n{FIRST}\n</tool_call>\n<tool_response>\nx = 1\n</tool_response>\nThe file sets x.",
        ONE,
    ),
    "line feed in a string": ('{"name": "write", "arguments": {"text": "a\nb"}}', [("write", {"text": "a\nb"})]),
}

SECOND_KNOWN = '{"name": "read", "arguments": {"path": "b.md", "start_line": 2}}'
BOTH_KNOWN = [*ONE, ("read", {"path": "b.md", "start_line": 2})]
TAGGED = f"<tool_call>\n{FIRST}\n</tool_call>"
AFTER_PROSE = {
    "in a tag": ("I will read it first.", f"\n\n{TAGGED}", ONE),
    "in a tag on the same line": ("Let me look:", f" <tool_call>{FIRST}</tool_call>", ONE),
    "several": ("First the file, then the note.", f"\n{TAGGED}\n<tool_call>{SECOND_KNOWN}</tool_call>", BOTH_KNOWN),
    "a function": ("Now for a.py.", "\n<function=read><parameter=path>a.py</parameter></function>", ONE),
    "Mistral": ("I look it up.", '\n[TOOL_CALLS]read[ARGS]{"path": "a.py"}', ONE),
    "DeepSeek": ("Ich lese es.", '\n<｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a.py"}<｜tool▁call▁end｜>', ONE),
    "after code of its own": ("It is called like so:\n```python\nread({})\n```\nI read it.", f"\n{TAGGED}", ONE),
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
    "cut behind an inner bracket": '{"name": "read", "arguments": {"path": "a.py", "at": {"x": 1}',
    "empty tag": "<tool_call></tool_call>",
    "a key twice": '{"name": "read", "name": "write", "arguments": {}}',
    "empty fence": "```json\n```",
    "a tag in code": f"```\nUSE {TAGGED}\n```",
    "a tag in code after prose": f"It answers with this:\n```xml\n{TAGGED}\n```",
    "a tag in code that is left open": f"It answers with this:\n```\n{TAGGED}",
    "a tag in quotes": f"The template puts `<tool_call>{FIRST}</tool_call>`",
    "a tag within a sentence": f"It wrote <tool_call>{FIRST}</tool_call>",
    "a tag and an explanation": f"Calls have tags.\n{TAGGED}\nThe name comes first.",
    "an example": f"Here is an example of it:\n\n{TAGGED}",
    "a format": f"The call format is this:\n{TAGGED}",
    "what models write": f"Small models write this.\n{TAGGED}",
    "what not to do": f"Never send this:\n{TAGGED}",
    "an unoffered name after prose": 'I do it.\n<tool_call>{"name": "delete_all", "arguments": {}}</tool_call>',
    "what does not fit after prose": 'I do it.\n<tool_call>{"name": "read", "arguments": {"file": "a.py"}}</tool_call>',
    "what lacks something after prose": 'I do it.\n<tool_call>{"name": "read", "arguments": {}}</tool_call>',
    "a word in the place of arguments": '<tool_call>{"name": "read", "arguments": {...}}</tool_call> is how it looks.',
    "a tag that is left open in prose": f"<tool_call>{FIRST} is how it looks",
    "Mistral in prose": 'The marker is [TOOL_CALLS]read[ARGS]{"path": "a.py"}',
    "harmony in prose": "Channels look like <|channel|>commentary to=functions.read<|message|>{}<|call|>",
    "JSON of a test": f"    assert calls == [{FIRST}]",
    "a log": f"12:03 INFO call {FIRST}",
    "YAML": "- name: read\n  arguments:\n    path: a.py",
    "a function in Python": 'read(path="a.py")',
    "stray text in a function": "<function=read>why <parameter=path>a</parameter></function>",
    "a name that is no text": '{"name": ["read"], "arguments": {}}',
    "arguments that are a list": '{"name": "read", "arguments": ["a.py"]}',
}


GO = (Message("user", "go"),)


async def said(*replies: Reply, tools: Sequence[ToolSpec] = TOOLS, messages: Sequence[Message] = GO) -> list[Delta]:
    model = Recovering(ScriptedModel(*replies))
    return [delta async for delta in model.stream(messages, tools, options=Options())]


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


@pytest.mark.parametrize("shape", AFTER_PROSE)
async def test_a_call_in_special_tags_at_the_end_of_prose_is_a_call(shape: str) -> None:
    prose, text, calls = AFTER_PROSE[shape]
    letters: tuple[Part, ...] = tuple(prose + text)
    for parts in ((prose + text,), letters):
        deltas = await said(parts)
        assert calls_of(deltas) == calls
        assert text_of(deltas).rstrip() == prose


@pytest.mark.parametrize("shape", [*PROSE, *AFTER_PROSE])
async def test_what_a_tool_or_the_user_said_is_a_quotation(shape: str) -> None:
    text = PROSE[shape] if shape in PROSE else AFTER_PROSE[shape][1]
    for role in ("user", "tool"):
        asked = (Message("user", "go"), Message(role, f"before {text.strip()} after", call_id="c"))
        deltas = await said(text, messages=asked)
        assert calls_of(deltas) == []
        assert text_of(deltas) == text


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "write", "arguments": {"text": "say "hi""}}</tool_call>',
        '<tool_call>{"name": "write", "arguments": {"text": "cut',
        'Now I write.\n<tool_call>\n{"name": "write", "arguments": {"text": "cut"\n</tool_call>',
        '[TOOL_CALLS] [{"name": "write", "arguments": {"text": cut}}]',
    ],
)
async def test_a_call_with_broken_arguments_is_one_that_the_model_is_told_of(text: str) -> None:
    (call,) = [delta for delta in await said(text) if isinstance(delta, ToolCall)]
    assert call.name == "write"
    with pytest.raises(Unreadable):
        read(call.arguments)


@pytest.mark.parametrize("text", [f"<tool_call>{FIRST[:20]}", f"I read it.\n<tool_call>{FIRST[:-3]}", "[TOOL_CALLS]re"])
async def test_nothing_of_a_call_cut_at_the_output_limit_is_shown_or_run(text: str) -> None:
    class Cut(ScriptedModel):
        async def stream(
            self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
        ) -> AsyncGenerator[Delta]:
            yield Text(text)
            yield Finished("length", Usage())

    model = Recovering(Cut())
    deltas = [delta async for delta in model.stream((Message("user", "go"),), TOOLS, options=Options())]
    assert calls_of(deltas) == []
    assert "read" not in text_of(deltas).replace("I read it.", "")


@pytest.mark.parametrize("shape", PROSE)
async def test_a_look_alike_is_text_to_the_last_byte(shape: str) -> None:
    deltas = await said(PROSE[shape])
    assert calls_of(deltas) == []
    assert text_of(deltas) == PROSE[shape]


async def test_a_call_of_a_tool_that_is_not_there_but_fits_another_is_told_of_once() -> None:
    text = '```json\n{"name": "hello.py", "arguments": {"path": "a.py"}}\n```'
    (call,) = [delta for delta in await said(text) if isinstance(delta, ToolCall)]
    assert (call.name, json.loads(call.arguments)) == ("hello_py", {"path": "a.py"})
    assert "no tool named hello_py; read takes these arguments" in no_such_tool(call, TOOLS)
    again = (*GO, Message("assistant", "", (call,)), Message("tool", "error", call_id=call.id, name=call.name))
    deltas = await said(text, messages=again)
    assert calls_of(deltas) == []
    assert text_of(deltas) == text


async def test_of_calls_in_a_row_none_runs_where_one_is_broken_and_that_one_is_told_of() -> None:
    broken = '{"name": "write", "arguments": {"path": "b.md", "text": "x'
    (call,) = [delta for delta in await said(f"{FIRST}\n{broken}") if isinstance(delta, ToolCall)]
    assert (call.name, call.arguments) == ("write", broken)
    for other in ("and that is all", '{"name": "delete_all", "arguments": {"x', broken.replace("name", "title")):
        deltas = await said(f"{FIRST}\n{other}")
        assert calls_of(deltas) == []
        assert text_of(deltas) == f"{FIRST}\n{other}"


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


PIECES = [
    *"<tool_call> </tool_call> <function=read> </function> <parameter=path> </parameter> <tool_response>".split(),
    *"[TOOL_CALLS] [ARGS] <|channel|>commentary to= <|message|> <|call|> <|python_tag|> <｜tool▁call▁begin｜>".split(),
    *'<｜tool▁sep｜> ``` { } [ ] , " \' \\ delete_all "delete_all" "name": "arguments": read a.py é\ud800'.split(),
    *("```json\n", "```\n", FIRST, SECOND, "\n", " ", "I read it. ", "é\ud800"),
]


async def test_whatever_a_model_writes_no_call_of_what_was_not_offered_comes_of_it_and_no_error() -> None:
    chance = random.Random(12)
    texts = ("".join(chance.choices(PIECES, k=chance.randrange(1, 14))) for _ in range(5_000))
    assert {call.name for text in texts for call in calls_in(text, [READ])} == {"read"}


async def test_however_an_answer_is_cut_the_same_comes_of_it() -> None:
    chance = random.Random(7)
    for _ in range(300):
        text = "".join(chance.choices(PIECES, k=chance.randrange(1, 14)))
        cuts = sorted(chance.choices(range(len(text) + 1), k=5))
        parts = tuple(text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True))
        one, other = await said(text), await said(parts)
        assert [each for each in one if isinstance(each, ToolCall)] == [
            each for each in other if isinstance(each, ToolCall)
        ]
        assert text_of(one) == text_of(other)
