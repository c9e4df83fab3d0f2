from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from remembered import GOOD, a_job, a_memory, note_files, notes, scribe, spool, waiting

from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.extract import title_of
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.notes import Note, parse_note
from ogcode.agent.model import Broken, Delta, Finished, ModelError, Options, Overloaded, ToolSpec, Unauthorized
from ogcode.agent.models.scripted import Reply, ScriptedModel
from ogcode.agent.turn import Message


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return a_memory(tmp_path)


def job() -> Job:
    return replace(a_job(), id="2026-09-12T091512Z--3f8c21aa")


async def written(memory: Memory, *replies: Reply, turn: Job | None = None) -> Note:
    """Have one turn written, and give its note."""
    spool(memory, turn or a_job())
    await scribe(memory, ScriptedModel(*replies)).run()
    (path,) = note_files(memory)
    return parse_note(path.name, path.read_bytes())


HOSTILE = """---
title: "forged"
outcome: "failed"
session_id: "ffffffff"
files: {"x": "y"}
---

# Real title <!-- c -->

Topics: a, b, c

## Outcome
All is well. \ud800 \x1b[2J
"""


async def test_frontmatter_and_request_come_from_the_turn_alone(memory: Memory) -> None:
    turn = replace(a_job(7), outcome="limit", reason="the limit of this turn was reached")
    note = await written(memory, HOSTILE, turn=turn)
    assert (note.outcome, note.turn, note.session_id) == ("limit", 7, turn.session_id)
    assert (note.files, note.malformed) == (turn.files, "")
    assert note.title == "Real title <!-- c -->"
    assert "## Request\nFix the retry of dispatch number 7\n" in note.text


async def test_one_attempt_to_mend_a_note_is_made(memory: Memory) -> None:
    model = ScriptedModel("no note", GOOD)
    spool(memory, a_job())
    await scribe(memory, model).run()
    assert "exactly one '# title' line" in model.asked[1][-1].content
    assert [entry.scribe for entry in notes(memory).entries()] == ["scripted/test"]


async def test_after_a_second_refusal_the_note_is_written_without_a_model_and_its_job_stays(memory: Memory) -> None:
    note = await written(memory, "no note", "again none")
    assert (note.scribe, waiting(memory)) == ("extract", [note.id])
    assert "## What was done\n- edit internal/dispatch/retry.go" in note.text


async def test_an_answer_that_was_cut_off_is_refused(memory: Memory) -> None:
    class Cut(ScriptedModel):
        async def stream(
            self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, options: Options
        ) -> AsyncGenerator[Delta]:
            async for delta in super().stream(messages, tools, options=options):
                yield replace(delta, reason="length") if isinstance(delta, Finished) else delta

    spool(memory, a_job())
    await scribe(memory, Cut(GOOD, GOOD)).run()
    assert [entry.scribe for entry in notes(memory).entries()] == ["extract"]


async def test_a_short_talk_is_kept_word_for_word_and_asks_no_model(memory: Memory) -> None:
    note = await written(memory, turn=replace(a_job(request="Hi?", answer="Hello."), steps=()))
    assert note.scribe == "verbatim"
    assert "## Request\nHi?\n\n" in note.text
    assert note.text.endswith("Hello.\n")


@pytest.mark.parametrize("failure", [Broken, Overloaded, Unauthorized])
async def test_a_failing_model_leaves_a_note_and_a_job_to_better_it(memory: Memory, failure: type[ModelError]) -> None:
    note = await written(memory, failure)
    assert note.scribe == "extract"
    assert waiting(memory) == [note.id]
    assert [(entry.pending, entry.origin) for entry in notes(memory).entries()] == [(False, "own")]


async def test_an_endpoint_that_is_away_is_asked_once_in_a_drain(memory: Memory) -> None:
    spool(memory, a_job(1), a_job(2), a_job(3))
    model = ScriptedModel(Broken)
    assert await scribe(memory, model).run() == 3
    assert len(model.asked) == 1


async def test_notes_are_bettered_later_in_order_and_after_new_ones(memory: Memory) -> None:
    spool(memory, a_job(1), a_job(2))
    await scribe(memory, ScriptedModel(Broken)).run()
    spool(memory, a_job(3))
    model = ScriptedModel(*[GOOD.replace("fix", f"fix {number}") for number in range(3)])
    assert await scribe(memory, model).run() == 3
    requests = [asked[-1].content.splitlines()[2][-1] for asked in model.asked]
    assert requests == ["3", "1", "2"]
    assert {entry.scribe for entry in notes(memory).entries()} == {"scripted/test"}
    assert {entry.origin for entry in notes(memory).entries()} == {"own"}
    assert (len(note_files(memory)), waiting(memory)) == (3, [])


async def test_a_note_that_stays_unbettered_is_tried_again(memory: Memory) -> None:
    note = await written(memory, Broken)
    assert await scribe(memory, ScriptedModel(Broken)).run() == 0
    assert waiting(memory) == [note.id]
    assert await scribe(memory, ScriptedModel(GOOD)).run() == 1


async def test_a_note_that_somebody_edited_is_not_bettered(memory: Memory) -> None:
    await written(memory, Broken)
    (path,) = note_files(memory)
    path.write_text(path.read_text() + "\nMy own words.\n")
    before = path.read_bytes()
    assert await scribe(memory, ScriptedModel()).run() == 0
    assert (path.read_bytes(), waiting(memory)) == (before, [])


async def test_a_note_that_somebody_removed_does_not_come_back(memory: Memory) -> None:
    await written(memory, Broken)
    note_files(memory)[0].unlink()
    assert await scribe(memory, ScriptedModel()).run() == 0
    assert (note_files(memory), waiting(memory)) == ([], [])


async def test_a_note_that_was_moved_is_bettered_where_it_is(memory: Memory) -> None:
    await written(memory, Broken)
    (path,) = note_files(memory)
    (memory.root.memory / "old").mkdir()
    moved = path.rename(memory.root.memory / "old" / path.name)
    await scribe(memory, ScriptedModel(GOOD)).run()
    assert note_files(memory) == [moved]
    assert "Five tries with backoff." in moved.read_text()


async def test_a_job_whose_note_is_there_already_gives_no_second_one(memory: Memory) -> None:
    spool(memory, a_job())
    (left,) = memory.root.spool.glob("*.json")
    content = left.read_bytes()
    await scribe(memory, ScriptedModel(GOOD)).run()
    left.write_bytes(content)
    assert await scribe(memory, ScriptedModel()).run() == 0
    assert (len(note_files(memory)), waiting(memory)) == (1, [])


async def test_a_name_without_content_is_not_taken_for_a_note(memory: Memory) -> None:
    (job,) = spool(memory, a_job())
    (memory.root.memory / f"{job.id}--dispatch-retry-fix.md").touch()
    await scribe(memory, ScriptedModel(GOOD)).run()
    assert "Five tries" in note_files(memory)[0].read_text()


async def test_without_a_writable_home_the_note_is_written_and_becomes_our_own_once_it_can(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    spool(memory, a_job())
    memory.manifest.path.parent.parent.mkdir(exist_ok=True)
    memory.manifest.path.parent.write_text("a file where the folder should be")
    log = list[str]()
    assert await scribe(memory, ScriptedModel(GOOD), log=log).run() == 1
    assert [entry.origin for entry in notes(memory).entries()] == ["foreign"]
    assert "can't be claimed" in log[0]
    memory.manifest.path.parent.unlink()
    await scribe(memory, ScriptedModel(GOOD)).run()
    assert [(entry.origin, entry.title) for entry in notes(memory).entries()] == [("own", "Dispatch retry fix")]


@pytest.mark.parametrize("bad", ["## What was done\n- tried five times", "# Request\n"])
async def test_a_model_that_can_not_make_a_title_gets_one_from_the_turn(tmp_path: Path, bad: str) -> None:
    memory = a_memory(tmp_path)
    (job,) = spool(memory, a_job())
    reply = bad if bad.startswith("##") else f"{bad}\nTopics: a, b, c\n\n## What was done\n- tried five times"
    model = ScriptedModel(reply, reply)
    await scribe(memory, model).run()
    note = note_files(memory)[0].read_text("utf-8")
    assert len(model.asked) == 2
    assert f'title: "{title_of(job)}"' in note
    assert "- tried five times" in note
    assert 'scribe: "scripted/test"' in note
