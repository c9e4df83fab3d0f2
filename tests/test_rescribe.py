"""A note is written once more because somebody asks for it."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from remembered import GOOD, a_job, notes, scribe, spool, waiting

from ogcode.agent.events import ignore
from ogcode.agent.index.cache import Memory
from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.job import NEVER, Job
from ogcode.agent.memory.rescribe import RescribeImpossible, rescribe
from ogcode.agent.memory.spool import drop_job, jobs, put_back
from ogcode.agent.memory.trash import restore, undoable
from ogcode.agent.model import Broken
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, look_around
from ogcode.tui.wiring import open_session

NOW = datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC)
CALLS = (ToolCall("a", "write", json.dumps({"path": "b.py", "content": "x = 1\n"})), ToolCall("b", "glob", "{"))


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo").mkdir()
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, lambda: NOW, trust=True)


@pytest.fixture
def memory(here: Here) -> Memory:
    return Memory.of(here.root, here.home)


async def a_turn(here: Here, memory: Memory) -> Job:
    """Have two turns whose model is away when their notes are written; give the job of the second."""
    model = ScriptedModel("Nothing to do yet. " * 40, *CALLS, "It is done: x is one.")
    opened = open_session(here, model, Choice(), memory="on")
    await opened.session.ask("wait", emit=ignore, approve=yes, limits=Limits())
    await opened.session.ask("make x one", emit=ignore, approve=yes, limits=Limits())
    opened.close()
    await scribe(memory, ScriptedModel(Broken), now=NOW).run()
    return waiting_jobs(memory)[-1]


def waiting_jobs(memory: Memory) -> list[Job]:
    return [job for _, job, _ in jobs(memory.root.store) if isinstance(job, Job)]


def entry(memory: Memory) -> Entry:
    return notes(memory).entries()[0]


async def test_a_note_whose_job_waits_is_tried_again_at_once_and_anew(here: Here, memory: Memory) -> None:
    job = await a_turn(here, memory)
    put_back(memory.root.store, replace(job, tries=5, due_at=NEVER, refused=True), memory.seal)
    assert rescribe(memory, here.root.sessions, entry(memory)) == replace(job, tries=0, tried_at="", due_at="")
    await scribe(memory, ScriptedModel(GOOD, GOOD), now=NOW).run()
    assert (entry(memory).scribe, waiting(memory)) == ("scripted/test", [])


async def test_a_job_that_is_gone_is_made_again_from_the_transcript_as_it_was(here: Here, memory: Memory) -> None:
    job = await a_turn(here, memory)
    drop_job(memory.root.store, job)
    (here.root.top / "b.py").write_text("changed since\n")
    again = rescribe(memory, here.root.sessions, entry(memory))
    assert again == replace(job, tries=0, failure="", tried_at="", due_at="")
    assert waiting_jobs(memory)[-1] == again
    await scribe(memory, ScriptedModel(GOOD, GOOD), now=NOW).run()
    assert (entry(memory).scribe, entry(memory).origin) == ("scripted/test", "own")


async def test_a_note_without_job_and_transcript_can_not_be_written_again(here: Here, memory: Memory) -> None:
    drop_job(memory.root.store, await a_turn(here, memory))
    for transcript in here.root.sessions.iterdir():
        transcript.write_text(transcript.read_text().replace('"seal": "', '"seal": "0'))  # no longer our own
    with pytest.raises(RescribeImpossible, match="transcript of its conversation is gone"):
        rescribe(memory, here.root.sessions, entry(memory))


async def test_secrets_do_not_come_back_with_the_transcript(here: Here, memory: Memory) -> None:
    drop_job(memory.root.store, await a_turn(here, memory))
    again = rescribe(memory, here.root.sessions, entry(memory), secrets=["done: x is one"])
    assert "x is one" not in again.answer


async def test_no_model_writes_over_what_a_person_edited(here: Here, memory: Memory) -> None:
    await a_turn(here, memory)
    path = here.root.store / entry(memory).path
    path.write_text(f"{path.read_text()}\nMine.\n")
    with pytest.raises(RescribeImpossible, match="edited by hand"):
        rescribe(memory, here.root.sessions, entry(memory))


async def test_a_note_of_others_is_not_written_again(here: Here, memory: Memory, tmp_path: Path) -> None:
    spool(Memory.of(here.root, tmp_path / "their-home"), a_job())
    await scribe(memory, ScriptedModel(), trusted=True).run()
    with pytest.raises(RescribeImpossible, match="not of your own"):
        rescribe(memory, here.root.sessions, entry(memory))


async def test_what_a_model_wrote_is_written_again_and_the_old_text_can_be_brought_back(
    here: Here, memory: Memory
) -> None:
    await a_turn(here, memory)
    await scribe(memory, ScriptedModel(GOOD, GOOD)).run()
    path = here.root.store / entry(memory).path
    before = path.read_bytes()
    rescribe(memory, here.root.sessions, entry(memory))
    await scribe(memory, ScriptedModel(GOOD.replace("five", "ten"))).run()
    assert ("to ten" in path.read_text(), entry(memory).origin, waiting(memory)) == (True, "own", [])
    [stone] = undoable(memory.root.store)
    restore(memory.root.store, stone, NOW)
    assert (path.read_bytes(), entry(memory).origin) == (before, "own")


async def test_a_note_that_is_wanted_again_stays_where_the_model_is_away_or_somebody_edits_it(
    here: Here, memory: Memory
) -> None:
    await a_turn(here, memory)
    await scribe(memory, ScriptedModel(GOOD, GOOD)).run()
    path = here.root.store / entry(memory).path
    before = path.read_bytes()
    rescribe(memory, here.root.sessions, entry(memory))
    await scribe(memory, ScriptedModel(Broken), now=NOW).run()
    assert (path.read_bytes(), [job.again for job in waiting_jobs(memory)]) == (before, [True])
    path.write_bytes(before + b"Mine.\n")
    await scribe(memory, ScriptedModel(GOOD)).run()
    assert (path.read_bytes(), waiting(memory), undoable(memory.root.store)) == (before + b"Mine.\n", [], [])


async def test_a_talk_that_is_kept_word_for_word_says_so(here: Here, memory: Memory) -> None:
    spool(memory, replace(a_job(request="Hi", answer="Hello"), steps=()))
    await scribe(memory, ScriptedModel()).run()
    with pytest.raises(RescribeImpossible, match="word for word"):
        rescribe(memory, here.root.sessions, entry(memory))


async def test_a_turn_that_waits_for_its_first_note_is_tried_at_once(here: Here, memory: Memory) -> None:
    (job,) = spool(memory, a_job())
    assert rescribe(memory, here.root.sessions, entry(memory)) == job
