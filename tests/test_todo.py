import json
from pathlib import Path

import pytest

from ogcode.agent.events import ignore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.tool import Tool, ToolError
from ogcode.agent.tools.todo import todo_tool
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.wiring import open_session


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


async def keep(todo: Tool, items: str = "") -> str:
    return await todo.function(**todo.arguments(json.dumps({"items": items} if items else {})))


async def test_a_list_is_kept_and_shown_again() -> None:
    todo = todo_tool()
    assert await keep(todo) == "(the list is empty)"
    kept = "[x] look\n[>] change\n[ ] check\n1 of 3 done"
    assert await keep(todo, "- [x] look\n* [>] change\n3. [ ] check\n\n") == kept
    assert await keep(todo) == kept
    assert await keep(todo, "[x] look") == "[x] look\n1 of 1 done"


@pytest.mark.parametrize("items", ["a\n" * 51, "a" * 201])
async def test_a_list_that_is_too_long_is_refused_and_the_old_one_stays(items: str) -> None:
    todo = todo_tool()
    await keep(todo, "[ ] one")
    with pytest.raises(ToolError, match="at most 50 lines"):
        await keep(todo, items)
    assert await keep(todo) == "[ ] one\n0 of 1 done"


async def test_a_list_can_not_hide_anything() -> None:
    assert await keep(todo_tool(), "[ ] a\x1b[8mb\u202e") == "[ ] ab<U+202E>\n0 of 1 done"


async def test_a_session_that_is_gone_on_with_has_its_list(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "h"), "OGCODE_HOME": str(tmp_path / "h"), "PATH": "/usr/bin:/bin"}
    here = look_around(tmp_path, environ, utc_now, trust=False)
    listed = ToolCall("c1", "todo", json.dumps({"items": "[x] one\n[>] two"}))
    first = open_session(here, ScriptedModel(listed, "begun"), Choice(), memory="on")
    await first.session.ask("go", emit=ignore, approve=yes, limits=Limits())
    first.close()
    model = ScriptedModel(ToolCall("c1", "todo", "{}"), "done")
    again = open_session(here, model, Choice(latest=True), memory="on")
    await again.session.ask("go on", emit=ignore, approve=yes, limits=Limits())
    again.close()
    assert model.asked[1][-1].content == "[x] one\n[>] two\n1 of 2 done"
