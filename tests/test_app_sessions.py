"""Sessions side by side: found, gone on with, copied, named and written out."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from stage import SIZE, Stage, screen_text, sees, until
from stage_cli import Place, new_place
from stage_sessions import StagedSessions, a_session
from textual.pilot import Pilot
from textual.widgets import Input

from ogcode.agent.events import ignore
from ogcode.agent.files.durable import Lock
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.transcript import recollect
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.arguments import parse
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.choice import Choice
from ogcode.tui.desks.desk import NotDone
from ogcode.tui.earlier import lock_file
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.transcript import Transcript

LINES = (
    a_session("3f8c21aa", "make Send retry", name="dispatch retry", day=14),
    a_session("77aa01bc", "why does the cache miss?", last="and the go modules", branch="ci/cache", day=13),
    replace(a_session("9e0d11ff", "rename Cart.add", day=12), here=False),
)
TITLES = ("dispatch retry", "why does the cache miss?", "rename Cart.add")
FINDS = {"retry": 0, "modules": 1, "ci/cache": 1, "2026-09-12": 2, "77aa": 1, "cache why": 1}
HOSTILE = "[/] [@click=app.quit]x[/] \x1b]52;c;cGF3bmVk\x07y \x9b31m </script><b>z\u202e"


@asynccontextmanager
async def running(stage: Stage, first: str = "", size: tuple[int, int] = SIZE) -> AsyncIterator[Pilot[int]]:
    app = Ogcode(stage, first_prompt=first)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: app.screen_stack[0].query_one(Transcript).children)
        yield pilot


async def send(pilot: Pilot[int], text: str) -> None:
    pilot.app.query_one(Prompt).put(text)
    await pilot.press("enter")


def only(pilot: Pilot[int], title: str) -> bool:
    return [each for each in TITLES if each in screen_text(pilot.app)] == [title]


async def test_sessions_are_found_by_what_was_said_their_branch_date_and_id() -> None:
    async with running(Stage(sessions=StagedSessions(LINES))) as pilot:
        await send(pilot, "/resume")
        await until(pilot, lambda: all(title in screen_text(pilot.app) for title in TITLES))
        for typed, found in FINDS.items():
            pilot.app.screen.query_one(Input).value = typed
            await until(pilot, partial(only, pilot, TITLES[found]))
        await pilot.press(*" zz")
        await sees(pilot, "nothing has these words")


async def test_a_chosen_session_is_shown_with_what_one_should_know_of_it() -> None:
    sessions = StagedSessions(LINES, notices=("session 77aa01bc is in use elsewhere; going on in a fork of it",))
    stage = Stage(sessions=sessions)
    async with running(stage) as pilot:
        await send(pilot, "hello")
        await sees(pilot, "echo: hello")
        await send(pilot, "/sessions cache")
        await sees(pilot, "It is fixed.")
        stage.before = [("why does the cache miss?", "The key holds a date.")]
        await pilot.press("enter")
        await sees(pilot, "going on in a fork of it")
        assert "The key holds a date." in screen_text(pilot.app)
        assert "echo: hello" not in screen_text(pilot.app)
        assert sessions.done == ["resume " + "77aa01bc" * 8]


async def test_a_session_that_can_not_be_gone_on_with_leaves_all_as_it_is() -> None:
    async with running(Stage(sessions=StagedSessions(LINES, taken=["3f8c21aa" * 8]))) as pilot:
        await send(pilot, "hello")
        await sees(pilot, "echo: hello")
        await send(pilot, "/resume")
        await sees(pilot, "Go on with a session")
        await until(pilot, lambda: "dispatch retry" in screen_text(pilot.app))
        await pilot.press("enter")
        await sees(pilot, "this is the session that you are in")
        assert "echo: hello" in screen_text(pilot.app)


async def test_without_sessions_the_picker_says_so_and_escape_leaves_it() -> None:
    async with running(Stage(), first="/resume") as pilot:
        await sees(pilot, "there is no earlier session here")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


@pytest.mark.parametrize(
    ("typed", "done"),
    [
        ("/rename the  cache", "rename the  cache"),
        ("/fork attempt", "fork attempt"),
        ("/export", "export md "),
        ("/export html", "export html "),
        ("/export json a b.txt", "export json a b.txt"),
        ("/export out.html", "export html out.html"),
        ("/export notes/out", "export md notes/out"),
    ],
)
async def test_a_session_is_named_copied_and_exported_as_it_is_said(typed: str, done: str) -> None:
    async with running(stage := Stage()) as pilot:
        await send(pilot, typed)
        await until(pilot, lambda: stage.sessions.done)
        assert stage.sessions.done == [done]


async def test_in_the_list_a_session_is_renamed_and_deleted_by_a_second_press(tmp_path: Path) -> None:
    async with running(stage := Stage(sessions=StagedSessions(LINES, taken=(LINES[2].session_id,)))) as pilot:
        await send(pilot, "/resume")
        await sees(pilot, TITLES[0])
        await pilot.press("ctrl+r", *" of Send", "enter")
        await until(pilot, lambda: stage.sessions.done == [f"rename {LINES[0].session_id} dispatch retry of Send"])
        await pilot.press("ctrl+x")
        await sees(pilot, "Ctrl+X again moves 'dispatch retry' to the trash")
        await pilot.press("down", "ctrl+x")
        await sees(pilot, "Ctrl+X again moves 'why does the cache miss?'")
        await pilot.press("ctrl+x")
        await sees(pilot, "session 77aa01bc is in the trash")
        assert stage.sessions.done[1:] == [f"delete {LINES[1].session_id}"]
        await until(pilot, lambda: TITLES[1] not in screen_text(pilot.app))
        await pilot.press("ctrl+x", "ctrl+x")
        await sees(pilot, "it is in use; end it first")
        await pilot.press("ctrl+r", "escape", "escape")
        assert len(pilot.app.screen_stack) == 1


async def test_in_a_window_of_few_lines_it_is_the_list_that_is_seen() -> None:
    async with running(Stage(sessions=StagedSessions(LINES)), size=(40, 10)) as pilot:
        await send(pilot, "/resume")
        await sees(pilot, "dispatch retry")
        await pilot.press("ctrl+x")
        await sees(pilot, "Ctrl+X again moves")
        assert "why does the cache" in screen_text(pilot.app)


async def test_sessions_of_all_folders_are_listed_for_who_wants_them() -> None:
    there = replace(a_session("5b5b5b5b", "fix the shop"), here=False, folder="/home/me/shop")
    async with running(Stage(sessions=StagedSessions(LINES, elsewhere=(there,)))) as pilot:
        await send(pilot, "/resume")
        await sees(pilot, TITLES[0])
        await pilot.press("ctrl+a")
        await sees(pilot, "/home/me/shop")
        await pilot.press("ctrl+a")
        await until(pilot, lambda: "/home/me/shop" not in screen_text(pilot.app))


async def test_nothing_of_another_session_is_markup_or_an_escape() -> None:
    lines = [a_session("3f8c21aa", HOSTILE, name=HOSTILE, branch=HOSTILE)]
    async with running(Stage(sessions=StagedSessions(lines, said=[(HOSTILE, HOSTILE)]))) as pilot:
        await send(pilot, "/resume")
        await until(pilot, lambda: screen_text(pilot.app).count("[@click=app.quit]x[/]") >= 4)
        assert not any(each in screen_text(pilot.app) for each in "\x1b\x07\x9b\u202e")
        assert "cGF3bmVk" not in screen_text(pilot.app)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo" / ".git" / "objects").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "refs").mkdir()
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, utc_now, trust=True)


async def yes(call: ToolCall, why: str) -> Verdict:
    return Verdict(True)


async def talk(here: Here, *said: str, memory: str = "on") -> Conversation:
    model = ScriptedModel(*(f"answer to {text}" for text in said), *["more"] * 3)
    desk = Conversation(
        here, model, Choice(), mode="ask", rules=Rules(), limits=Limits(), memory="on" if memory == "on" else "read"
    )
    for text in said:
        await desk.ask(text, emit=ignore, approve=yes)
    return desk


async def test_sessions_are_listed_newest_first_with_their_branch_name_and_last_request(here: Here) -> None:
    desk = await talk(here, "one", "two")
    desk.sessions.rename("  the  cache ")
    first = desk.session_id
    desk.new_session()
    await desk.ask("three", emit=ignore, approve=yes)
    mine, other = desk.sessions.listed()
    assert (mine.first, mine.turns, mine.current, mine.here) == ("three", 1, True, True)
    assert (other.session_id, other.name, other.first, other.last, other.turns) == (first, "the cache", "one", "two", 2)
    assert (other.branch, other.title) == ("topic", "the cache")
    assert recollect(here.root.sessions / f"{first}.jsonl").name == "the cache"
    assert list(desk.sessions.preview(first)) == [("one", "answer to one"), ("two", "answer to two")]
    desk.close()


async def test_what_was_rewound_or_begun_in_another_checkout_is_listed_as_that(here: Here, tmp_path: Path) -> None:
    desk = await talk(here, "one", "two")
    desk.put_back("/rewind", "2")
    there = replace(here, root=replace(here.root, top=tmp_path))
    other = Conversation(there, ScriptedModel("x"), Choice(), mode="ask", rules=Rules(), limits=Limits(), memory="on")
    await other.ask("three", emit=ignore, approve=yes)
    mine, theirs = desk.sessions.listed()
    assert (mine.last, mine.here, theirs.first, theirs.here) == ("one", True, "three", False)
    other.close()
    desk.close()


async def test_another_session_is_gone_on_with_where_it_ended(here: Here) -> None:
    desk = await talk(here, "one")
    first = desk.session_id
    desk.new_session()
    assert list(desk.sessions.resume(first)) == []
    assert (desk.session_id, desk.turns) == (first, 1)
    assert list(desk.earlier()) == [("one", "answer to one")]
    await desk.ask("two", emit=ignore, approve=yes)
    assert len(recollect(here.root.sessions / f"{first}.jsonl").said) == 2
    with pytest.raises(NotDone, match="the session that you are in"):
        desk.sessions.resume(first)
    with pytest.raises(NotDone, match="there is no session"):
        desk.sessions.resume("f" * 32)
    assert desk.session_id == first
    desk.close()


async def test_a_session_that_is_in_use_is_gone_on_with_in_a_fork(here: Here) -> None:
    desk = await talk(here, "one")
    first = desk.session_id
    desk.new_session()
    lock = Lock.take(lock_file(here, first))
    assert lock
    [notice] = desk.sessions.resume(first)
    assert "is in use elsewhere; going on in a fork of it" in notice
    assert desk.session_id != first
    lock.release()
    desk.close()


async def test_a_fork_leaves_the_session_as_it_is_and_knows_it(here: Here) -> None:
    desk = await talk(here, "one")
    first, before = desk.session_id, (here.root.sessions / f"{desk.session_id}.jsonl").read_bytes()
    assert "it is called another way" in desk.sessions.fork("another way")
    await desk.ask("two", emit=ignore, approve=yes)
    past = recollect(here.root.sessions / f"{desk.session_id}.jsonl")
    assert (past.parents, past.name) == ({first: 1}, "another way")
    assert (here.root.sessions / f"{first}.jsonl").read_bytes() == before
    desk.sessions.export("json", "both.json")
    told = json.loads((here.folder / "both.json").read_text("utf-8"))
    assert [turn["request"] for turn in told["turns"]] == ["one", "two"]
    desk.new_session()
    with pytest.raises(NotDone, match="nothing to copy yet"):
        desk.sessions.fork("")
    with pytest.raises(NotDone, match="nothing to export yet"):
        desk.sessions.export("md", "")
    desk.close()


async def test_a_fork_that_is_resumed_is_shown_with_what_was_said_before_it(here: Here) -> None:
    desk = await talk(here, "one", "two")
    first = desk.session_id
    desk.sessions.fork("")
    await desk.ask("three", emit=ignore, approve=yes)
    fork = desk.session_id
    desk.sessions.resume(first)
    await desk.ask("four", emit=ignore, approve=yes)
    desk.sessions.resume(fork)
    assert [request for request, _ in desk.earlier()] == ["one", "two", "three"]
    assert [request for request, _ in desk.sessions.preview(fork)] == ["one", "two", "three"]
    assert len(desk.showing.answers()) == 3
    desk.close()


async def test_of_a_session_with_a_broken_line_the_rest_is_there_and_it_is_said(here: Here) -> None:
    desk = await talk(here, "one", "two")
    first = desk.session_id
    desk.new_session()
    with (here.root.sessions / f"{first}.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"type": "answered", "te\n')
    [notice] = desk.sessions.resume(first)
    assert notice.endswith(f"{first}.jsonl: 1 of its lines can't be read; the rest of the session is there")
    assert [request for request, _ in desk.earlier()] == ["one", "two"]
    desk.close()


async def test_another_session_is_renamed_in_its_place_and_deleted_unless_it_is_open(here: Here) -> None:
    desk = await talk(here, "one")
    first = desk.session_id
    path = here.root.sessions / f"{first}.jsonl"
    desk.new_session()
    await desk.ask("two", emit=ignore, approve=yes)
    active = path.stat().st_mtime_ns
    desk.sessions.rename("the first", first)
    assert (recollect(path).name, path.stat().st_mtime_ns) == ("the first", active)
    with pytest.raises(NotDone, match="the session that you are in"):
        desk.sessions.delete(desk.session_id)
    lock = Lock.take(lock_file(here, first))
    assert lock
    with pytest.raises(NotDone, match="in use"):
        desk.sessions.delete(first)
    lock.release()
    assert "its notes stay" in desk.sessions.delete(first)
    assert [each.first for each in desk.sessions.listed()] == ["two"]
    assert (here.root.store / "trash" / f"session-{first}.jsonl").exists()
    desk.close()


async def test_a_session_of_another_folder_is_looked_at_and_gone_on_with_there(here: Here, tmp_path: Path) -> None:
    (tmp_path / "my shop").mkdir()
    shop = look_around(tmp_path / "my shop", dict(here.environ), utc_now, trust=True)
    there = await talk(shop, "sell")
    there.close()
    desk = await talk(here, "one")
    assert [each.first for each in desk.sessions.listed()] == ["one"]
    mine, theirs = desk.sessions.listed(everywhere=True)
    assert (mine.folder, theirs.first, theirs.folder) == ("", "sell", str(shop.root.path))
    assert list(desk.sessions.preview(theirs.session_id)) == [("sell", "answer to sell")]
    said = re.escape(f"cd '{shop.root.path}' && ogcode -r {theirs.session_id[:8]}")
    for wish in (desk.sessions.resume, desk.sessions.delete, partial(desk.sessions.rename, "x")):
        with pytest.raises(NotDone, match=said):
            wish(theirs.session_id)
    desk.close()


async def test_a_session_is_written_out_in_each_form_and_over_nothing(here: Here) -> None:
    desk = await talk(here, "run <script>alert(1)</script> | a |", "![x](https://e.org/t.png) [y](javascript:z) <b>")
    for kind in ("md", "json", "html"):
        assert str(here.folder / f"out.{kind}") in desk.sessions.export(kind, f"out.{kind}")
    page, plain = ((here.folder / f"out.{kind}").read_text("utf-8") for kind in ("html", "md"))
    assert "<script" not in page
    assert "<img" not in page
    assert 'href="javascript' not in page
    assert "default-src 'none'" in page
    assert "run &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "> run <script>" in plain
    told = json.loads((here.folder / "out.json").read_text("utf-8"))
    assert [turn["turn"] for turn in told["turns"]] == [1, 2]
    with pytest.raises(NotDone, match="is there already"):
        desk.sessions.export("md", "out.md")
    assert f"ogcode-{desk.session_id[:8]}.md" in desk.sessions.export("md", "")
    desk.close()


async def test_a_session_that_is_not_saved_has_no_name_no_copy_and_no_file(here: Here) -> None:
    desk = await talk(here, "one", memory="read")
    for wish in (desk.sessions.rename, desk.sessions.fork, lambda name: desk.sessions.export("md", name)):
        with pytest.raises(NotDone, match="is not saved"):
            wish("x")
    desk.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path, "place", indoors=True)


def test_a_fork_of_nothing_says_what_it_needs(place: Place) -> None:
    done = place.run("-p", "x", "--fork-session")
    assert (done.returncode, "--fork-session needs the session" in done.stderr) == (2, True)


def test_resume_without_an_id_is_for_the_app_alone(place: Place) -> None:
    assert parse(["-r"]).picks
    done = place.run("-p", "x", "-r")
    assert (done.returncode, "ogcode sessions lists them" in done.stderr) == (2, True)


async def test_a_name_is_shown_where_sessions_are_listed_and_a_page_is_printed(here: Here, place: Place) -> None:
    place = replace(place, folder=here.folder)
    desk = await talk(here, "one")
    desk.sessions.rename("the cache")
    named = desk.session_id
    desk.new_session()
    desk.close()
    [line] = place.run("sessions").stdout.splitlines()  # and none for sessions in which nothing was said
    assert line.endswith("1 turn  the cache")
    assert json.loads(place.run("sessions", "--json").stdout)["name"] == "the cache"
    page = place.run("sessions", "export", named[:8], "--format", "html").stdout
    assert page.startswith("<!doctype html>")
    assert "answer to one" in page
