"""Undo, redo and rewind as a person asks for them: in the app's conversation and from the shell."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ogcode.agent.events import ignore
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.commands.notes import open_notes
from ogcode.tui.earlier import Choice
from ogcode.tui.entry import run
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.toolbox import open_library


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.txt").write_text("one\n")
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path / "repo")
    here = look_around(tmp_path / "repo", environ, utc_now, trust=True)
    return replace(here, config=replace(here.config, sandbox="off"))


def edit(old: str, new: str) -> ToolCall:
    return ToolCall("", "edit", json.dumps({"path": "a.txt", "old": old, "new": new}))


def bash(command: str) -> ToolCall:
    return ToolCall("", "bash", json.dumps({"command": command}))


NEW = Choice()
THREE = (edit("one", "two"), "ONE-IS-TWO", edit("two", "three"), "TWO-IS-THREE", "NO-CHANGE")
"""Two turns that change a file, and one that does not."""


async def talk(
    here: Here, *replies: str | ToolCall, choice: Choice = NEW, memory: MemorySwitch = "on"
) -> tuple[Conversation, ScriptedModel]:
    """Have a conversation, a turn for each answer; the model has more to say."""
    model = ScriptedModel(*replies, "and", "so", "on")
    desk = Conversation(here, model, choice, mode="ask", rules=Rules(), limits=Limits(), memory=memory)
    for number, _ in enumerate((reply for reply in replies if isinstance(reply, str)), 1):
        await say(desk, f"request {number}")
    return desk, model


async def say(desk: Conversation, text: str) -> None:
    await desk.ask(text, emit=ignore, approve=yes)


async def yes(call: ToolCall, why: str) -> Verdict:
    return Verdict(True)


def held(here: Here) -> str:
    return (here.root.top / "a.txt").read_text()


def opening(model: ScriptedModel) -> str:
    """What the model was told as the last turn began."""
    return model.asked[-1][1].content


def recalled(here: Here, desk: Conversation) -> list[int]:
    """The turns that the model of this conversation can recall."""
    session = desk._opened.session
    return sorted(entry.turn for entry in open_library(here, session.recallable()).notes.entries())


async def test_undo_puts_back_the_last_change_says_so_and_the_model_is_told_once(here: Here) -> None:
    desk, model = await talk(here, *THREE)
    assert held(here) == "three\n"
    said = desk.put_back("/undo", "")
    assert (said.splitlines()[0], held(here)) == ("undo of turn 2: 1 put back", "two\n")
    await say(desk, "and now?")
    assert "(The user has undone your changes of turn 2 to a.txt.)" in opening(model)
    await say(desk, "and now?")
    assert "has undone" not in opening(model)


async def test_an_undo_is_taken_back_and_undone_again(here: Here) -> None:
    desk, _ = await talk(here, *THREE)
    for command, text in (("/undo", "two"), ("/undo", "one"), ("/redo", "two"), ("/redo", "three"), ("/undo", "two")):
        desk.put_back(command, "")
        assert held(here) == f"{text}\n"


async def test_rewinding_takes_turns_out_of_the_conversation_and_the_files_with_them(here: Here) -> None:
    desk, model = await talk(here, *THREE)
    said = desk.put_back("/rewind", "2")
    assert "turns 2 to 3 are out of the conversation" in said
    assert (held(here), recalled(here, desk)) == ("two\n", [1])
    await say(desk, "go on")
    assert ("ONE-IS-TWO" in opening(model), "THREE" in opening(model), "NO-CHANGE" in opening(model)) == (
        True,
        False,
        False,
    )
    assert (desk.turns, recalled(here, desk)) == (4, [1, 4])


@pytest.mark.parametrize(
    ("what", "text", "turns"), [("files", "one\n", [1, 2, 3]), ("conversation", "three\n", []), ("both", "one\n", [])]
)
async def test_files_or_conversation_can_be_rewound_alone(here: Here, what: str, text: str, turns: list[int]) -> None:
    desk, _ = await talk(here, *THREE)
    desk.put_back("/rewind", f"1 {what}")
    assert (held(here), recalled(here, desk)) == (text, turns)


async def test_a_rewind_is_taken_back_whole(here: Here) -> None:
    desk, model = await talk(here, *THREE)
    desk.put_back("/rewind", "2")
    desk.put_back("/redo", "")
    assert (held(here), recalled(here, desk)) == ("three\n", [1, 2, 3])
    await say(desk, "go on")
    assert "NO-CHANGE" in opening(model)


async def test_a_resumed_session_knows_what_was_rewound_even_where_a_kill_kept_it_off_the_record(here: Here) -> None:
    desk, _ = await talk(here, *THREE)
    desk.put_back("/rewind", "2")
    desk.close()
    (here.root.store / "undo" / "rewound").unlink()
    again, model = await talk(here, "x", choice=Choice(latest=True))
    assert ("ONE-IS-TWO" in opening(model), recalled(here, again)) == (True, [1, 4])
    assert list(again.earlier()) == [("request 1", "ONE-IS-TWO")]


async def test_in_the_project_rewound_turns_are_marked_and_come_last(here: Here) -> None:
    desk, _ = await talk(here, *THREE)
    desk.put_back("/rewind", "2")
    notes = open_notes(here)
    for entries in (notes.entries(), notes.find("request two three change")):
        assert (entries[0].turn, entries[0].rewound) == (1, False)
        assert {entry.turn for entry in entries if entry.rewound} == {2, 3}


async def test_a_fork_from_which_all_is_rewound_goes_on_from_where_it_began(here: Here) -> None:
    desk, _ = await talk(here, *THREE)
    forked, model = await talk(here, "FORKED", choice=Choice(latest=True, fork=True))
    assert "there is no turn 9" in forked.put_back("/rewind", "9")
    forked.put_back("/rewind", "4")
    await say(forked, "go on")
    assert ("NO-CHANGE" in opening(model), "FORKED" in opening(model)) == (True, False)
    assert recalled(here, desk) == [1, 2, 3]


async def test_what_commands_changed_is_said_not_to_be_covered(here: Here) -> None:
    desk, _ = await talk(here, edit("one", "two"), bash("ls"), "looked", edit("two", "three"), bash("touch b"), "made")
    assert "commands ran in turn 2: what they changed is not covered" in desk.put_back("/undo", "")
    assert "commands" not in desk.put_back("/undo", "")


async def test_what_is_not_saved_can_be_undone_until_the_session_ends(here: Here) -> None:
    desk, _ = await talk(here, *THREE, memory="off")
    assert "not saved here" in desk.put_back("/rewind", "2")
    desk.put_back("/undo", "")
    assert (held(here), (here.root.store / "undo").exists()) == ("two\n", False)


@pytest.mark.parametrize(
    ("command", "argument", "said"),
    [
        ("/undo", "", "no file was changed by ogcode's tools in this session"),
        ("/redo", "", "there is nothing to redo"),
        ("/undo", "all", "/undo takes no words"),
        ("/rewind", "", "  1: request 1"),
        ("/rewind", "x", "/rewind TURN puts files and conversation back"),
        ("/rewind", "1 things", "/rewind TURN puts files and conversation back"),
        ("/rewind", "7", "there is no turn 7 to go back before in this session"),
        ("/rewind", "1 files", "no file was changed by ogcode's tools since turn 1"),
    ],
)
async def test_what_makes_no_sense_changes_nothing_and_is_said(
    here: Here, command: str, argument: str, said: str
) -> None:
    desk, _ = await talk(here, "only words")
    assert said in desk.put_back(command, argument)
    assert recalled(here, desk) == [1]


class Shell:
    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self._capfd.readouterr()
        code = run(["undo", *words])
        return code, *self._capfd.readouterr()


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capfd)


async def test_the_shell_lists_what_was_changed_and_puts_it_back(here: Here, shell: Shell) -> None:
    desk, _ = await talk(here, *THREE)
    desk.close()
    assert [line.split()[1::3] for line in shell()[1].splitlines()] == [["2", "a.txt"], ["1", "a.txt"]]
    assert shell("last", "--dry-run")[:2] == (0, "undo of turn 2: 1 put back\n  a.txt: put back\n")
    assert held(here) == "three\n"
    shell("last")
    assert (held(here), "(undone)" in shell("list")[1].splitlines()[0]) == ("two\n", True)
    shell("redo")
    assert (held(here), shell("to", "1")[0], held(here)) == ("three\n", 0, "one\n")
    assert shell("last") == (42, "", shell("last")[2])
    resumed, model = await talk(here, "x", choice=Choice(latest=True))
    assert opening(model).count("has undone") == 2
    assert desk.session_id == resumed.session_id


async def test_the_shell_says_what_was_left_as_it_is_by_its_exit_code_too(here: Here, shell: Shell) -> None:
    desk, _ = await talk(here, *THREE)
    desk.close()
    (here.root.top / "a.txt").write_text("mine\n")
    code, out, _ = shell("last", "--json")
    [file] = json.loads(out)["files"]
    assert (code, file["does"], file["see"].split()[0], held(here)) == (1, "left as it is", "diff", "mine\n")


async def test_a_session_in_use_is_not_touched_from_the_shell(here: Here, shell: Shell) -> None:
    await talk(here, *THREE)
    code, out, err = shell("last")
    assert (code, out, "is in use" in err, held(here)) == (1, "", True, "three\n")


@pytest.mark.parametrize(
    ("words", "code"), [(["to"], 2), (["last", "3"], 2), (["list"], 42), (["last"], 42), (["--session", "nope"], 42)]
)
def test_the_shell_says_what_is_missing(here: Here, shell: Shell, words: Sequence[str], code: int) -> None:
    assert (shell(*words)[0], (here.root.top / ".ogcode" / "undo").exists()) == (code, False)
