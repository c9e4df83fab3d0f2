"""An answer that grows: little is drawn for each piece of it, and who reads elsewhere is left in peace."""

import asyncio
import os
import re
from pathlib import Path

from rich.cells import cell_len
from stage import Stage, saying, screen_text, sees, until
from test_app import running, send
from test_app_terminal import staged

from ogcode.agent.events import Answered, Emit, TextDelta
from ogcode.agent.turn import Usage
from ogcode.tui.desks.desk import Ask
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.transcript import Transcript

LINE = 400
"""Bytes that one line of 80 columns takes at most, with its colours."""


def test_a_piece_of_an_answer_costs_the_terminal_the_lines_that_it_changes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pieces")
    terminal = staged(
        tmp_path,
        """
        async def play(emit, approve):
            with open("pieces") as pieces:
                while piece := await asyncio.to_thread(pieces.readline):
                    emit(TextDelta(piece.rstrip("\\\\n") + " "))
            await saying()(emit, approve)
        run_app(Stage([play]), first_prompt="go")
        """,
    )
    sent = list[int]()
    with (tmp_path / "pieces").open("w") as pieces:
        for number in range(8):
            there = len(terminal.raw)
            pieces.write(f"piece-{number}\n")
            pieces.flush()
            terminal.sees(f"piece-{number}", there)
            sent.append(len(terminal.raw) - there)
    terminal.sees("note 2026")
    terminal.child.send("\x04")
    assert terminal.ends() == 0
    assert sorted(sent)[len(sent) // 2] < 2 * LINE
    assert max(sent[1:]) < 6 * LINE  # a line began, and the line of activity changed


async def test_a_reader_who_has_scrolled_up_stays_where_they_are_while_an_answer_grows_and_ends() -> None:
    pieces = asyncio.Queue[str]()

    async def play(emit: Emit, approve: Ask) -> None:
        said = ""
        while piece := await pieces.get():
            said += piece
            emit(TextDelta(piece))
        emit(Answered(said, (), Usage(1, 1)))

    def read() -> list[str]:
        return [line[:95].rstrip() for line in screen_text(pilot.app).split("\n")[:20]]  # not the scroll bar

    before = [(f"request {number}", f"answer {number}\n\nline\n\nline") for number in range(60)]
    async with running(Stage([play], before=before)) as pilot:
        transcript = pilot.app.query_one(Transcript)
        await send(pilot, "go")
        pieces.put_nowait("it begins\n\n")
        await sees(pilot, "it begins")
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: "it begins" not in screen_text(pilot.app))
        await pilot.pause()
        seen, height = read(), transcript.virtual_size.height
        for number in range(200):
            pieces.put_nowait(f"paragraph {number}\n\n")
        await until(pilot, lambda: transcript.virtual_size.height > height + 200)
        assert read() == seen
        pieces.put_nowait("")
        await until(pilot, lambda: pilot.app.query("Ending"))
        await pilot.pause()
        assert read() == seen


WIDE = ("世界", "a\u0301e\u0301", "👩\u200d👩\u200d👧", "👍🏽 🇩🇪", "ｶﾅ", "é世🎉x")


async def test_the_cursor_stands_behind_wide_and_joined_letters_and_a_table_of_them_is_even() -> None:
    table = "| 名前 | b |\n|---|---|\n| 世界🎉 | first |\n| a | second |"
    async with running(Stage([saying(table)])) as pilot:
        prompt = pilot.app.query_one(Prompt)
        for text in WIDE:
            prompt.put(text)
            await pilot.pause()
            assert pilot.app.cursor_position.x == 2 + cell_len(text)
        prompt.put("")
        await send(pilot, "go")
        await sees(pilot, "second")
        rows = [line for line in screen_text(pilot.app).split("\n") if "first" in line or "second" in line]
        first, second = (cell_len(re.split("first|second", row)[0]) for row in rows)
        assert first == second
