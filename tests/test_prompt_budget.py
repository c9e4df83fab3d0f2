"""What every request carries is what a session without replay pays again and again: it is kept small."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from ogcode.agent.events import ignore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.prompt import Previous, preface, system_prompt
from ogcode.agent.tool import Tool
from ogcode.agent.window import summary, tokens
from ogcode.tui.earlier import Choice
from ogcode.tui.knowledge import facts_here
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.wiring import open_session

HARD_CAP = 1_600
TOOLS_CAP = 880
SCRIBE_CAP = 450
LIBRARIAN_CAP = 260
SUMMARY_CAP = 220


def place(tmp_path: Path) -> Here:
    environ = {"HOME": str(tmp_path.parent / "h"), "OGCODE_HOME": str(tmp_path / "h"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path, environ, utc_now, trust=False)


def system_of(here: Here, window: int, *, trusted: bool) -> tuple[str, tuple[str, ...]]:
    return system_prompt(
        home=here.home,
        top=here.root.top,
        folder=here.folder,
        trusted=trusted,
        window=window,
        today=date(2026, 9, 12),
        known=facts_here(replace(here, trusted=trusted, environ={"OGCODE_TRUST": "1"})).known(),
    )


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
    system, _ = system_of(here, 8_192, trusted=False)
    tools = as_sent(offered(here))
    assert tokens.count(tools) <= TOOLS_CAP
    assert tokens.count(system) + tokens.count(tools) <= HARD_CAP


def test_no_tool_is_described_in_more_than_twenty_words(tmp_path: Path) -> None:
    assert not [tool.name for tool in offered(place(tmp_path)) if len(tool.spec.description.split()) > 20]


def test_every_tool_that_the_system_text_names_is_held(tmp_path: Path) -> None:
    names = {tool.name for tool in offered(place(tmp_path))}
    assert {"memory_recall", "project_memory_recall", "edit", "write", "read"} <= names


TEXTS = {
    "prose": "The cache is dropped when a lock can not be taken. ",
    "code": "    for key, value in self.items[3:17]:\n        total += int(value) or 42\n",
    "日本": "重试次数为五次。",
}


@pytest.mark.parametrize("window", [8_192, 32_768, 200_000])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_a_request_carries_has_its_share_of_the_window(tmp_path: Path, text: str, window: int) -> None:
    here = place(tmp_path)
    long = text * (2_000_000 // len(text))
    for name in ("AGENTS.md", "MEMORY.md"):
        tmp_path.joinpath(name).write_text(long, "utf-8")
    bare, _ = system_of(here, window, trusted=False)
    system, notices = system_of(here, window, trusted=True)
    rules, facts = system.partition("</rules>")[0], system.partition("</rules>")[2].partition("</facts>")[0]
    previous = preface(Previous(3, long, "done", "n", ("a.py",)), window, "on")
    assert tokens.count(rules) - tokens.count(bare) <= window // 8 + 50
    assert len(rules) - len(bare) <= 32_100
    assert tokens.count(facts) <= window // 10 + 80
    assert len(facts) <= 12_300
    assert tokens.count(previous) <= min(2_000, window // 12) + 80
    assert [notice.partition(":")[0] for notice in notices] == ["AGENTS.md", "MEMORY.md"]


def test_at_eight_thousand_tokens_seven_tenths_are_free_for_the_turn_and_its_answers(tmp_path: Path) -> None:
    here = place(tmp_path)
    system, _ = system_of(here, 8_192, trusted=False)
    previous = preface(Previous(3, TEXTS["prose"] * 1_000, "done", "n", ("a.py", "b.py")), 8_192, "on")
    fixed = tokens.count(system) + tokens.count(as_sent(offered(here))) + tokens.count(previous)
    assert 8_192 - fixed >= 0.7 * 8_192


def test_the_prompt_that_asks_for_a_summary_is_short() -> None:
    prompt = Path(summary.__file__).with_name("summary.md").read_text("utf-8")
    assert tokens.count(prompt) <= SUMMARY_CAP


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
