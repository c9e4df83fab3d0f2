"""The user's settings, keys and status line, as they are read, changed and run."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from ogcode.agent.events import ignore
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.settings.config import ConfigBroken, load_config
from ogcode.agent.settings.set_value import SIMPLE, Value, set_value, with_value
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.behind.keys import Keys, load_keys
from ogcode.tui.behind.own_line import own_line
from ogcode.tui.choice import Choice
from ogcode.tui.desks.desk import NotDone
from ogcode.tui.place import Here, look_around, utc_now

USER = (
    '# mine\nmodel = "ollama/a"  # the good one\nallow = [\n  "Bash(make)",\n]\n\n# at night\n[scribe]\nmodel = "b"\n'
)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('unfld = "f5"', "there is no action 'unfld'; did you mean 'unfold'?"),
        ("unfold = 3", 'unfold needs a key, or a list of keys, as in unfold = "ctrl+o"'),
        ("unfold = []", "unfold needs a key"),
        ('unfold = "hyperspace"', "'hyperspace' is no key"),
        ('unfold = "x"', "x is needed for writing"),
        ('unfold = "shift+a"', "shift+a is needed for writing"),
        ('unfold = "enter"', "enter is needed for writing"),
        ('unfold = "ctrl+m"', "ctrl+m is Enter in most terminals"),
        ('unfold = "ctrl+t"', "ctrl+t is the key of steps; unfold stays at ctrl+o"),
        ('[unfold]\nkey = "f5"', "unfold needs a key"),
    ],
)
def test_a_line_that_gives_no_key_is_told_and_changes_nothing(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "keys.toml").write_text(f'# mine\njobs = "f6"\n{line}\n')
    keys = load_keys(tmp_path / "keys.toml")
    [told] = keys.faults
    assert told.startswith(f"{tmp_path / 'keys.toml'}:3: ")
    assert fault in told
    assert keys.chosen == {"jobs": ("f6",)}


def test_keys_that_can_not_be_read_are_as_usual(tmp_path: Path) -> None:
    assert load_keys(tmp_path / "none.toml") == Keys()
    (tmp_path / "keys.toml").write_text("jobs = \n")
    keys = load_keys(tmp_path / "keys.toml")
    assert "(at line 1" in keys.faults[0]
    assert not keys.chosen


def test_keys_can_be_swapped_and_no_key_ever_means_two_things(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text(
        'unfold = "ctrl+t"\nsteps = "ctrl+o"\njobs = ["ctrl+l", "f6"]\nmode = "ctrl+b"\n'
    )
    keys = load_keys(tmp_path / "keys.toml")
    assert (keys.of["unfold"], keys.of["steps"], keys.of["jobs"]) == (("ctrl+t",), ("ctrl+o",), ("ctrl+b",))
    assert len(keys.faults) == 2
    owned = [key for each in keys.of.values() for key in each]
    assert len(set(owned)) == len(owned)


@pytest.mark.parametrize(
    "text", ["", USER, "# only a comment\n", 'vim = false # no\n[status_line]\n# it\ncommand = "x"']
)
@pytest.mark.parametrize("key", SIMPLE)
def test_a_setting_is_set_and_all_else_stays_letter_for_letter(text: str, key: str) -> None:
    values: dict[type[Value], Value] = {bool: True, int: 9, str: 'a "b" \\ é'}
    value = values[SIMPLE[key]]
    changed = with_value(text, key, value)
    assert changed is not None
    table, _, name = key.rpartition(".")
    told = tomllib.loads(changed)
    assert (told[table] if table else told)[name] == value
    left = [line for line in text.splitlines() if line in changed.splitlines()]
    assert len(left) >= len(text.splitlines()) - 1
    assert changed.count("#") == text.count("#")
    assert with_value(changed, key, value) == changed


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("modle", "x", "did you mean 'model'?"),
        ("allow", "x", "is no setting that can be set here"),
        ("vim", "maybe", "vim is on or off"),
        ("num_ctx", "-1", "num_ctx is a number"),
        ("theme", "pink", "theme must be auto, dark, light, ansi, high-contrast"),
        ("notify", "shout", "notify must be bell, osc9, off"),
        ("mode", "yolo", "mode must be"),
    ],
)
def test_what_is_no_setting_changes_nothing(tmp_path: Path, key: str, value: str, said: str) -> None:
    (tmp_path / "config.toml").write_text(USER)
    with pytest.raises(ConfigBroken, match=said):
        set_value(tmp_path, key, value)
    assert (tmp_path / "config.toml").read_text() == USER


def test_memory_that_is_a_table_keeps_its_recall(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[memory]\nswitch = "on" # yes\nrecall = "conversation"\n')
    config = set_value(tmp_path, "memory", "read")
    assert (config.memory, config.recall) == ("read", "conversation")
    assert "# yes" in (tmp_path / "config.toml").read_text()


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo" / ".ogcode").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('vim = true\ntheme = "dark"\n[status_line]\ncommand = "cat"\n')
    (tmp_path / "repo" / ".ogcode" / "config.toml").write_text('memory = "read"\n[status_line]\ncommand = "touch x"\n')
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, utc_now, trust=True)


def opened(here: Here) -> Conversation:
    return Conversation(
        here, ScriptedModel("x"), Choice(), mode="plan", rules=Rules(), limits=Limits(), memory=here.config.memory
    )


def test_each_setting_says_whose_word_it_is(here: Here) -> None:
    desk = opened(here)
    origins = {line.key: (line.value, line.origin) for line in desk.settings.listed()}
    user, project = str(here.home / "config.toml"), str(here.root.top / ".ogcode" / "config.toml")
    assert origins["vim"] == ("on", user)
    assert origins["memory"] == ("read", project)
    assert origins["mode"] == ("plan", "this session")
    assert origins["notify"] == ("bell", "default")
    assert origins["status_line.command"] == ("cat", user)
    assert "from the next start on" in desk.settings.change("effort", "low")
    with pytest.raises(NotDone, match="effort must be"):
        desk.settings.change("effort", "huge")
    assert load_config(here.home, None)[0].effort == "low"
    desk.close()


async def test_the_users_own_line_is_told_of_the_session_and_a_projects_is_never_run(here: Here) -> None:
    assert any("'status_line' is ignored" in notice for notice in here.notices)
    desk = opened(here)
    await desk.settings.own_line()
    told = json.loads(desk.status().own)
    assert told["session_id"] == desk.session_id
    assert told["model"] == {"id": "scripted/test", "display_name": "test"}
    assert told["workspace"] == {"current_dir": str(here.folder), "project_dir": str(here.root.top)}
    assert {"cwd", "version", "transcript_path"} <= told.keys()
    assert told["cost"].keys() == {"total_cost_usd", "total_duration_ms", "total_lines_added", "total_lines_removed"}
    desk.close()


async def test_the_users_own_line_is_told_how_many_lines_this_session_has_changed(here: Here) -> None:
    model = ScriptedModel(
        ToolCall("1", "write", json.dumps({"path": "a.txt", "content": "one\ntwo\nthree\n"})),
        ToolCall("2", "edit", json.dumps({"path": "a.txt", "old": "two\n", "new": ""})),
        ToolCall("3", "edit", json.dumps({"path": "a.txt", "old": "not there", "new": "x"})),
        ToolCall("4", "write", json.dumps({"path": "long.txt", "content": "x\n" * 1_000})),
        "done",
    )
    desk = Conversation(here, model, Choice(), mode="edit", rules=Rules(), limits=Limits(), memory="off")

    async def yes(call: ToolCall, why: str) -> Verdict:
        return Verdict(True)

    async def changed() -> list[int]:
        await desk.settings.own_line()
        cost = json.loads(desk.status().own)["cost"]
        return [cost["total_lines_added"], cost["total_lines_removed"]]

    await desk.ask("go", emit=ignore, approve=yes)
    assert await changed() == [1_003, 1]
    desk.new_session()
    assert await changed() == [0, 0]
    desk.close()


def test_in_a_folder_that_is_not_trusted_no_line_is_asked_for(here: Here) -> None:
    desk = opened(replace(here, trusted=False))
    assert not desk.settings.has_own_line
    desk.close()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("exit 3", "failed with exit code 3"),
        ("sleep 60", "said nothing within 0.05 s"),
        ("sleep 60 & sleep 60", "said nothing within 0.05 s"),
        ("true", ""),
        ("echo one; echo two", "one"),
        ("yes", "y"),
        ("setsid sleep 3 & echo left behind", "left behind"),
        ("exec 0<&-; printf 'no end'", "no end"),
    ],
)
async def test_a_command_gives_its_first_line_or_is_ended(tmp_path: Path, command: str, said: str) -> None:
    seconds = 0.05 if command.startswith("sleep") else 30
    asking = own_line(command, {"x": "y" * 50_000}, environ={"PATH": "/usr/bin:/bin"}, folder=tmp_path, seconds=seconds)
    if command.startswith(("exit", "sleep")):
        with pytest.raises(NotDone, match=said):
            await asking
    else:
        assert await asking == said
