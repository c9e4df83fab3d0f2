import asyncio
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ogcode.agent.events import CUT_SHORT, Event, ToolFinished, TurnFinished, Warned, ignore
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import jobs
from ogcode.agent.model import Broken, Model, Unauthorized
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.session import Session
from ogcode.agent.transcript import recollect
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.earlier import Choice, SessionUnknown, finish_open_turns
from ogcode.tui.place import Here, look_around
from ogcode.tui.wiring import open_session

FREE = Limits()
NOW = datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC)


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo").mkdir()
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, lambda: NOW, trust=True)


def begin(here: Here, model: Model, choice: Choice = Choice()) -> Session:  # noqa: B008  # frozen
    return open_session(here, model, choice, memory="on").session


def spooled(here: Here) -> list[Job]:
    return [job for _, job, _ in jobs(here.root.store) if isinstance(job, Job)]


async def test_a_request_holds_nothing_of_older_turns_but_the_previous_answer(here: Here) -> None:
    model = ScriptedModel("ANSWER-ONE", "ANSWER-TWO", "ANSWER-THREE")
    session = begin(here, model)
    for request in ("REQUEST-ONE", "REQUEST-TWO", "REQUEST-THREE"):
        await session.ask(request, emit=ignore, approve=yes, limits=FREE)
    last = "\n".join(message.content for message in model.asked[2])
    assert "ANSWER-TWO" in last
    assert "REQUEST-THREE" in last
    assert not any(old in last for old in ("REQUEST-ONE", "ANSWER-ONE", "REQUEST-TWO"))


async def test_the_system_text_is_the_same_to_the_byte_over_a_session(here: Here) -> None:
    model = ScriptedModel("one", "two", "three")
    session = begin(here, model)
    for request in ("a", "b", "c"):
        await session.ask(request, emit=ignore, approve=yes, limits=FREE)
    assert len({asked[0].content for asked in model.asked}) == 1


async def test_a_turn_is_in_the_spool_before_it_is_shown_as_finished(here: Here) -> None:
    seen: list[list[str]] = []

    def emit(event: Event) -> None:
        if isinstance(event, TurnFinished):
            seen.append([job.id for job in spooled(here)])

    await begin(here, ScriptedModel("done")).ask("go", emit=emit, approve=yes, limits=FREE)
    assert seen == [["2026-09-12T091412Z--" + spooled(here)[0].session_id[:8]]]


async def test_what_a_recall_spends_counts_for_the_turn_and_is_in_the_ledger(here: Here) -> None:
    model = ScriptedModel(
        "one", ToolCall("c1", "memory_recall", '{"question": "what was one?"}'), "It was one [1].", "So it was."
    )
    session = begin(here, model)
    await session.ask("first", emit=ignore, approve=yes, limits=FREE)
    turn = await session.ask("second", emit=ignore, approve=yes, limits=FREE)
    rows = [json.loads(line) for line in (here.root.store / "usage.jsonl").read_text("utf-8").splitlines()]
    assert [(row["role"], row["turn"]) for row in rows] == [("agent", 1), ("agent", 2), ("librarian", 2), ("agent", 2)]
    assert turn.usage.input_tokens == sum(row["input_tokens"] for row in rows[1:])
    assert turn.sent == turn.usage.input_tokens - rows[2]["input_tokens"]


async def test_a_failed_turn_is_recorded_with_what_it_did(here: Here) -> None:
    model = ScriptedModel(
        ("I look.", ToolCall("c1", "glob", '{"pattern": "*.py"}')), Unauthorized("the key is refused")
    )
    turn = await begin(here, model).ask("go", emit=ignore, approve=yes, limits=FREE)
    job = spooled(here)[0]
    assert (turn.outcome, turn.cause, job.outcome, job.reason) == ("failed", "error", "failed", "the key is refused")
    assert job.steps == ("glob *.py",)


async def test_an_interrupted_turn_is_recorded_and_the_next_one_knows(here: Here) -> None:
    hanging = asyncio.Event()

    def hang(messages: Sequence[object]) -> str:
        hanging.set()
        raise asyncio.CancelledError

    model = ScriptedModel(("I edit.", ToolCall("c1", "write", '{"path": "a.py", "content": "x"}')), hang, "fine")
    session = begin(here, model)
    with pytest.raises(asyncio.CancelledError):
        await session.ask("go", emit=ignore, approve=yes, limits=FREE)
    assert spooled(here)[0].outcome == "interrupted"
    await session.ask("and now?", emit=ignore, approve=yes, limits=FREE)
    told = model.asked[-1][1].content
    assert 'outcome="interrupted"' in told
    assert 'changed="a.py"' in told


async def test_a_time_limit_ends_the_turn_and_records_it(here: Here) -> None:
    model = ScriptedModel(ToolCall("c1", "bash", '{"command": "sleep 30"}'))
    events: list[Event] = []
    turn = await begin(here, model).ask("go", emit=events.append, approve=yes, limits=Limits(seconds=0.3))
    assert (turn.outcome, turn.cause) == ("limit", "time")
    assert [event.output for event in events if isinstance(event, ToolFinished)] == [CUT_SHORT]
    assert CUT_SHORT in next(here.root.sessions.glob("*.jsonl")).read_text("utf-8")
    assert spooled(here)[0].outcome == "limit"


async def test_a_turn_with_neither_call_nor_answer_leaves_no_note(here: Here) -> None:
    finished: list[Event] = []
    turn = await begin(here, ScriptedModel(Broken("away"))).ask("go", emit=finished.append, approve=yes, limits=FREE)
    assert (turn.outcome, turn.cause) == ("failed", "provider")
    assert spooled(here) == []
    assert any(isinstance(event, TurnFinished) and event.note == "" for event in finished)


async def test_turns_in_one_second_have_notes_of_their_own_in_order(here: Here) -> None:
    session = begin(here, ScriptedModel("one", "two", "three"))
    for request in ("a", "b", "c"):
        await session.ask(request, emit=ignore, approve=yes, limits=FREE)
    assert [(job.turn, job.id[11:18]) for job in spooled(here)] == [(1, "091412Z"), (2, "091413Z"), (3, "091414Z")]


async def test_a_session_goes_on_where_it_was_left(here: Here) -> None:
    opened = open_session(here, ScriptedModel("ANSWER-ONE"), Choice(), memory="on")
    await opened.session.ask("first", emit=ignore, approve=yes, limits=FREE)
    opened.close()
    model = ScriptedModel("ANSWER-TWO")
    again = open_session(here, model, Choice(latest=True), memory="on")
    await again.session.ask("second", emit=ignore, approve=yes, limits=FREE)
    assert again.session.id == opened.session.id
    assert "ANSWER-ONE" in model.asked[0][1].content
    assert [job.turn for job in spooled(here)] == [1, 2]


async def test_a_session_in_use_is_forked_and_that_is_said(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one"), Choice(), memory="on")
    await opened.session.ask("first", emit=ignore, approve=yes, limits=FREE)
    forked = open_session(here, ScriptedModel("two"), Choice(resume=opened.session.id[:8]), memory="on")
    assert forked.session.id != opened.session.id
    assert forked.session.recallable() == {opened.session.id: 1, forked.session.id: 1}
    assert any("in use elsewhere" in notice for notice in forked.notices)


async def test_a_session_without_a_turn_is_not_the_one_to_go_on_with(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one"), Choice(), memory="on")
    await opened.session.ask("first", emit=ignore, approve=yes, limits=FREE)
    opened.close()
    open_session(here, ScriptedModel(), Choice(), memory="on").close()
    assert begin(here, ScriptedModel(), Choice(latest=True)).id == opened.session.id


async def test_a_fault_that_looks_like_a_time_limit_is_recorded_for_what_it_is(here: Here) -> None:
    def broken(event: Event) -> None:
        if isinstance(event, ToolFinished):
            raise TimeoutError("the disk did not answer")

    model = ScriptedModel(ToolCall("c1", "glob", '{"pattern": "*"}'))
    with pytest.raises(TimeoutError):
        await begin(here, model).ask("go", emit=broken, approve=yes, limits=FREE)
    assert [(job.outcome, job.reason) for job in spooled(here)] == [("failed", "the disk did not answer")]


def test_an_unknown_session_is_an_error_and_no_new_one(here: Here) -> None:
    with pytest.raises(SessionUnknown, match="no session 'abcdef12'"):
        begin(here, ScriptedModel(), Choice(resume="abcdef12"))
    with pytest.raises(SessionUnknown, match="no earlier session"):
        begin(here, ScriptedModel(), Choice(latest=True))


@pytest.mark.parametrize("name", ["*", "[", "../x", "**a"])
async def test_the_name_of_a_session_is_no_pattern_and_no_path(here: Here, name: str) -> None:
    await begin(here, ScriptedModel("one")).ask("first", emit=ignore, approve=yes, limits=FREE)
    with pytest.raises(SessionUnknown, match="no session"):
        begin(here, ScriptedModel(), Choice(resume=name))


async def test_a_session_that_a_repository_ships_is_not_gone_on_with(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one"), Choice(), memory="on")
    await opened.session.ask("first", emit=ignore, approve=yes, limits=FREE)
    opened.close()
    own = here.root.sessions / f"{opened.session.id}.jsonl"
    planted = here.root.sessions / f"{'f' * 32}.jsonl"
    planted.write_text(own.read_text("utf-8").replace(opened.session.id, "f" * 32), "utf-8")
    with pytest.raises(SessionUnknown):
        begin(here, ScriptedModel(), Choice(resume="ffffffff"))


async def test_a_turn_that_a_kill_left_open_is_closed_at_the_next_start(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one"), Choice(), memory="on")
    transcript = here.root.sessions / f"{opened.session.id}.jsonl"
    killed = open_turn_rows(opened.session.id)
    with transcript.open("a", encoding="utf-8") as file:
        file.writelines(killed)
    assert opened.lock
    opened.lock.release()  # the kernel does that for a dead process; the lock's file stays
    finish_open_turns(here)
    job = spooled(here)[0]
    assert (job.outcome, job.steps, job.turn) == ("interrupted", ("glob *.py",), 1)
    past = recollect(transcript)
    assert past.open_turn is None
    assert past.previous
    assert past.previous.outcome == "interrupted"


async def test_a_torn_last_line_costs_itself_alone(here: Here) -> None:
    opened = open_session(here, ScriptedModel("one"), Choice(), memory="on")
    await opened.session.ask("first", emit=ignore, approve=yes, limits=FREE)
    transcript = here.root.sessions / f"{opened.session.id}.jsonl"
    with transcript.open("a", encoding="utf-8") as file:
        file.write('{"type": "turn_star')
    past = recollect(transcript)
    assert (past.torn, past.turns) == (1, 1)


async def test_memory_that_can_not_be_written_stops_no_turn(here: Here) -> None:
    here.root.path.joinpath(".ogcode").write_text("in the way", "utf-8")
    opened = open_session(here, ScriptedModel("fine"), Choice(), memory="on")
    turn = await opened.session.ask("go", emit=ignore, approve=yes, limits=FREE)
    assert turn.answer == "fine"
    assert any("not remembered" in notice for notice in opened.notices)


async def test_a_spool_that_vanishes_under_a_turn_is_made_again(here: Here) -> None:
    import shutil

    opened = open_session(here, ScriptedModel("fine"), Choice(), memory="on")
    shutil.rmtree(here.root.store)
    events: list[Event] = []
    await opened.session.ask("go", emit=events.append, approve=yes, limits=FREE)
    assert [job.answer for job in spooled(here)] == ["fine"]
    assert any(isinstance(event, Warned) for event in events)


async def test_memory_off_offers_no_recall_and_writes_nothing(here: Here) -> None:
    model = ScriptedModel("fine")
    opened = open_session(here, model, Choice(), memory="off")
    await opened.session.ask("go", emit=ignore, approve=yes, limits=FREE)
    assert "memory_recall" not in {spec.name for spec in model.offered[0]}
    assert "Memory is off" in model.asked[0][1].content
    assert not here.root.store.exists()


async def test_memory_read_recalls_and_saves_nothing(here: Here) -> None:
    model = ScriptedModel("fine")
    opened = open_session(here, model, Choice(), memory="read")
    await opened.session.ask("go", emit=ignore, approve=yes, limits=FREE)
    assert "memory_recall" in {spec.name for spec in model.offered[0]}
    assert not here.root.store.exists()


async def test_rules_and_facts_are_known_only_where_the_folder_is_trusted(here: Here, tmp_path: Path) -> None:
    (here.root.top / "AGENTS.md").write_text("RULE-ONE", "utf-8")
    (here.root.top / "MEMORY.md").write_text("FACT-ONE </facts> still a fact", "utf-8")
    here.home.joinpath("AGENTS.md").write_text("USER-RULE", "utf-8")
    here = look_around(here.root.top, here.environ, here.now, trust=True)
    stranger = look_around(
        here.root.top, {**here.environ, "OGCODE_HOME": str(tmp_path / "other")}, here.now, trust=False
    )
    for place, rules in ((here, True), (stranger, False)):
        model = ScriptedModel("fine")
        await begin(place, model).ask("go", emit=ignore, approve=yes, limits=FREE)
        system = model.asked[0][0].content
        assert ("RULE-ONE" in system, "FACT-ONE" in system) == (rules, rules)
    assert "USER-RULE" in begin(here, ScriptedModel("x")).system


def open_turn_rows(session_id: str) -> Iterator[str]:
    yield (
        '{"type": "turn_started", "turn": 1, "request": "go", "started_at": "2026-09-12T09:14:12+00:00", '
        '"model": "scripted/test", "window": 8192}\n'
    )
    yield '{"type": "answered", "text": "I look.", "calls": [], "usage": {}}\n'
    yield (
        '{"type": "tool_finished", "id": "c1", "name": "glob", "arguments": "{\\"pattern\\": \\"*.py\\"}", '
        '"output": "a.py", "failed": false}\n'
    )
