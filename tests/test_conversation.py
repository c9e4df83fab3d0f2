import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from ogcode.agent.events import Event, ToolFinished, Warned, ignore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.matching import rule_for
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around, utc_now


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("x = 1\n", "utf-8")
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, utc_now, trust=True)


def begin(here: Here, model: ScriptedModel) -> Conversation:
    return Conversation(here, model, Choice(), mode="ask", rules=Rules(), limits=Limits(), memory="on")


async def yes(call: ToolCall, why: str) -> Verdict:
    return Verdict(True)


def edit(old: str, new: str) -> ToolCall:
    return ToolCall("", "edit", json.dumps({"path": "a.py", "old": old, "new": new}))


async def test_nobody_is_asked_about_an_edit_that_would_fail(here: Here) -> None:
    asked = list[str]()
    events = list[Event]()

    async def ask(call: ToolCall, why: str) -> Verdict:
        asked.append(call.arguments)
        return Verdict(True)

    model = ScriptedModel(edit("nowhere", "y"), edit("x = 1", "x = 2"), "done")
    await begin(here, model).ask("go", emit=events.append, approve=ask)
    assert len(asked) == 1
    first = next(event for event in events if isinstance(event, ToolFinished))
    assert "this will fail: old is not in a.py" in first.output
    assert (here.root.top / "a.py").read_text("utf-8") == "x = 2\n"


async def test_in_the_home_folder_every_change_is_asked_for_whatever_the_mode(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "h"), "PATH": "/usr/bin:/bin"}
    home = look_around(tmp_path, environ, utc_now, trust=True)
    asked = list[str]()

    async def no(call: ToolCall, why: str) -> Verdict:
        asked.append(why)
        return Verdict(False, "no")

    model = ScriptedModel(ToolCall("", "bash", '{"command": "touch canary"}'), "done")
    desk = Conversation(home, model, Choice(), mode="yolo", rules=Rules(), limits=Limits(), memory="on")
    await desk.ask("go", emit=ignore, approve=no)
    assert asked == ["it runs a command"]
    assert not (tmp_path / "canary").exists()


async def test_the_status_shows_what_the_turn_used_and_the_note_that_waits(here: Here) -> None:
    desk = begin(here, ScriptedModel("done"))
    turn = await desk.ask("go", emit=ignore, approve=yes)
    status = desk.status()
    assert status.turn_tokens == turn.usage.tokens
    assert status.replay_tokens == turn.usage.tokens
    assert status.notes + status.pending == 1
    assert status.scripted


async def test_a_note_that_waits_is_listed_and_read(here: Here) -> None:
    desk = begin(here, ScriptedModel("The ZEBRA is done.", ToolCall("", "glob", "{}"), "x"))
    await desk.ask("about the zebra", emit=ignore, approve=yes)
    [found] = (await desk.memory.find("zebr")).items
    assert "ZEBRA" in await desk.memory.text(found)
    assert await desk.memory.note("nothing") is None


async def test_a_new_session_knows_nothing_of_the_old_one(here: Here) -> None:
    model = ScriptedModel("ANSWER-ONE", "two")
    desk = begin(here, model)
    await desk.ask("first", emit=ignore, approve=yes)
    before = desk.session_id
    desk.new_session()
    await desk.ask("second", emit=ignore, approve=yes)
    assert desk.session_id != before
    assert "ANSWER-ONE" not in model.asked[1][1].content


async def test_prompts_are_kept_for_the_project(here: Here) -> None:
    desk = begin(here, ScriptedModel())
    desk.prompt.remember("one\ntwo")
    assert list(desk.prompt.history()) == ["one\ntwo"]
    desk.close()
    assert list(begin(here, ScriptedModel()).prompt.history()) == ["one\ntwo"]


async def test_an_interrupted_turn_has_its_note_all_the_same(here: Here) -> None:
    waits = asyncio.Event()

    async def hang(call: ToolCall, why: str) -> Verdict:
        waits.set()
        await asyncio.Event().wait()
        return Verdict(True)

    desk = begin(here, ScriptedModel(edit("x = 1", "x = 2")))
    task = asyncio.ensure_future(desk.ask("go", emit=ignore, approve=hang))
    await waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.status().notes + desk.status().pending == 1


async def test_a_rule_that_is_given_for_good_holds_in_the_next_session_too(here: Here) -> None:
    asked = list[str]()

    async def for_good(call: ToolCall, why: str) -> Verdict:
        asked.append(call.arguments)
        return Verdict(True, rule=rule_for(call))

    call = ToolCall("", "bash", '{"command": "touch a.txt"}')
    other = ToolCall("", "bash", '{"command": "touch b.txt"}')
    await begin(here, ScriptedModel(call, call, other, "done")).ask("go", emit=ignore, approve=for_good)
    assert asked == [call.arguments, other.arguments]
    again = look_around(here.folder, here.environ, utc_now, trust=False)
    desk = Conversation(
        again, ScriptedModel(call, "done"), Choice(), mode="ask", rules=again.config.rules, limits=Limits(), memory="on"
    )
    await desk.ask("go", emit=ignore, approve=for_good)
    assert len(asked) == 2


async def test_a_rule_that_can_not_be_written_holds_for_the_session_and_says_so(here: Here) -> None:
    (here.home / "config.toml").write_text("allow = 3\n")
    events, asked = list[Event](), list[str]()

    async def for_good(call: ToolCall, why: str) -> Verdict:
        asked.append(why)
        return Verdict(True, rule=rule_for(call))

    call = ToolCall("", "bash", '{"command": "touch a.txt"}')
    await begin(here, ScriptedModel(call, call, "done")).ask("go", emit=events.append, approve=for_good)
    assert len(asked) == 1
    assert any(isinstance(event, Warned) and "this session only" in event.text for event in events)


async def test_a_command_that_only_reads_is_run_without_a_question(here: Here) -> None:
    subprocess.run(["git", "init", "-q", here.root.top], check=True)
    asked = list[str]()

    async def no(call: ToolCall, why: str) -> Verdict:
        asked.append(call.arguments)
        return Verdict(False, "no")

    calls = [
        ToolCall("", "bash", json.dumps({"command": each})) for each in ("git status --short", "cat a.py", "touch b")
    ]
    model = ScriptedModel(*calls, "done")
    await begin(here, model).ask("go", emit=ignore, approve=no)
    told = [message.content for message in model.asked[-1] if message.role == "tool"]
    assert ("?? a.py" in told[0], told[1]) == (True, "x = 1")
    assert asked == [calls[2].arguments]
