"""The prompt as fingers know it: completion, history, keys of readline, drafts, the queue, own commands."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from stage import NOTE, SIZE, Clock, Stage, StagedPrompt, screen_text, sees, until, waiting
from textual import events
from textual.pilot import Pilot

from ogcode.agent.events import Emit, Steered
from ogcode.agent.model import ModelError
from ogcode.tui.desks.desk import Ask
from ogcode.tui.desks.prompt import EditorFailed, Ran
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.parser import QuickParser
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.suggestions import Suggestions

PATHS = ("src/", "src/main.py", "src/with space.py", "README.md")


@asynccontextmanager
async def at(prompt: StagedPrompt | None = None, stage: Stage | None = None) -> AsyncIterator[Pilot[int]]:
    app = Ogcode(stage or Stage(prompt=prompt or StagedPrompt()), clock=Clock())
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "ogcode" in screen_text(app))
        yield pilot


def area(pilot: Pilot[int]) -> Prompt:
    return pilot.app.screen_stack[0].query_one(Prompt)


def draft(pilot: Pilot[int]) -> str:
    return area(pilot).text


async def offered(pilot: Pilot[int], text: str) -> None:
    await until(pilot, lambda: (chosen := pilot.app.query_one(Suggestions).chosen) and chosen.shown == text)


COMPLETED = {
    ("see @mai", ("tab",)): "see @src/main.py ",
    ("see @mai", ("enter",)): "see @src/main.py ",
    ("(@read", ("tab", *"now")): "(@README.md now",
    ("@spac", ("tab",)): '@"src/with space.py" ',
    ("@src", ("tab", *"ma", "tab")): "@src/main.py ",
    ("@src", ("down", "tab")): "@src/main.py ",
}


async def test_a_file_is_completed_in_its_place() -> None:
    async with at(StagedPrompt(files=PATHS)) as pilot:
        found = dict[tuple[str, tuple[str, ...]], str]()
        for typed, keys in COMPLETED:
            area(pilot).put("")
            await pilot.press(*typed)
            for key in keys:
                if key in ("tab", "enter", "down"):
                    await until(pilot, lambda: pilot.app.query_one(Suggestions).chosen)
                await pilot.press(key)
            found[typed, keys] = draft(pilot)
        assert found == COMPLETED


async def test_of_a_command_that_is_typed_fast_all_letters_count() -> None:
    stage = Stage()
    async with at(stage=stage) as pilot:
        await pilot.press(*"/exp")
        await offered(pilot, "/export [kind] [file]")
        for key in ("r", "o", "t", "enter"):
            area(pilot).post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await sees(pilot, "there is no command /exprot; did you mean /export?")
        assert stage.sessions.done == []


async def test_a_path_that_is_whole_is_sent_by_enter() -> None:
    stage = Stage(prompt=StagedPrompt(files=PATHS))
    async with at(stage=stage) as pilot:
        await pilot.press(*"@README.md")
        await offered(pilot, "README.md")
        await pilot.press("enter")
        await until(pilot, lambda: stage.asked == ["@README.md"])


async def test_what_is_no_path_is_left_alone() -> None:
    stage = Stage(prompt=StagedPrompt(files=PATHS))
    typed = ["me@mai", "@dataclass", "a\\@mai"]
    async with at(stage=stage) as pilot:
        for each in typed:
            await pilot.press(*each, "enter")
            await until(pilot, lambda: stage.asked[-1:] == [each])  # noqa: B023  # it is there before the next
        assert stage.asked == typed


async def test_escape_closes_the_list_and_keeps_the_turn() -> None:
    stage = Stage([waiting()], prompt=StagedPrompt(files=PATHS))
    async with at(stage=stage) as pilot:
        await pilot.press(*"go", "enter", *"@mai")
        await offered(pilot, "src/main.py")
        await pilot.press("escape")
        assert pilot.app.query_one(Suggestions).chosen is None
        assert stage.ended == []
        assert draft(pilot) == "@mai"


async def test_the_keys_of_readline_work_while_something_is_offered() -> None:
    async with at(StagedPrompt(files=PATHS)) as pilot:
        await pilot.press(*"@mai")
        await offered(pilot, "src/main.py")
        await pilot.press("ctrl+u")
        assert draft(pilot) == ""
        await until(pilot, lambda: pilot.app.query_one(Suggestions).chosen is None)
        await pilot.press("ctrl+y")
        assert draft(pilot) == "@mai"


async def test_letters_that_begin_no_command_find_one_that_holds_them() -> None:
    async with at() as pilot:
        await pilot.press(*"/mdl")
        await offered(pilot, "/model [name]")
        await pilot.press("enter")
        assert draft(pilot) == "/model "


async def test_a_name_with_an_escape_in_it_is_shown_as_text() -> None:
    async with at(StagedPrompt(files=("a[/]b", "c[@click=app.quit]d"))) as pilot:
        await pilot.press("@")
        await sees(pilot, "c[@click=app.quit]d")


READLINE = {
    ("ctrl+a", "X"): "Xone two three",
    ("ctrl+w", "X"): "one two X",
    ("ctrl+w", "ctrl+w", "ctrl+y"): "one two three",
    ("ctrl+a", "ctrl+k"): "",
    ("ctrl+a", "ctrl+k", "ctrl+y", "ctrl+y"): "one two threeone two three",
    ("alt+b", "ctrl+u", "ctrl+e", "ctrl+y"): "threeone two ",
    ("ctrl+a", "alt+d", "X"): "X two three",
    ("ctrl+a", "alt+f", "X"): "oneX two three",
    ("ctrl+left", "ctrl+left", "X"): "one Xtwo three",
    ("ctrl+a", "ctrl+right", "ctrl+e", "X"): "one two threeX",
    ("alt+backspace", "X"): "one two X",
    ("shift+enter", "f", "ctrl+a", "ctrl+u"): "one two threef",
    ("shift+left", "ctrl+w"): "one two thre",
}


async def test_the_keys_of_readline() -> None:
    async with at() as pilot:
        found = dict[tuple[str, ...], str]()
        for keys in READLINE:
            area(pilot).put("one two three")
            await pilot.press(*keys)
            found[keys] = draft(pilot)
        assert found == READLINE


async def test_control_r_finds_an_earlier_message_and_puts_it_into_the_prompt() -> None:
    past = ["fix the parser", "add a test\nfor the lexer", "fix the parser", "write docs"]
    async with at(StagedPrompt(past)) as pilot:
        await pilot.press("ctrl+r")
        await sees(pilot, "write docs")
        assert screen_text(pilot.app).count("fix the parser") == 1
        await pilot.press(*"the ", "ctrl+r", "tab")
        await until(pilot, lambda: draft(pilot) == "add a test\nfor the lexer")


async def test_a_search_that_is_left_keeps_the_draft() -> None:
    async with at(StagedPrompt(["one"])) as pilot:
        await pilot.press(*"mine", "ctrl+r")
        await sees(pilot, "Ctrl+R older")
        await pilot.press(*"zzz")
        await sees(pilot, "no message of this project holds that")
        await pilot.press("escape")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        assert draft(pilot) == "mine"


async def test_a_command_from_the_history_offers_nothing() -> None:
    async with at(StagedPrompt(["first", "/model"])) as pilot:
        await pilot.press("up")
        assert draft(pilot) == "/model"
        await pilot.pause()
        await pilot.press("up")
        assert draft(pilot) == "first"


async def test_a_draft_is_kept_as_it_is_typed_and_forgotten_once_sent() -> None:
    prompt = StagedPrompt()
    async with at(prompt) as pilot:
        await pilot.press("x")
        await until(pilot, lambda: prompt.kept)
        await pilot.press("y", "enter")
        await sees(pilot, "echo: xy")
    assert prompt.kept[0] == "x"
    assert prompt.kept[-1] == ""


async def test_what_was_not_sent_last_time_comes_back() -> None:
    async with at(StagedPrompt(left="half a thought")) as pilot:
        await sees(pilot, "that you had not sent last time is back")
        assert draft(pilot) == "half a thought"


async def test_a_picture_is_pasted_from_the_clipboard() -> None:
    async with at(StagedPrompt(pasted="/tmp/a/pasted-1.png")) as pilot:
        await pilot.press(*"see ", "ctrl+v")
        await until(pilot, lambda: draft(pilot) == "see @/tmp/a/pasted-1.png ")


async def test_a_picture_that_is_dropped_becomes_a_path_to_attach(tmp_path: Path) -> None:
    picture = tmp_path / "my shot.png"
    picture.touch()
    async with at() as pilot:
        for pasted in (f"'{picture}'", str(picture).replace(" ", "\\ "), f"file://{str(picture).replace(' ', '%20')}"):
            area(pilot).put("")
            area(pilot).post_message(events.Paste(pasted))
            await until(pilot, lambda: draft(pilot) == f'@"{picture}" ')
        area(pilot).put("")
        area(pilot).post_message(events.Paste("/not/there.png"))
        await until(pilot, lambda: draft(pilot) == "/not/there.png")


async def test_the_editor_changes_the_draft() -> None:
    async with at() as pilot:
        for keys in (("ctrl+g",), ("ctrl+x", "ctrl+e")):
            area(pilot).put("abc")
            await pilot.press(*keys)
            await until(pilot, lambda: draft(pilot) == "ABC")


async def test_an_editor_that_fails_says_why_and_leaves_the_draft() -> None:
    def fail(_: str) -> str:
        raise EditorFailed("nano ended with exit code 1; the message is as it was")

    async with at(StagedPrompt(written=fail)) as pilot:
        await pilot.press(*"abc", "ctrl+g")
        await sees(pilot, "nano ended with exit code 1")
        assert draft(pilot) == "abc"


async def test_a_question_mark_alone_shows_the_keys() -> None:
    async with at() as pilot:
        await pilot.press("?")
        await sees(pilot, "Shift+Tab")
        await pilot.press("escape", "w", "?")
        assert draft(pilot) == "w?"


async def test_what_steers_waits_for_the_next_step_and_is_then_part_of_the_turn() -> None:
    go_on, prompt = asyncio.Event(), StagedPrompt()

    async def play(emit: Emit, approve: Ask) -> None:
        await go_on.wait()
        emit(Steered(prompt.said.pop()))
        await asyncio.Event().wait()

    async with at(stage=Stage([play], prompt=prompt)) as pilot:
        await pilot.press(*"go", "enter", *"only the tests", "ctrl+s")
        await sees(pilot, "steering: only the tests")
        assert draft(pilot) == ""
        go_on.set()
        await until(pilot, lambda: "steering:" not in screen_text(pilot.app))
        assert "only the tests" in screen_text(pilot.app)


async def test_what_came_too_late_to_steer_is_the_next_message() -> None:
    go_on = asyncio.Event()

    async def play(emit: Emit, approve: Ask) -> None:
        await go_on.wait()

    stage = Stage([play])
    async with at(stage=stage) as pilot:
        await pilot.press(*"go", "enter", *"later", "enter", *"now", "ctrl+s")
        await sees(pilot, "steering: now")
        go_on.set()
        await until(pilot, lambda: stage.asked == ["go", "now", "later"])


async def test_steering_without_a_turn_sends() -> None:
    stage = Stage()
    async with at(stage=stage) as pilot:
        await pilot.press(*"go", "ctrl+s")
        await until(pilot, lambda: stage.asked == ["go"])


async def test_a_failed_turn_gives_back_what_was_to_steer_it() -> None:
    go_on = asyncio.Event()

    async def play(emit: Emit, approve: Ask) -> None:
        await go_on.wait()
        raise ModelError("no")

    async with at(stage=Stage([play])) as pilot:
        await pilot.press(*"go", "enter", *"now", "ctrl+s", *"mine")
        await sees(pilot, "steering: now")
        go_on.set()
        await until(pilot, lambda: draft(pilot) == "now\n\nmine")


@pytest.mark.parametrize(("typed", "told"), [("!make test", True), ("!!make test", False)])
async def test_a_command_of_ones_own_runs_beside_and_shows_its_output(typed: str, *, told: bool) -> None:
    async def run(feed: Callable[[bytes], None]) -> Ran:
        feed(b"one\n\x1b[31mtwo [/]\xe2\x82")
        feed(b"\xac\n")
        return Ran("one\ntwo [/]\N{EURO SIGN}", failed=False)

    stage = Stage(prompt=StagedPrompt(run_as=run))
    async with at(stage=stage) as pilot:
        await pilot.press(*typed, "enter")
        await sees(pilot, "✓ 2 lines")
        assert "two [/]€" in screen_text(pilot.app)
        assert ("goes with the message that follows" in screen_text(pilot.app)) == told
        assert stage.prompt.ran == [("make test", told)]
        assert stage.asked == []


async def test_a_command_shows_its_output_while_it_runs_and_escape_ends_it_alone() -> None:
    async def run(feed: Callable[[bytes], None]) -> Ran:
        for number in range(1_000):
            feed(b"line %d\n" % number)
        await asyncio.Event().wait()
        return Ran("", failed=False)

    stage = Stage([waiting()], prompt=StagedPrompt(run_as=run))
    async with at(stage=stage) as pilot:
        await pilot.press(*"go", "enter", *"!yes", "enter")
        await sees(pilot, "line 999")
        assert "line 980" not in screen_text(pilot.app)
        await pilot.press("escape")
        await sees(pilot, "[stopped by the user]")
        assert stage.ended == []
        await pilot.press("escape")
        await sees(pilot, NOTE)


async def test_a_command_that_cannot_start_says_why() -> None:
    async def run(feed: Callable[[bytes], None]) -> Ran:
        raise OSError(7, "Argument list too long")

    async with at(StagedPrompt(run_as=run)) as pilot:
        await pilot.press(*"!x", "enter")
        await sees(pilot, "it can't be started: [Errno 7] Argument list too long")


@pytest.mark.parametrize("step", [1, 9, 11, 100, 10_000])
def test_a_paste_is_one_event_however_it_comes(step: int) -> None:
    inside = "two\nlines \x1b[A\x1b[200~ and more " * 9
    typed = f"\x1b[200~{inside}\x1b[201~c\x1b[A\x1b[200~\x1b[201~"
    parser = QuickParser()
    got = [event for start in range(0, len(typed), step) for event in parser.feed(typed[start : start + step])]
    assert [getattr(event, "key", getattr(event, "text", "")) for event in got] == [inside, "c", "up", ""]


PASTED = "\n".join(f"line {number}" for number in range(40))
TOKEN = "[pasted 1: 40 lines]"
WHOLE = {
    ("backspace", "Z"): "see Z",
    ("ctrl+w", "Z"): "see Z",
    ("left", "left", "Z"): f"see {TOKEN}Z",
    ("ctrl+left", "delete", "Z"): "see Z",
    ("ctrl+w", "ctrl+y", "Z"): f"see {TOKEN}Z",
}


async def test_no_key_takes_a_part_of_a_paste() -> None:
    async with at() as pilot:
        found = dict[tuple[str, ...], str]()
        for keys in WHOLE:
            area(pilot).put("see ")
            area(pilot).paste(PASTED)
            await pilot.press(*keys)
            found[keys] = area(pilot).whole.replace(PASTED, TOKEN)
        assert found == WHOLE


async def test_a_sent_paste_comes_back_as_one_piece_and_what_was_written_as_it_was() -> None:
    stage = Stage(prompt=StagedPrompt([PASTED]))
    async with at(stage=stage) as pilot:
        await pilot.press("up")
        assert draft(pilot) == PASTED
        await pilot.press("ctrl+c", *"see ")
        area(pilot).paste(PASTED.upper())
        await pilot.press("enter")
        await until(pilot, lambda: stage.asked == [f"see {PASTED.upper()}"])
        await pilot.press("up")
        assert draft(pilot) == f"see {TOKEN}"


async def test_the_line_one_writes_on_is_in_view_however_many_there_are() -> None:
    async with at() as pilot:
        area(pilot).put(PASTED)
        await until(pilot, lambda: area(pilot).size.height > 5)
        await pilot.press("ctrl+j")
        assert area(pilot).cursor_screen_offset.y in range(area(pilot).region.y, area(pilot).region.bottom)


async def test_what_is_written_after_the_first_control_c_is_no_reason_to_leave() -> None:
    async with at() as pilot:
        await pilot.press("a", "ctrl+c", "b", "ctrl+c")
        assert draft(pilot) == ""
        assert pilot.app.is_running
        await pilot.press("ctrl+c")
        await until(pilot, lambda: pilot.app.return_code == 0)


async def test_a_long_queue_says_how_long_and_how_to_change_its_last() -> None:
    async with at(stage=Stage([waiting()])) as pilot:
        await pilot.press(*"go", "enter")
        for number in range(7):
            area(pilot).put(f"{number}{'x' * 99}")
            await pilot.press("enter")
        await pilot.press(*"now", "ctrl+s")
        await sees(pilot, "… 4 more")
        assert "steering: now" in screen_text(pilot.app)
        assert "queued: 3" not in screen_text(pilot.app)
        assert "queued: 6xxx" in screen_text(pilot.app)
        assert "…  · Up changes it" in screen_text(pilot.app)


async def test_the_chosen_one_is_in_view_in_a_low_terminal() -> None:
    app = Ogcode(Stage(), clock=Clock())
    async with app.run_test(size=(60, 12)) as pilot:
        await until(pilot, lambda: "ogcode" in screen_text(app))
        await pilot.press("/", *["down"] * 6)
        await until(pilot, lambda: (chosen := app.query_one(Suggestions).chosen) and chosen.shown in screen_text(app))


async def test_a_search_where_nothing_was_sent_yet_says_so() -> None:
    async with at() as pilot:
        await pilot.press("ctrl+r")
        await sees(pilot, "nothing was sent in this project yet")
