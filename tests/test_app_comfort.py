"""What makes the app one's own: keys, themes, settings, the line at the bottom, calls; and help."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from stage import SIZE, STATUS, Stage, screen_text, sees, until
from stage_sessions import StagedSettings
from textual.app import App
from textual.binding import Binding
from textual.events import AppBlur, AppFocus, Key
from textual.message import Message
from textual.pilot import Pilot

from ogcode.agent.events import Emit
from ogcode.agent.settings.config import NOTIFY
from ogcode.tui.behind.keys import ACTIONS, OF_PROMPT, Keys, load_keys
from ogcode.tui.desks.desk import Ask, ModelLine, NotDone
from ogcode.tui.screen.actions.catalogue import COMMANDS
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.own_line import coloured
from ogcode.tui.screen.parser import Background, QuickParser
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.status import status_line
from ogcode.tui.screen.transcript import Transcript


@asynccontextmanager
async def running(stage: Stage) -> AsyncIterator[Pilot[int]]:
    app = Ogcode(stage)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.query(Transcript).first().children)
        yield pilot


async def send(pilot: Pilot[int], text: str) -> None:
    pilot.app.screen_stack[0].query_one(Prompt).put(text)
    await pilot.press("enter")


async def test_help_lists_keys_and_commands_scrolls_and_goes_with_any_key() -> None:
    keys = replace(Keys(), of={**Keys().of, "unfold": ("f5",)})
    async with running(Stage(settings=StagedSettings(keys=keys))) as pilot:
        await pilot.press("?")
        await sees(pilot, "Shift+Tab")
        await pilot.press("end")
        await sees(pilot, "/quit")
        await pilot.press("home")
        await sees(pilot, "F5")
        await pilot.press("x")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        assert pilot.app.query_one(Prompt).text == ""


async def test_the_palette_finds_a_command_by_letters_or_words_and_runs_it() -> None:
    async with running(Stage()) as pilot:
        await pilot.press("ctrl+p", *"sessions", "enter")
        await sees(pilot, "Go on with a session")
        await pilot.press("escape", "ctrl+p", *"renm", "enter")
        await until(pilot, lambda: pilot.app.screen_stack[0].query_one(Prompt).text == "/rename ")


def test_each_command_has_a_name_of_its_own() -> None:
    names = [name for each in COMMANDS for name in (each.name, *each.aliases)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


async def test_a_model_is_picked_by_what_is_known_of_it_or_typed_in_full() -> None:
    models = (ModelLine("ollama/a", "5.2GB; context 40,960; tools"), ModelLine("ollama/b", "3.3GB; vision"))
    silent = ("ollama does not answer; start it with `ollama serve`",)
    async with running(stage := Stage(named=models, silent=silent)) as pilot:
        await send(pilot, "/model")
        await sees(pilot, "context 40,960")
        assert silent[0] in screen_text(pilot.app)
        await pilot.press(*"vision", "enter")
        await sees(pilot, "from the next turn on: ollama/b")
        await send(pilot, "/model")
        await pilot.press(*"openai/x", "enter")
        await until(pilot, lambda: stage.state.model == "openai/x")


async def test_a_theme_is_shown_while_one_chooses_and_kept_once_chosen() -> None:
    async with running(stage := Stage()) as pilot:
        await send(pilot, "/theme")
        await sees(pilot, "high-contrast")
        await pilot.press("down")
        await until(pilot, lambda: pilot.app.theme == "ogcode-dark")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.theme == "ansi-dark")
        await send(pilot, "/theme")
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: stage.settings.changed == ["theme light"])
        assert (pilot.app.theme, pilot.app.ansi_color) == ("ogcode-light", False)
        await send(pilot, "/theme pink")
        await sees(pilot, "theme can't be pink")
        assert pilot.app.theme == "ogcode-light"


@pytest.mark.parametrize(("theme", "worn"), [("auto", "ansi-light"), ("ansi", "ansi-dark"), ("dark", "ogcode-dark")])
async def test_only_the_automatic_theme_goes_by_the_terminals_background(theme: str, worn: str) -> None:
    settings = StagedSettings()
    settings.change("theme", theme)
    async with running(Stage(settings=settings)) as pilot:
        pilot.app.post_message(Background(dark=False))
        await pilot.pause()
        assert pilot.app.theme == worn


def read(*pieces: str) -> list[Message]:
    parser = QuickParser()
    return [message for piece in pieces for message in (*parser.feed(piece), *parser.tick())]


@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
def test_what_the_terminal_says_of_its_background_is_no_typing_wherever_it_is_cut(end: str) -> None:
    said = f"\x1b]11;rgb:fdfd/f6f6/e3e3{end}"
    for cut in range(3, len(said)):
        found = read(f"a{said[:cut]}", f"{said[cut:]}b")
        assert [each.dark for each in found if isinstance(each, Background)] == [False]
        assert [each.key for each in found if isinstance(each, Key)] == ["a", "b"]


def test_a_paste_keeps_what_looks_like_it() -> None:
    [paste] = read("\x1b[200~\x1b]11;rgb:0/0/0\x07\x1b[201~")
    assert "rgb:0/0/0" in str(getattr(paste, "text", ""))


async def test_without_colours_none_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(Stage(settings=StagedSettings(theme="dark"))) as pilot:
        strips = [
            strip.apply_filter(each, pilot.app.screen.background_colors[1])
            for strip in pilot.app.screen._compositor.render_strips()
            for each in pilot.app._filters
            if each.enabled
        ]
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        assert styles
        assert all(style.color is None or style.color.is_default or _grey(style.color) for style in styles)


def _grey(colour: object) -> bool:
    triplet = getattr(colour, "triplet", None)
    return triplet is None or len(set(triplet)) == 1


def test_every_action_can_be_given_a_key() -> None:
    bound = {binding.id for binding in Ogcode.BINDINGS if isinstance(binding, Binding) and binding.id}
    assert bound | {*OF_PROMPT} == {*ACTIONS}


async def test_a_key_of_ones_own_does_it_and_the_usual_one_no_longer(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text('palette = ["f7", "alt+p"]\nhistory = "f8"\nnope = "f9"\n')
    async with running(Stage(settings=StagedSettings(keys=load_keys(tmp_path / "keys.toml")))) as pilot:
        await sees(pilot, "'nope'; there are")
        await pilot.press("ctrl+p", "ctrl+r")
        assert len(pilot.app.screen_stack) == 1
        for key, seen in (("f7", "Commands"), ("alt+p", "Commands"), ("f8", "Words of an earlier message")):
            await pilot.press(key)
            await sees(pilot, seen)
            await pilot.press("escape")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


async def test_settings_are_listed_and_set() -> None:
    async with running(stage := Stage()) as pilot:
        await send(pilot, "/config")
        await sees(pilot, "/config KEY VALUE sets one for good")
        await send(pilot, "/config vim on")
        await until(pilot, lambda: pilot.app.query_one(Prompt).vim)
        await send(pilot, "/config nonsense")
        await sees(pilot, "there is no setting nonsense")
        assert stage.settings.changed == ["vim on"]


async def test_the_line_is_asked_for_once_for_all_that_changed_meanwhile_and_shown_beside_the_mode() -> None:
    gate = asyncio.Event()
    stage = Stage()

    def write() -> None:
        stage.state = replace(stage.state, own=f"\x1b[1;31mline {stage.settings.asked}\x1b[0m")

    stage.settings = StagedSettings(write=write, gate=gate.wait)
    async with running(stage) as pilot:
        await until(pilot, lambda: stage.settings.asked == 1)
        for tokens in (1, 2, 3):
            stage.state = replace(stage.state, turn_tokens=tokens)
            assert isinstance(pilot.app, Ogcode)
            pilot.app.look()
        assert stage.settings.asked == 1
        gate.set()
        await sees(pilot, " SCRIPTED  ask · line 2")
        assert stage.settings.asked == 2


async def test_a_line_that_can_not_be_had_is_told_once_and_ogcodes_own_is_shown() -> None:
    def fail() -> None:
        raise NotDone("status_line.command failed with exit code 3")

    stage = Stage(settings=StagedSettings(write=fail))
    async with running(stage) as pilot:
        await until(pilot, lambda: [each.message for each in pilot.app._notifications])
        assert [each.message for each in pilot.app._notifications] == [
            "status_line.command failed with exit code 3; ogcode's own line is shown"
        ]
        assert "scripted/demo.toml · ask" in screen_text(pilot.app)


def test_of_a_line_only_its_colours_act() -> None:
    line = coloured(
        "\x1b[1;38;5;208mmain\x1b[22;39m \x1b]52;c;cGF3bmVk\x07[b]x[/b]\x1b[2J \x1b[38;2;1;2;300mz\x1b[m\u202e"
    )
    assert line.plain == "main [b]x[/b] z<U+202E>"
    assert [(line.plain[span.start : span.end], span.style) for span in line.spans] == [
        ("main", "bold #ff8700"),
        ("z", "#01022c"),
    ]


@pytest.mark.parametrize(
    ("changes", "width", "line"),
    [
        ({"sandbox": "ws", "used_tokens": 9000}, 100, "m · ask · sandbox ws · 27 % of 33k · memory 14 · main"),
        ({"sandbox": "ws", "used_tokens": 9000}, 44, "m · ask · 27 % of 33k · memory 14 · main"),
        ({"sandbox": "off"}, 100, "m · ask · no sandbox · memory 14 · main"),
        ({"own": "\x1b[32mmine\x1b[0m", "trusted": False}, 100, "ask · untrusted · mine"),
    ],
)
def test_the_status_line_tells_of_the_sandbox_and_the_window(changes: dict[str, object], width: int, line: str) -> None:
    status = replace(STATUS, model="m", scripted=False, **changes)  # type: ignore[arg-type]  # a table
    assert status_line(status, width).plain == line


@pytest.mark.parametrize("how", ["osc9", "off"])
async def test_somebody_who_looks_elsewhere_is_called_as_they_wish_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    settings = StagedSettings(notify=next(each for each in NOTIFY if each == how))
    going = asyncio.Event()

    async def play(emit: Emit, approve: Ask) -> None:
        await going.wait()

    async with running(Stage([play, play], settings=settings)) as pilot:
        app, written = pilot.app, heard(pilot.app, monkeypatch)
        assert isinstance(app, Ogcode)
        for away in (False, True):
            going.clear()
            await send(pilot, "go")
            await until(pilot, lambda: app.turns.running)
            pilot.app.post_message(AppBlur() if away else AppFocus())
            await pilot.pause()
            going.set()
            await until(pilot, lambda: not app.turns.running)
        assert written == {"osc9": ["\x1b]9;ogcode: the turn is over (done)\a"], "off": []}[how]


def heard(app: App[int], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keep what goes to the terminal beside the screen."""
    written = list[str]()
    assert app._driver is not None
    monkeypatch.setattr(app._driver, "write", written.append)
    return written
