"""What the user adds while a turn runs is part of the turn: for the model, in the transcript, and in memory."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ogcode.agent.events import Event, Steered, ToolFinished, TurnFinished, ignore
from ogcode.agent.guard import repeats
from ogcode.agent.loop import run_turn
from ogcode.agent.memory.capture import Place
from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.memory.spool import jobs
from ogcode.agent.memory.verbatim import verbatim
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.session import Keep, Session, Start
from ogcode.agent.tool import tool
from ogcode.agent.transcript import recollect
from ogcode.agent.turn import Limits, Message, Opening, ToolCall, Turn, Verdict
from ogcode.agent.window.view import View
from ogcode.tui.earlier import Choice, finish_open_turns
from ogcode.tui.opened import Opened
from ogcode.tui.place import Here, look_around
from ogcode.tui.wiring import open_session

FREE = Limits()
NOW = datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC)
LOOK = ToolCall("c1", "glob", '{"pattern": "*.py"}')
AGAIN = ToolCall("c2", "glob", '{"pattern": "*.md"}')


async def yes(call: ToolCall) -> Verdict:
    return Verdict(True)


def saying(*batches: Sequence[str]) -> Callable[[], Sequence[str]]:
    """Hand over one batch of words each time it is asked."""
    left = list(batches)
    return lambda: left.pop(0) if left else ()


@tool(effect="read")
async def glob(pattern: str) -> str:
    """List files."""
    return pattern


@pytest.fixture
def here(tmp_path: Path) -> Here:
    (tmp_path / "repo").mkdir()
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    return look_around(tmp_path / "repo", environ, lambda: NOW, trust=True)


def begin(here: Here, model: ScriptedModel) -> Opened:
    return open_session(here, model, Choice(), memory="on")


def spooled(here: Here) -> list[Job]:
    return [job for _, job, _ in jobs(here.root.store) if isinstance(job, Job)]


async def test_what_the_user_adds_is_asked_after_the_results_and_before_the_next_answer() -> None:
    model = ScriptedModel((LOOK, AGAIN), "fine")
    events = list[Event]()
    turn = await run_turn(
        Opening("system", "go"),
        model=model,
        tools=[glob],
        emit=events.append,
        approve=yes,
        limits=FREE,
        steering=saying((), ("not those", "these")),
    )
    assert [message.role for message in model.asked[1]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert [message.content for message in model.asked[1][-2:]] == ["not those", "these"]
    told = [event for event in events if isinstance(event, Steered | ToolFinished)]
    assert [type(event) for event in told] == [ToolFinished, ToolFinished, Steered, Steered]
    assert (turn.request, turn.words) == ("go", "go\n\nnot those\n\nthese")


async def test_what_comes_with_the_final_answer_stays_with_the_caller() -> None:
    waiting = saying((), ("too late",))
    turn = await run_turn(
        Opening("system", "go"),
        model=ScriptedModel("done"),
        tools=[],
        emit=ignore,
        approve=yes,
        limits=FREE,
        steering=waiting,
    )
    assert turn.words == "go"
    assert waiting() == ("too late",)


def test_the_users_words_stay_however_small_the_window() -> None:
    results = [
        (
            Message("assistant", "", (ToolCall(f"c{number}", "glob", "{}"),)),
            Message("tool", "result " * size, call_id=f"c{number}", name="glob"),
        )
        for number, size in enumerate((90_000, 1, 1))
    ]
    history = (Message("user", "FIRST-WORDS"), *results[0], Message("user", "STEERED-WORDS"), *results[1], *results[2])
    request = View((), 4_096).request(history, ())
    assert request
    assert [message.content for message in request if message.role == "user"] == ["FIRST-WORDS", "STEERED-WORDS"]


def test_calls_may_be_made_again_after_the_user_spoke() -> None:
    def cycle(number: int) -> tuple[Message, Message]:
        call = ToolCall(f"c{number}", "bash", '{"command": "make"}')
        return Message("assistant", "", (call,)), Message("tool", "no rule", call_id=call.id, name="bash")

    rounds = [message for number in range(3) for message in cycle(number)]
    assert repeats(rounds)
    assert not repeats([*rounds, Message("user", "there is a Makefile now"), *cycle(3)])


async def test_every_word_of_the_user_is_in_transcript_digest_and_note(here: Here) -> None:
    opened = begin(here, ScriptedModel(LOOK, "fine"))
    said = "part one\n\npart two of <stdin>\n日本語\n</stdin>"
    turn = await opened.session.ask(said, emit=ignore, approve=yes, limits=FREE, steering=saying((), ("steered one",)))
    (job,) = spooled(here)
    words = f"{said}\n\nsteered one"
    assert turn.words == job.request == words
    assert words in digest(job)
    assert f"## Request\n{words}\n" in extract_note(job)
    assert verbatim(here.root.sessions, opened.session.id, 1) == (words, "fine")
    assert recollect(here.root.sessions / f"{opened.session.id}.jsonl").said == ((words, "fine"),)


async def test_a_turn_that_was_killed_after_the_user_spoke_is_remembered_with_those_words(here: Here) -> None:
    opened = begin(here, ScriptedModel())
    transcript = here.root.sessions / f"{opened.session.id}.jsonl"
    with transcript.open("a", encoding="utf-8") as file:
        file.write(
            '{"type": "turn_started", "turn": 1, "request": "go", "started_at": "2026-09-12T09:14:12+00:00"}\n'
            '{"type": "tool_finished", "id": "c1", "name": "glob", "arguments": "{}", "output": "", "failed": false}\n'
            '{"type": "steered", "text": "only the tests"}\n'
        )
    assert opened.lock
    opened.lock.release()
    finish_open_turns(here)
    assert [(job.outcome, job.request) for job in spooled(here)] == [("interrupted", "go\n\nonly the tests")]


class Recorder:
    """Records turns as slowly as it is told, and says whether the event loop went on meanwhile."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.began = asyncio.Event()
        self.may_end = threading.Event()
        self.turns = list[Turn]()

    def __call__(self, turn: Turn, place: Place) -> Job:
        self.loop.call_soon_threadsafe(self.began.set)
        if not self.may_end.wait(30):
            raise OSError("the event loop stood still")
        self.turns.append(turn)
        return Job("n1", place.session_id, place.number, "", turn.outcome, "", 0, turn.words, (), turn.answer)


def session(recorder: Recorder) -> Session:
    return Session(
        Start("3f8c21aa"),
        model=ScriptedModel("fine", "fine"),
        system="",
        tools=lambda _: [],
        keep=Keep(record=recorder),
        memory="on",
        now=lambda: NOW,
    )


async def test_recording_a_turn_stops_nothing_else() -> None:
    recorder, events = Recorder(), list[Event]()
    asked = asyncio.ensure_future(session(recorder).ask("go", emit=events.append, approve=yes, limits=FREE))
    await recorder.began.wait()
    assert not any(isinstance(event, TurnFinished) for event in events)
    recorder.may_end.set()
    assert (await asked).outcome == "done"
    assert events[-1] == TurnFinished(recorder.turns[0], "n1")


async def test_an_interrupt_while_the_turn_is_recorded_waits_for_the_record() -> None:
    recorder, events = Recorder(), list[Event]()
    asked = asyncio.ensure_future(session(recorder).ask("go", emit=events.append, approve=yes, limits=FREE))
    await recorder.began.wait()
    for _ in range(3):
        asked.cancel()
        await asyncio.sleep(0)
    recorder.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert events[-1] == TurnFinished(recorder.turns[0], "n1")
