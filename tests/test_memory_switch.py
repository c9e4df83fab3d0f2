"""Memory on, read-only or off: from the settings, the command line and the app, and switched while a session runs."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_server import Body, FakeServer, Reply, Say, Stall
from stage_cli import Place, model_of, new_place, role_of

from ogcode.agent.events import Event, TextDelta, ignore
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import jobs
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import Model
from ogcode.agent.models.choice import open_model
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.settings.config import ConfigBroken, load_config
from ogcode.agent.transcript import recollect
from ogcode.agent.turn import Limits, ToolCall, Turn, Verdict
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.earlier import Choice
from ogcode.tui.opened import Opened
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.wiring import open_session

FREE = Limits()


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


async def agree(call: ToolCall, why: str) -> Verdict:
    return Verdict(True)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return a_place(tmp_path)


def a_place(tmp_path: Path, **given: str) -> Here:
    (tmp_path / "repo").mkdir(exist_ok=True)
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **given}
    return look_around(tmp_path / "repo", environ, utc_now, trust=True)


def settle(here: Here, text: str) -> Here:
    """Give the user these settings."""
    here.home.mkdir(exist_ok=True)
    (here.home / "config.toml").write_text(text)
    return look_around(here.folder, here.environ, here.now, trust=True)


async def ask(opened: Opened, text: str) -> Turn:
    return await opened.session.ask(text, emit=ignore, approve=yes, limits=FREE)


def desk_of(here: Here, model: Model, memory: MemorySwitch = "on") -> Conversation:
    return Conversation(here, model, Choice(), mode="yolo", rules=Rules(), limits=FREE, memory=memory)


def spooled(here: Here) -> list[Job]:
    return [job for _, job, _ in jobs(here.root.store) if isinstance(job, Job)]


def files_with(folder: Path, word: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


LONG = ToolCall("", "bash", json.dumps({"command": "for i in $(seq 9000); do echo zebra $i; done"}))


@pytest.mark.parametrize("switch", ["read", "off"])
async def test_turns_that_were_had_while_nothing_is_saved_are_nowhere(
    here: Here, tmp_path: Path, switch: MemorySwitch
) -> None:
    desk = desk_of(here, ScriptedModel("one", LONG, "the zebra", "three"))
    await desk.ask("first", emit=ignore, approve=agree)
    desk.use_memory(switch)
    desk.prompt.remember("about the zebra")
    await desk.ask("about the zebra", emit=ignore, approve=agree)
    desk.use_memory("on")
    await desk.ask("third", emit=ignore, approve=agree)
    desk.close()
    assert files_with(tmp_path, "zebra") == []
    assert len(files_with(here.root.sessions, "third")) == 1


async def test_what_a_command_printed_while_nothing_is_saved_can_be_read_until_the_session_ends(here: Here) -> None:
    model = ScriptedModel(LONG, "done")
    opened = open_session(here, model, Choice(), memory="read")
    await ask(opened, "go")
    named = Path(model.asked[1][-1].content.partition("output in ")[2].split()[0])
    assert named.read_text().endswith("zebra 9000\n")
    opened.close()
    assert not named.parent.exists()


async def test_turns_keep_their_numbers_over_those_that_were_not_saved(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one", "two", "three"), Choice(), memory="on")
    switches: tuple[MemorySwitch, ...] = ("on", "off", "on")
    for number, switch in enumerate(switches, 1):
        opened.switch(switch)
        await ask(opened, f"turn {number}")
    assert [job.turn for job in spooled(here)] == [1, 3]
    past = recollect(here.root.sessions / f"{opened.session.id}.jsonl")
    assert (past.turns, past.said, past.open_turn) == (3, (("turn 1", "one"), ("turn 3", "three")), None)


async def test_a_switch_holds_from_the_next_turn_on(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one", "two"), Choice(), memory="on")

    def switching(event: Event) -> None:
        if isinstance(event, TextDelta):
            opened.switch("off")

    await opened.session.ask("first", emit=switching, approve=yes, limits=FREE)
    await ask(opened, "second")
    assert [job.request for job in spooled(here)] == ["first"]
    assert recollect(here.root.sessions / f"{opened.session.id}.jsonl").open_turn is None


async def test_the_model_is_told_beside_the_question_and_the_system_text_stays_the_same(here: Here) -> None:
    model = ScriptedModel("one", "two", "three")
    opened = open_session(here, model, Choice(), memory="on")
    switches: tuple[MemorySwitch, ...] = ("on", "read", "on")
    for switch in switches:
        opened.switch(switch)
        await ask(opened, "go")
    assert ["Memory is read-only now" in asked[1].content for asked in model.asked] == [False, True, False]
    assert len({asked[0].content for asked in model.asked}) == 1
    assert len(set(map(str, model.offered))) == 1


async def test_off_names_no_recall_and_still_knows_the_previous_answer(here: Here) -> None:
    model = ScriptedModel("ANSWER-ONE", "two", "three")
    opened = open_session(here, model, Choice(), memory="on")
    await ask(opened, "first")
    opened.switch("off")
    await ask(opened, "second")
    told = json.dumps([message.content for message in model.asked[1]])
    assert ("memory_recall" in told, "ANSWER-ONE" in told, "Memory is off now" in told) == (False, True, True)
    assert not [spec.name for spec in model.offered[1] if "recall" in spec.name]
    opened.switch("on")
    await ask(opened, "third")
    assert "project_memory_recall" in model.asked[2][0].content


async def test_a_session_that_began_unsaved_is_saved_from_the_switch_on(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one", "two"), Choice(), memory="off")
    await ask(opened, "first")
    assert not here.root.store.exists()
    opened.switch("on")
    await ask(opened, "second")
    assert [(job.turn, job.request, job.session_id) for job in spooled(here)] == [(2, "second", opened.session.id)]
    assert opened.lock


async def test_a_session_that_was_resumed_unsaved_goes_on_in_a_fork_once_it_is_saved(here: Here) -> None:
    first = open_session(here, ScriptedModel("one"), Choice(), memory="on")
    await ask(first, "first")
    first.close()
    original = here.root.sessions / f"{first.session.id}.jsonl"
    before = original.read_bytes()
    again = open_session(here, ScriptedModel("two", "three"), Choice(latest=True), memory="read")
    await ask(again, "second")
    again.switch("on")
    await ask(again, "third")
    assert original.read_bytes() == before
    assert again.session.recallable() == {first.session.id: 1, again.session.id: 3}
    assert [job.session_id for job in spooled(here)] == [first.session.id, again.session.id]


async def test_where_nothing_can_be_saved_memory_is_read_only_and_the_model_knows(here: Here, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    here.root.store.symlink_to(tmp_path / "elsewhere")
    model = ScriptedModel("one")
    opened = open_session(here, model, Choice(), memory="on")
    await ask(opened, "go")
    assert opened.memory == "read"
    assert "Memory is read-only now" in model.asked[0][1].content
    assert "is not remembered" in opened.notices[0]
    assert "is not remembered" in opened.switch("on")[0]


SETTINGS: dict[str, tuple[str, str]] = {
    "": ("on", "project"),
    'memory = "read"': ("read", "project"),
    'memory = "off"': ("off", "project"),
    'memory.recall = "conversation"': ("on", "conversation"),
    '[memory]\nswitch = "read"\nrecall = "conversation"': ("read", "conversation"),
}


@pytest.mark.parametrize("text", SETTINGS)
def test_the_users_settings_say_what_memory_does(here: Here, text: str) -> None:
    config = settle(here, text).config
    assert (config.memory, config.recall) == SETTINGS[text]


PROJECTS: dict[tuple[str, str], tuple[str, str]] = {
    ("", 'memory = "off"'): ("off", "project"),
    ('memory = "read"', 'memory = "on"'): ("read", "project"),
    ('memory = "off"', 'memory = "read"'): ("off", "project"),
    ("", 'memory.recall = "conversation"'): ("on", "conversation"),
    ('memory.recall = "conversation"', 'memory.recall = "project"'): ("on", "conversation"),
}


@pytest.mark.parametrize("texts", PROJECTS)
def test_a_project_can_only_narrow_what_memory_does(here: Here, texts: tuple[str, str]) -> None:
    here.root.store.mkdir()
    (here.root.store / "config.toml").write_text(texts[1])
    config = settle(here, texts[0]).config
    assert (config.memory, config.recall) == PROJECTS[texts]


@pytest.mark.parametrize(
    "text", ['memory = "of"', "memory = true", "memory = {}", '[memory]\nswitch = "all"', '[memory]\nmode = "on"']
)
def test_a_setting_that_is_none_of_the_three_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigBroken, match="memory"):
        load_config(tmp_path, None)


async def test_recall_that_is_kept_to_the_conversation_offers_no_other(here: Here) -> None:
    model = ScriptedModel("one")
    opened = open_session(settle(here, 'memory.recall = "conversation"'), model, Choice(), memory="on")
    await ask(opened, "go")
    assert [spec.name for spec in model.offered[0] if "recall" in spec.name] == ["memory_recall"]
    assert "project_memory_recall" not in model.asked[0][0].content


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path, git=False, indoors=True)


@pytest.mark.parametrize(("flags", "saved"), [((), False), (("--memory", "on"), True)])
def test_a_flag_goes_before_the_settings_and_headless_says_what_is_not_saved(
    place: Place, flags: Sequence[str], saved: bool
) -> None:
    place.home.mkdir()
    (place.home / "config.toml").write_text('memory = "read"')
    with FakeServer([Say("the answer"), Say("x")]) as server:
        done = place.run("-p", "go", *flags, **model_of(server))
    assert (done.returncode, done.stdout) == (0, "the answer\n")
    assert ("nothing is saved" in done.stderr) != saved
    assert (place.folder / ".ogcode").exists() == saved


async def test_a_scribe_that_hears_nothing_from_its_model_keeps_no_turn_waiting_and_ends_with_the_switch(
    tmp_path: Path,
) -> None:
    def script(body: Body) -> Reply:
        return Stall() if role_of(body) == "scribe" else Say("an answer that is long enough for a note " * 20)

    forks = list[int]()
    os.register_at_fork(before=lambda: forks.append(os.getpid()))
    with FakeServer(script) as server:
        given = model_of(server)
        here = a_place(tmp_path, **given, OGCODE_SCRIBE_LINGER="0")  # it does not wait for the user to be idle
        desk = desk_of(here, await open_model(given["OGCODE_MODEL"], environ=given))
        await desk.ask("first", emit=ignore, approve=agree)
        assert await asyncio.to_thread(server.stalled.wait, 30)
        second = await desk.ask("second", emit=ignore, approve=agree)
        assert (second.outcome, server.gone.is_set(), desk.status().pending) == ("done", False, 2)
        desk.use_memory("read")
        assert await asyncio.to_thread(server.gone.wait, 30)
        desk.close()
    assert (len(spooled(here)), forks) == (2, [])
