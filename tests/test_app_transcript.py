"""The transcript of a long session: few widgets, all of it in reach, and text that streams in light pieces."""

import asyncio
import json

import pytest
from stage import NOTE, Stage, happening, saying, screen_text, sees, until, waiting
from test_app import draft, running, send

from ogcode.agent.events import Answered, Nested, ReasoningDelta, TextDelta, ToolFinished, ToolStarted, Warned
from ogcode.agent.model import ModelError
from ogcode.agent.turn import ToolCall, Usage
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.live import LONG, LiveAnswer, settled
from ogcode.tui.screen.markdown import Answer
from ogcode.tui.screen.transcript import Transcript
from ogcode.tui.screen.window import BATCH, MOUNTED

TURNS = [(f"request {number}", f"answer {number}\n\nline\n\nline") for number in range(500)]
BASH = ToolCall("c1", "bash", json.dumps({"command": "make test"}))


async def test_of_a_long_session_only_its_end_is_made() -> None:
    async with running(Stage(before=TURNS)) as pilot:
        await sees(pilot, "answer 499")
        assert len(pilot.app.query_one(Transcript).children) <= BATCH + 2


async def test_short_turns_fill_a_tall_terminal() -> None:
    async with running(Stage(before=[(f"request {number}", "yes") for number in range(100)])) as pilot:
        await sees(pilot, "request 99")
        assert "request 80" not in screen_text(pilot.app)
        await pilot.resize_terminal(80, 160)
        await sees(pilot, "request 80")


async def test_a_reader_who_scrolls_up_meets_each_turn_where_it_was() -> None:
    async with running(Stage(before=TURNS[:40])) as pilot:
        await sees(pilot, "answer 39")
        transcript, met = pilot.app.query_one(Transcript), list[str]()
        while "request 0" not in met:
            assert len(met) < 1_000
            met += [" ".join(line.strip(" ▌").split()[:2]) for line in screen_text(pilot.app).split("\n")]
            before = transcript.max_scroll_y - transcript.scroll_y
            await pilot.press("pageup")
            await until(pilot, lambda before=before: transcript.max_scroll_y - transcript.scroll_y > before)  # type: ignore[misc]
            await pilot.pause()
        assert [f"request {number}" in met for number in range(40)] == [True] * 40
        assert "earlier blocks" not in screen_text(pilot.app)


async def test_blocks_are_let_go_of_and_come_back_as_they_were() -> None:
    inner = Nested("bash", ToolStarted(ToolCall("n", "look", json.dumps({"path": "inside"}))))
    play = happening(
        ReasoningDelta("two words"),
        ToolStarted(BASH),
        inner,
        ToolFinished(BASH, "line one"),
        *(Warned(f"warning {number}") for number in range(2 * MOUNTED + 3 * BATCH)),
    )
    async with running(Stage([play])) as pilot:
        await send(pilot, "go")
        await sees(pilot, NOTE)
        transcript = pilot.app.query_one(Transcript)
        await until(pilot, lambda: len(transcript.children) <= 2 * MOUNTED)
        assert not pilot.app.query("ToolBlock, ReasoningBlock, UserBlock")
        while not pilot.app.query("UserBlock"):
            await pilot.press("pageup")
        transcript.scroll_home(animate=False)
        await sees(pilot, "bash  make test  ✓ 1 line")
        assert "thought, 2 words" in screen_text(pilot.app)
        await pilot.press("ctrl+o")
        await sees(pilot, "look inside")


async def test_a_new_session_forgets_what_was_above() -> None:
    async with running(Stage(before=TURNS)) as pilot:
        await sees(pilot, "answer 499")
        await send(pilot, "/new")
        await sees(pilot, "a new session")
        await pilot.press("pageup")
        await pilot.pause()
        assert "earlier blocks" not in screen_text(pilot.app)


async def test_a_long_answer_grows_in_one_short_widget_and_ends_complete() -> None:
    text = "".join(f"Paragraph {number} says **so**.\n\n" for number in range(200))
    pieces = [text[start : start + 50] for start in range(0, len(text), 50)]
    async with running(Stage([waiting(*map(TextDelta, pieces))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, "Paragraph 199 says so.")
        assert len(pilot.app.query_one(LiveAnswer).rest()) < 2 * LONG
        await pilot.press("escape")
        await sees(pilot, "interrupted")
        shown = "".join(answer._text + "\n\n" for answer in pilot.app.query(Answer))
        assert shown.strip() == text.strip()
        assert not pilot.app.query(LiveAnswer)


async def test_code_that_is_longer_than_a_piece_stays_one_block() -> None:
    text = "```python\n" + "".join(f"x{number} = 1\n" for number in range(1_000)) + "```\n"
    async with running(Stage([saying(*(text[start : start + 100] for start in range(0, len(text), 100)))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, NOTE)
        [answer] = pilot.app.query(Answer)
        assert answer._text == text.strip()


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("one\n\ntwo", 5),
        ("one\n\n", 0),
        ("1. a\n\n2. b\n\nend", 12),
        ("- a\n\n  more", 0),
        ("```\na\n\nb\n", 0),
        ("```\na\n\nb\n```\n\nend", 14),
        ("~~~~\n```\n\nx", 0),
    ],
)
def test_a_part_is_settled_once_nothing_can_belong_to_it_any_more(text: str, end: int) -> None:
    assert settled(text, 0) == end


async def test_text_that_comes_letter_by_letter_is_shown_whole() -> None:
    words = "so many letters, one after the other"
    async with running(Stage([happening(*map(TextDelta, words), Answered(words, (), Usage(1, 1)))])) as pilot:
        await send(pilot, "go")
        await sees(pilot, words)


async def test_escape_twice_on_an_empty_prompt_goes_the_way_back() -> None:
    async with running(Stage()) as pilot:
        await sees(pilot, "ogcode ·")
        await pilot.press(*"ab", "escape", "escape")
        assert draft(pilot) == "ab"
        assert "/rewind" not in screen_text(pilot.app)
        await pilot.press("backspace", "backspace", "escape", "escape")
        await sees(pilot, "there is no turn yet to go back before")
        for text in ("one", "two"):
            await send(pilot, text)
            await sees(pilot, f"echo: {text}")
        await pilot.press("escape", "escape")
        await sees(pilot, "Go back to before a turn")
        await pilot.press("t", "w", "o", "enter")
        await sees(pilot, "What goes back to before turn 2?")
        await pilot.press("down", "enter")
        await sees(pilot, "/rewind 2 conversation: 1 put back")
        assert draft(pilot) == "two"


async def test_what_is_sent_before_the_desk_is_open_waits_and_is_sent() -> None:
    gate = asyncio.Event()

    async def opening() -> None:
        await gate.wait()

    stage = Stage(opening=opening)
    async with running(stage) as pilot:
        await pilot.press(*"one", "enter", *"two", "enter", "shift+tab")
        await sees(pilot, "queued: two")
        assert stage.asked == []
        gate.set()
        await sees(pilot, "echo: two")
        assert stage.asked == ["one", "two"]
        assert stage.state.mode == "ask"


async def test_a_desk_that_cannot_be_opened_ends_the_app() -> None:
    async def opening() -> None:
        raise ModelError("ollama is not running; start it")

    async with running(Stage(opening=opening)) as pilot:
        await until(pilot, lambda: pilot.app.return_code == 1 or not pilot.app.is_running)
        assert isinstance(pilot.app, Ogcode)
        assert str(pilot.app.opening.failure) == "ollama is not running; start it"
