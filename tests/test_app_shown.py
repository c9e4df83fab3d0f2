"""What the app shows of a session besides the conversation, and what it gives to the terminal."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from stage import SIZE, Stage, screen_text, sees, until
from stage_showing import StagedShowing
from textual.pilot import Pilot

from ogcode.agent.events import ignore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Mode, Rules
from ogcode.agent.tools.ask_user import Question
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.agent.window import tokens
from ogcode.tui.behind.context import Part
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.choice import Choice
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.screen.actions.shown import context_told
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.terminal import LARGEST, call_out, copy
from ogcode.tui.screen.transcript import Transcript

HOSTILE = "[b]x[/b] \x1b]52;c;cGF3bmVk\x07y \x9b31mz"


@asynccontextmanager
async def running(stage: Stage) -> AsyncIterator[Pilot[int]]:
    app = Ogcode(stage)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.query(Transcript).first().children)
        yield pilot


async def send(pilot: Pilot[int], text: str) -> None:
    pilot.app.query_one(Prompt).put(text)
    await pilot.press("enter")


async def test_the_parts_of_the_next_request_are_shown_with_their_share() -> None:
    async with running(Stage()) as pilot:
        await send(pilot, "/context")
        await sees(pilot, "7,000")
        rows = [line for line in screen_text(pilot.app).splitlines() if "█" in line or "░" in line]
        bars = {line.split()[0]: line.count("█") + line.count("░") for line in rows}
        assert bars == {"300": 1, "700": 2, "7,000": 18}


async def test_cost_and_checks_are_told_line_by_line() -> None:
    async with running(Stage()) as pilot:
        await send(pilot, "/cost")
        await sees(pilot, "this turn     1,200 tokens sent")
        await send(pilot, "/doctor")
        await sees(pilot, "warning sandbox: none")
        await sees(pilot, "1 to look at")


def test_what_a_part_is_stands_beside_its_bar_however_narrow_it_is() -> None:
    parts = [Part("tools", 700, "read, edit, write, bash, grep, glob, ls")]
    assert len(context_told(parts, 100).splitlines()) == 2
    _, first, second = context_told(parts, 60).splitlines()
    assert first.endswith("█  tools: read, edit, write,")
    assert second == f"{' ' * first.index('tools')}bash, grep, glob, ls"


async def test_what_a_command_says_is_seen_by_who_has_scrolled_up() -> None:
    async with running(Stage(before=[(f"request {number}", f"answer {number}") for number in range(30)])) as pilot:
        await sees(pilot, "answer 29")
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: "answer 29" not in screen_text(pilot.app))
        await send(pilot, "/cost")
        await sees(pilot, "this turn     1,200 tokens sent")


async def test_changes_are_shown_as_differences_and_none_as_a_sentence() -> None:
    diff = f"--- a.py\n+++ a.py\n@@ -1 +1 @@\n-old\n+new {HOSTILE}\n"
    async with running(Stage(showing=StagedShowing(diffs=(diff,)))) as pilot:
        await send(pilot, "/diff")
        await sees(pilot, "[b]x[/b]")
        assert "\x1b" not in screen_text(pilot.app)
    async with running(Stage()) as pilot:
        await send(pilot, "/diff")
        await sees(pilot, "nothing that ogcode's tools changed")


@pytest.mark.parametrize(("argument", "copied"), [("", "the # second"), (" 1", "the # second"), (" 2", "first")])
async def test_an_answer_is_copied_as_it_was_written(argument: str, copied: str) -> None:
    async with running(Stage(showing=StagedShowing(said=["first", "the # second"]))) as pilot:
        await send(pilot, f"/copy{argument}")
        await sees(pilot, f"copied {len(copied)} characters")
        assert pilot.app.clipboard == copied


@pytest.mark.parametrize("argument", ["3", "0", "-1", "x", "9" * 12])
async def test_an_answer_that_is_not_there_is_told(argument: str) -> None:
    async with running(Stage(showing=StagedShowing(said=["first"]))) as pilot:
        await send(pilot, f"/copy {argument}")
        await sees(pilot, "there are 1; /copy 1 is the last one")
        assert not pilot.app.clipboard


async def test_in_tmux_the_clipboard_is_reached_through_it_and_its_bound_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    async with running(Stage()) as pilot:
        app = pilot.app
        assert isinstance(app, Ogcode)
        written = list[str]()
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        assert copy(app, "é" * LARGEST).startswith(f"copied {LARGEST // 2:,} characters, the first {LARGEST:,} bytes")
        call_out(app, "osc9", "done\x1b]0;t\x07 here")
        call_out(app, "off", "unheard")
        plain, wrapped, called = written
        body = base64.b64encode(("é" * (LARGEST // 2)).encode()).decode()
        assert plain == f"\x1b]52;c;{body}\a"
        assert wrapped == f"\x1bPtmux;\x1b\x1b]52;c;{body}\a\x1b\\"
        assert called.startswith("\x1bPtmux;\x1b\x1b]9;done")
        assert called.count("\x1b") == 4


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.py").write_text("x = 1\n", "utf-8")
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, utc_now, trust=True)


async def yes(call: ToolCall, why: str) -> Verdict:
    return Verdict(True)


def call(name: str, **given: str) -> ToolCall:
    return ToolCall("", name, json.dumps(given))


async def test_a_session_tells_its_answers_changes_cost_and_next_request(here: Here) -> None:
    model = ScriptedModel(
        call("edit", path="a.py", old="x = 1", new="x = 2"),
        call("write", path="b.py", content="new = True\n"),
        "first **answer**",
        call("edit", path="a.py", old="x = 2", new="x = 3"),
        "second answer",
    )
    desk = Conversation(here, model, Choice(), mode="edit", rules=Rules(), limits=Limits(), memory="on")
    for text in ("one", "two"):
        turn = await desk.ask(text, emit=ignore, approve=yes)
    showing = desk.showing
    assert list(showing.answers()) == ["first **answer**", "second answer"]
    changed, made = showing.changes()
    assert "-x = 1\n+x = 3" in changed
    assert "--- /dev/null\n+++ b.py" in made
    told = showing.cost()
    assert f"{turn.usage.input_tokens:,} tokens sent" in told.splitlines()[0]
    assert "with replay" in told
    parts = await showing.context()
    assert sum(part.tokens for part in parts) == model.window
    assert {"system", "tools", "previous answer", "free"} <= {part.name for part in parts}
    desk.new_session()
    assert not showing.answers()
    assert not showing.changes()
    desk.close()


async def nobody(question: Question) -> str:
    raise AssertionError("nobody is asked")


@pytest.mark.parametrize("mode", ["ask", "plan"])
async def test_the_next_request_holds_what_was_told_and_the_users_words(here: Here, mode: Mode) -> None:
    model = ScriptedModel("one", "two")
    desk = Conversation(here, model, Choice(), mode=mode, rules=Rules(), limits=Limits(), memory="on")
    desk.work.answer_with(nobody)
    for _ in range(2):
        await desk.prompt.run("seq 1 40", lambda _: None, tell=True)
        told = sum(part.tokens for part in await desk.showing.context() if part.name not in ("answer", "free"))
        await desk.ask("x", emit=ignore, approve=yes)
        sent = sum(tokens.count(message.content) for message in model.asked[-1])
        tools = [
            {
                "type": "function",
                "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
            }
            for each in model.offered[-1]
        ]
        assert 0 <= sent + tokens.count(json.dumps(tools)) - told <= 5
    desk.close()
