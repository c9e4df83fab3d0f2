"""What every request carries is what a session without replay pays again and again: it is kept small."""

import json
from datetime import date
from pathlib import Path

from ogcode.agent import tokens
from ogcode.agent.events import ignore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.prompt import system_prompt
from ogcode.agent.tool import Tool
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.wiring import open_session

HARD_CAP = 1_600
TOOLS_CAP = 880
SCRIBE_CAP = 450
LIBRARIAN_CAP = 260


def place(tmp_path: Path) -> Here:
    environ = {"HOME": str(tmp_path / "h"), "OGCODE_HOME": str(tmp_path / "h"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path, environ, utc_now, trust=False)


def offered(here: Here) -> list[Tool]:
    tools = open_session(here, ScriptedModel(), Choice(), memory="read").tools(ignore)
    return sorted(tools, key=lambda tool: tool.name)


def as_sent(tools: list[Tool]) -> str:
    return json.dumps(
        [
            {
                "type": "function",
                "function": {
                    "name": tool.spec.name,
                    "description": tool.spec.description,
                    "parameters": tool.spec.parameters,
                },
            }
            for tool in tools
        ]
    )


def test_system_text_and_tools_stay_under_the_hard_cap(tmp_path: Path) -> None:
    here = place(tmp_path)
    system, _ = system_prompt(
        home=here.home, top=here.root.top, folder=here.folder, trusted=False, window=8192, today=date(2026, 9, 12)
    )
    tools = as_sent(offered(here))
    assert tokens.count(tools) <= TOOLS_CAP
    assert tokens.count(system) + tokens.count(tools) <= HARD_CAP


def test_no_tool_is_described_in_more_than_twenty_words(tmp_path: Path) -> None:
    assert not [tool.name for tool in offered(place(tmp_path)) if len(tool.spec.description.split()) > 20]


def test_every_tool_that_the_system_text_names_is_held(tmp_path: Path) -> None:
    names = {tool.name for tool in offered(place(tmp_path))}
    assert {"memory_recall", "project_memory_recall", "edit", "write", "read"} <= names


def test_the_scribes_prompt_is_short() -> None:
    import ogcode.scribe

    [folder] = ogcode.scribe.__path__
    assert tokens.count(Path(folder, "prompt.md").read_text("utf-8")) <= SCRIBE_CAP


def test_the_librarians_prompt_is_short() -> None:
    import ogcode.librarian

    [folder] = ogcode.librarian.__path__
    assert tokens.count(Path(folder, "prompt.md").read_text("utf-8")) <= LIBRARIAN_CAP


def test_tokens_are_counted_by_the_real_vocabulary_without_a_network() -> None:
    assert tokens.count("hello world") == 2
    assert tokens.count("<|endoftext|>") > 1
