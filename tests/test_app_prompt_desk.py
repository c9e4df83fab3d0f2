"""What a message brings with it: files, own commands, steering; what is kept of it; the user's editor."""

import asyncio
import base64
import json
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import until

from ogcode.agent.events import Event, Steered, ToolFinished, ignore
from ogcode.agent.files.durable import born
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.permissions import Rules
from ogcode.agent.turn import Limits, Message, ToolCall, Verdict
from ogcode.tui.behind.conversation import Conversation
from ogcode.tui.desks.prompt import EditorFailed, Ran
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.toolbox import open_library

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Seeing(ScriptedModel):
    sees = True


@pytest.fixture
def here(tmp_path: Path) -> Here:
    repository = tmp_path / "repo"
    (repository / "src").mkdir(parents=True)
    (repository / ".git").mkdir()
    for part in ("objects", "refs"):
        (repository / ".git" / part).mkdir()
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (repository / "src" / "a.py").write_text("".join(f"x{n} = {n}\n" for n in range(1, 31)), "utf-8")
    (repository / "my notes.txt").write_text("a note </attached> of mine\n", "utf-8")
    (repository / ".env").write_text("KEY=abc\n", "utf-8")
    (repository / "dot.png").write_bytes(DOT)
    (tmp_path / "outside.txt").write_text("OUTSIDE\n", "utf-8")
    environ = {
        "HOME": str(tmp_path),
        "OGCODE_HOME": str(tmp_path / "home"),
        "OGCODE_SCRIBE_LINGER": "0",
        "PATH": "/usr/bin:/bin",
        "X_OWN": "mine",
    }
    return look_around(repository, environ, utc_now, trust=True)


def begin(here: Here, model: ScriptedModel, memory: MemorySwitch = "on") -> Conversation:
    return Conversation(here, model, Choice(), mode="ask", rules=Rules(), limits=Limits(), memory=memory)


class Person:
    def __init__(self, *, says: bool = True) -> None:
        self.says = says
        self.asked = list[str]()

    async def __call__(self, call: ToolCall, why: str) -> Verdict:
        self.asked.append(f"{json.loads(call.arguments)['path']}: {why}")
        return Verdict(self.says)


def notes(here: Here) -> list[str]:
    """Give what is remembered, be it written by now or not."""
    known = open_library(here, None).notes
    return [known.text(entry) for entry in known.entries(limit=9)]


async def told(
    here: Here, text: str, person: Person | None = None, memory: MemorySwitch = "off"
) -> tuple[Message, list[ToolFinished]]:
    """Say something; give what the model was sent and what was attached."""
    model, events = Seeing("ok"), list[Event]()
    await begin(here, model, memory).ask(text, emit=events.append, approve=person or Person())
    return model.asked[0][-1], [event for event in events if isinstance(event, ToolFinished)]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("what is @src/a.py?", "30| x30 = 30"),
        ("see (@src/a.py).", "1| x1 = 1"),
        ("see @src/a.py#L7-9", "9| x9 = 9\n[lines 7-9 of 30"),
        ('read @"my notes.txt" now', "a note <\\/attached> of mine"),
        ("list @src/", '<attached path="src/">\na.py'),
    ],
)
async def test_a_file_that_is_named_goes_with_the_message(here: Here, text: str, held: str) -> None:
    message, attached = await told(here, text)
    assert held in message.content
    assert message.content.endswith(text)
    assert [each.failed for each in attached] == [False]


async def test_the_note_holds_the_request_as_it_was_typed(here: Here) -> None:
    await told(here, "what is @src/a.py?", memory="on")
    [note] = notes(here)
    assert "## Request\nwhat is @src/a.py?\n\n## Outcome" in note


@pytest.mark.parametrize("text", ["ask @nobody", "me@src/a.py", "@dataclass", "an \\@src/a.py", "@ and @/ nothing"])
async def test_what_names_nothing_is_a_word(here: Here, text: str) -> None:
    message, attached = await told(here, text, Person(says=False))
    assert "<attached" not in message.content
    assert all(each.failed for each in attached)


async def test_a_picture_is_shown_to_a_model_that_sees(here: Here) -> None:
    message, _ = await told(here, "what is in @dot.png")
    assert [image.content for image in message.images] == [DOT]


async def test_a_model_that_cannot_see_gets_a_reason_instead(here: Here) -> None:
    events = list[Event]()
    await begin(here, ScriptedModel("ok"), "off").ask("what is in @dot.png", emit=events.append, approve=Person())
    [attached] = [event for event in events if isinstance(event, ToolFinished)]
    assert "this model can't see pictures" in attached.output


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("see @~/outside.txt", "it lies outside the workspace"),
        ("see @../outside.txt", "it lies outside the workspace"),
        ("see @.env", "it may hold secrets, and would go to the model"),
    ],
)
async def test_what_lies_outside_or_is_secret_is_asked_for(here: Here, text: str, why: str) -> None:
    no, yes = Person(says=False), Person()
    message, [refused] = await told(here, text, no)
    assert [asked.partition(": ")[2] for asked in no.asked] == [why]
    assert refused.failed
    assert "<attached" not in message.content
    message, _ = await told(here, text, yes)
    assert "<attached" in message.content


async def test_many_files_are_bounded_and_say_so(here: Here) -> None:
    for number in range(30):
        (here.root.top / f"f{number}.txt").write_text("line of text\n" * 900, "utf-8")
    message, attached = await told(here, " ".join(f"@f{number}.txt" for number in range(30)))
    assert len(message.content) < 60_000
    assert attached[-1].output.startswith("error: a message takes 20 files")
    assert any("no more room" in each.output for each in attached)


async def test_a_file_that_was_attached_can_be_written_at_once(here: Here) -> None:
    edit = ToolCall("", "edit", json.dumps({"path": "src/a.py", "old": "x1 = 1\n", "new": "x1 = 2\n"}))
    await begin(here, ScriptedModel(edit, "ok"), "off").ask("change @src/a.py", emit=ignore, approve=Person())
    assert (here.root.top / "src" / "a.py").read_text("utf-8").startswith("x1 = 2\n")


async def run(desk: Conversation, command: str, *, tell: bool = True) -> tuple[Ran, bytes]:
    seen = bytearray()
    return await desk.prompt.run(command, seen.extend, tell=tell), bytes(seen)


async def test_an_own_command_has_the_users_environment_and_goes_with_the_next_message_once(here: Here) -> None:
    model = ScriptedModel("one", "two")
    desk = begin(here, model)
    ran, seen = await run(desk, "echo $X_OWN; pwd; exit 3")
    await run(desk, "echo QUIET", tell=False)
    assert ran == Ran(f"mine\n{here.folder}\nexit 3", failed=True)
    assert seen.startswith(b"mine\n")
    for text in ("why?", "and now?"):
        await desk.ask(text, emit=ignore, approve=Person())
    first, second = (asked[-1].content for asked in model.asked)
    assert f"$ echo $X_OWN; pwd; exit 3\nmine\n{here.folder}\nexit 3\n</user_ran>" in first
    assert "QUIET" not in first
    assert "user_ran" not in second
    assert len(notes(here)) == 2
    assert not any("user_ran" in note for note in notes(here))


async def test_an_own_command_that_is_stopped_ends_with_all_it_started_and_is_told(here: Here) -> None:
    model, begun = ScriptedModel("ok"), asyncio.Event()
    desk = begin(here, model, "off")
    command = "sleep 100 & echo $!; echo begun; wait"
    seen = bytearray()

    def feed(piece: bytes) -> None:
        seen.extend(piece)
        if b"begun" in seen:
            begun.set()

    running = asyncio.create_task(desk.prompt.run(command, feed, tell=True))
    await asyncio.wait_for(begun.wait(), 20)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: born(int(seen.split()[0])) == "")
    await desk.ask("go", emit=ignore, approve=Person())
    assert "begun\n[stopped by the user]" in model.asked[0][-1].content


async def test_the_output_of_an_own_command_is_bounded(here: Here) -> None:
    ran, seen = await run(begin(here, ScriptedModel()), "yes a line that is long enough | head -n 20000")
    assert len(ran.output) < 30_000
    assert "left out; full output in" in ran.output
    assert len(seen) == 20_000 * 27


async def test_what_is_said_into_a_turn_is_taken_up_at_the_next_step(here: Here) -> None:
    glob = ToolCall("", "glob", json.dumps({"pattern": "*"}))
    model, events = ScriptedModel(glob, "ok", "next"), list[Event]()
    desk = begin(here, model, "off")

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, ToolFinished):
            desk.prompt.steer("only the docs")

    await desk.ask("go", emit=emit, approve=Person())
    assert [event.text for event in events if isinstance(event, Steered)] == ["only the docs"]
    assert model.asked[1][-1].content == "only the docs"
    assert desk.prompt.steering() == []


DRAFTING = """
import os, sys
from pathlib import Path
sys.path.insert(0, "tests")
from ogcode.tui.message.drafts import Drafts
drafts = Drafts(Path(sys.argv[1]), Path("/a/project"))
print(drafts.take(), flush=True)
drafts.keep(sys.argv[2])
if sys.argv[3] == "crash":
    os._exit(9)
drafts.keep("")
"""


def session(home: Path, text: str, end: str) -> str:
    """Type something in a process of its own; give what it found there."""
    ended = subprocess.run([sys.executable, "-c", DRAFTING, str(home), text, end], capture_output=True, text=True)
    assert not ended.stderr
    return ended.stdout.strip()


def test_a_draft_outlives_a_crash_once_and_is_nobody_elses_to_read(tmp_path: Path) -> None:
    session(tmp_path, "half a thought", "crash")
    [kept] = (tmp_path / "drafts").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert session(tmp_path, "another", "end") == "half a thought"
    assert session(tmp_path, "", "end") == ""
    assert list((tmp_path / "drafts").iterdir()) == []


def test_the_draft_of_a_session_that_still_runs_is_left_to_it(here: Here) -> None:
    one, two = begin(here, ScriptedModel()).prompt, here.home
    one.keep_draft("mine")
    assert session(two, "", "end") == ""
    assert one.take_draft() == ""


def test_nothing_is_kept_of_a_draft_without_memory(here: Here) -> None:
    desk = begin(here, ScriptedModel())
    desk.prompt.keep_draft("so far")
    desk.use_memory("off")
    desk.prompt.keep_draft("so far and on")
    assert list((here.home / "drafts").iterdir()) == []


async def write_in_place(command: Sequence[str], folder: Path) -> int:
    path = Path(command[-1])
    assert path.parent == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    path.write_text(path.read_text("utf-8") + " and more\n", "utf-8")
    return 1 if "--broken" in command else 0


async def test_the_editor_gets_the_draft_in_a_private_file(here: Here) -> None:
    edited = begin(replace(here, environ={**here.environ, "EDITOR": "sh -x", "VISUAL": ""}), ScriptedModel())
    assert await edited.prompt.edit("a thought", write_in_place) == "a thought\n and more"


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"EDITOR": "sh --broken"}, "sh ended with exit code 1; the message is as it was"),
        ({"EDITOR": "nosuch -w"}, "there is no 'nosuch'; set EDITOR to the editor you use"),
        ({"EDITOR": "", "PATH": "/nowhere"}, "there is no editor; set EDITOR to the one you use"),
        ({"VISUAL": "'x"}, "VISUAL can't be read"),
    ],
)
async def test_an_editor_that_fails_is_told(here: Here, environ: dict[str, str], why: str) -> None:
    desk = begin(replace(here, environ={**here.environ, **environ}), ScriptedModel())
    with pytest.raises(EditorFailed, match=why):
        await desk.prompt.edit("a thought", write_in_place)


async def test_a_picture_of_the_clipboard_is_attached_without_a_question(here: Here, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "wl-paste").write_text(f"#!/bin/sh\ncat {here.root.top}/dot.png\n", "utf-8")
    (programs / "wl-paste").chmod(0o755)
    there = replace(here, environ={**here.environ, "PATH": f"{programs}:/usr/bin:/bin", "WAYLAND_DISPLAY": "wayland-0"})
    model, person = Seeing("ok"), Person(says=False)
    desk = begin(there, model, "off")
    path = await desk.prompt.picture()
    await desk.ask(f"what is @{path}", emit=ignore, approve=person)
    assert [image.content for image in model.asked[0][-1].images] == [DOT]
    assert person.asked == []
    desk.close()
    assert not Path(path).exists()
    assert await begin(here, ScriptedModel()).prompt.picture() == ""
