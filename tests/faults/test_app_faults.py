"""F10, F22, F24: the app on a slow disk, under signals at any moment, and after the machine has slept."""

import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from stage import Clock, Stage, screen_text, sees, until, waiting
from stage_cli import OGCODE, Place, end_scribe, new_place
from terminals import LIVE, Terminal, ogcode, played, sleeping

from ogcode.agent.events import TextDelta
from ogcode.tui.screen.app import Ogcode

NAP = "98763.5"
CALL = {"name": "bash", "arguments": {"command": f"touch begun; sleep {NAP}"}}
CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}
MOMENTS = ("streaming", "running", "asking")
STRACE = shutil.which("strace")


def going(place: Place, moment: str) -> Terminal:
    """Bring a turn to one of its moments."""
    reply: dict[str, object] = {"text": "one two three " * 40, "delay": 0.2}
    if moment != "streaming":
        reply = {"text": "", "calls": [CALL]}
    played(place, [{"role": "agent", "replies": [reply]}, {"role": "scribe", "replies": [{"error": "broken"}]}])
    terminal = ogcode(place, "--mode", "ask" if moment == "asking" else "yolo", "go on")
    match moment:
        case "streaming":
            terminal.sees("one two")
        case "running":
            terminal.until((place.folder / "begun").exists)
        case _:
            terminal.sees("yes, once")
    return terminal


def noted(place: Place) -> bool:
    store = place.folder / ".ogcode"
    return bool([*(store / "spool").glob("*.json"), *(store / "memory").glob("*.md")])


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_signal_in_a_turn_restores_the_terminal_and_leaves_a_note_and_no_command(
    tmp_path: Path, number: signal.Signals, moment: str
) -> None:
    place = new_place(tmp_path)
    terminal = going(place, moment)
    os.kill(terminal.pid, number)
    assert terminal.ends() == CODES[number]
    assert terminal.restored()
    assert noted(place)
    assert not sleeping(NAP)


@pytest.mark.parametrize("seed", [34, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(100, 150))])
def test_a_signal_at_any_time_restores_the_terminal(tmp_path: Path, seed: int) -> None:
    chosen, place = random.Random(seed), new_place(tmp_path)
    number, size = chosen.choice([*CODES]), chosen.randrange(1, 12_000)
    played(place, [{"role": "agent", "replies": [{"text": "", "calls": [CALL]}]}])
    terminal = ogcode(place, "--mode", "yolo", "go on")
    terminal.until(lambda: len(terminal.raw) >= size or (place.folder / "begun").exists())
    os.kill(terminal.pid, number)
    assert terminal.ends() in (CODES[number], 128 + number), terminal.raw[-2000:]
    assert terminal.restored()
    assert noted(place) or not (place.folder / "begun").exists()
    assert not sleeping(NAP)


def test_escape_interrupts_a_model_that_hangs_and_leaves_a_note(tmp_path: Path) -> None:
    place = new_place(tmp_path)
    terminal = going(place, "streaming")
    terminal.child.send("\x1b")
    terminal.sees("/continue goes on")
    assert noted(place)
    terminal.child.send("\x04")
    assert terminal.ends() == 0


def test_a_turn_goes_on_after_the_process_was_stopped(tmp_path: Path) -> None:
    place = new_place(tmp_path)
    played(
        place,
        [
            {"role": "agent", "replies": [{"text": "one two three four", "delay": 0.2}]},
            {"role": "scribe", "replies": [{"error": "broken"}]},
        ],
    )
    terminal = ogcode(place, "go on")
    terminal.sees("one")
    os.kill(terminal.pid, signal.SIGSTOP)
    stat = Path(f"/proc/{terminal.pid}/stat")
    terminal.until(lambda: stat.read_text("utf-8").rpartition(")")[2].split()[0] == "T")
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.sees("three four")
    terminal.sees("done · ")
    terminal.child.send("\x04")
    assert terminal.ends() == 0


async def test_a_clock_that_jumps_a_day_ends_no_turn_and_answers_no_question() -> None:
    clock, stage = Clock(), Stage([waiting(TextDelta("one"))])
    app = Ogcode(stage, first_prompt="go on", clock=clock)
    async with app.run_test(size=(100, 30)) as pilot:
        await sees(pilot, "one")
        for jump in (86_400.0, -2 * 86_400.0):
            clock.now += jump
            await pilot.press("x")
            await sees(pilot, "> x")
            await pilot.press("backspace")
            assert app.turns.running
            assert "-" not in screen_text(app).partition("Esc")[0].splitlines()[-1]
        await pilot.press("escape")
        await until(pilot, lambda: not app.turns.running)
    assert [turn.outcome for turn in stage.ended] == ["interrupted"]


@pytest.mark.torture
@pytest.mark.skipif(not STRACE, reason="strace is not installed")
def test_keys_are_answered_while_the_disk_takes_its_time(tmp_path: Path) -> None:
    place = new_place(tmp_path)
    played(
        place,
        [
            {"role": "agent", "replies": [{"text": "it is done"}]},
            {"role": "scribe", "replies": [{"error": "broken"}]},
        ],
    )
    slow = "inject=fsync,fdatasync:delay_enter=400000"
    command = [str(STRACE), "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", slow, str(OGCODE)]
    terminal = Terminal(command, place.folder, place.environ)
    terminal.until(lambda: LIVE in terminal.raw)
    terminal.child.send("go\r")
    terminal.sees("it is done")
    for key in "БЖЯ":
        there = len(terminal.raw)
        terminal.child.send(key)
        terminal.sees(key, there)
    assert "done · " not in terminal.plain()
    terminal.sees("done · ")
    terminal.child.send("\x03\x04")
    assert terminal.ends() == 0
    end_scribe(place)
