import json
from pathlib import Path

import pytest

from ogcode.agent.model import Broken, Delta, Finished, NoSuchModel, Options, RateLimited, Refused, Text, ToolSpec
from ogcode.agent.models.scripted import ScriptedModel, ScriptFile
from ogcode.agent.turn import Message, ToolCall

HELLO = (Message("system", "s"), Message("user", "hello there"))
SHOUT = ToolSpec("shout", "Shout.", {"type": "object", "properties": {}})


async def said(model: ScriptedModel | ScriptFile, *messages: Message, role: str = "agent") -> list[Delta]:
    options = Options(role)  # type: ignore[arg-type]  # from a table
    return [delta async for delta in model.stream(messages or HELLO, [SHOUT], options=options)]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))


def script(folder: Path, entries: object) -> ScriptFile:
    file = folder / "script.json"
    file.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return ScriptFile(file)


async def test_text_comes_in_pieces_and_ends_properly() -> None:
    deltas = await said(ScriptedModel("a rather long answer, in pieces"))
    assert len(deltas) > 3
    assert text_of(deltas) == "a rather long answer, in pieces"
    assert isinstance(deltas[-1], Finished)


async def test_one_answer_can_have_several_parts() -> None:
    call = ToolCall("c1", "shout", "{}")
    deltas = await said(ScriptedModel(("so: ", call)))
    assert text_of(deltas) == "so: "
    assert call in deltas


async def test_what_was_asked_and_offered_is_recorded() -> None:
    model = ScriptedModel("a", lambda messages: f"you said {messages[-1].content}")
    await said(model)
    assert text_of(await said(model)) == "you said hello there"
    assert model.asked == [HELLO, HELLO]
    assert model.offered == [(SHOUT,), (SHOUT,)]


@pytest.mark.parametrize("reply", [RateLimited, RateLimited("slow", 3.0)])
async def test_errors_are_raised(reply: RateLimited | type[RateLimited]) -> None:
    with pytest.raises(RateLimited):
        await said(ScriptedModel(reply))


async def test_a_request_too_many_fails_the_test() -> None:
    model = ScriptedModel("only")
    await said(model)
    with pytest.raises(AssertionError, match=r"no reply left for request 2.*hello there"):
        await said(model)


async def test_the_entry_is_chosen_by_role_and_last_user_message(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        [
            {"role": "scribe", "replies": [{"text": "a note"}]},
            {"role": "agent", "when": "bug", "replies": [{"text": "fixed"}]},
            {"role": "agent", "replies": [{"text": "hi"}]},
        ],
    )
    older = (Message("user", "a bug"), Message("assistant", "fixed"), Message("user", "thanks"))
    assert text_of(await said(model)) == "hi"
    assert text_of(await said(model, Message("user", "find the bug"))) == "fixed"
    assert text_of(await said(model, *older)) == "hi"
    assert text_of(await said(model, role="scribe")) == "a note"
    with pytest.raises(Refused, match="librarian"):
        await said(model, role="librarian")


async def test_the_step_is_how_often_the_model_has_answered_since(tmp_path: Path) -> None:
    calls = [{"name": "shout", "arguments": {"text": "x"}}, {"name": "shout"}]
    model = script(tmp_path, [{"role": "agent", "replies": [{"text": "one", "calls": calls}, {"text": "two"}]}])
    first = await said(model)
    made = [delta for delta in first if isinstance(delta, ToolCall)]
    assert [json.loads(call.arguments) for call in made] == [{"text": "x"}, {}]
    after = (*HELLO, Message("assistant", "one", tuple(made)), Message("tool", "X", call_id=made[0].id, name="shout"))
    assert text_of(await said(ScriptFile(tmp_path / "script.json"), *after)) == "two"
    with pytest.raises(Refused, match="step 3 of role agent"):
        await said(model, *after, Message("assistant", "two"))


async def test_a_script_can_fail(tmp_path: Path) -> None:
    with pytest.raises(Broken):
        await said(script(tmp_path, [{"role": "agent", "replies": [{"error": "broken"}]}]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[\n{"role": "agent",\n]', r"script.json:3: "),
        ("{}", "list"),
        ('[{"role": "boss", "replies": []}]', "entry 1"),
        ('[{"role": "agent", "replies": [{"texxt": "x"}]}]', "entry 1, reply 1"),
        ('[{"role": "agent", "replies": [{"error": "tired"}]}]', "rate_limited"),
        ('[{"role": "agent", "replies": [{"calls": [{}]}]}]', "name"),
    ],
)
def test_a_bad_script_says_where(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(NoSuchModel, match=words):
        script(tmp_path, text)


def test_a_missing_script_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(NoSuchModel, match=r"absent.json"):
        ScriptFile(tmp_path / "absent.json")
