"""The keys of vi in the prompt."""

import pytest
from stage import SIZE, Clock, Stage, StagedPrompt, screen_text, sees, until, waiting

from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.prompt import Prompt

TEXT = "one two, three\n  four\nfive"

CASES = [
    ("ggx", "ne two, three\n  four\nfive"),
    ("gg3x", " two, three\n  four\nfive"),
    ("gg0dw", "two, three\n  four\nfive"),
    ("ggd2w", ", three\n  four\nfive"),
    ("gg2dw", ", three\n  four\nfive"),
    ("ggwcwX", "one X, three\n  four\nfive"),
    ("ggwwiX", "one twoX, three\n  four\nfive"),
    ("ggeaX", "oneX two, three\n  four\nfive"),
    ("gg$bD", "one two, \n  four\nfive"),
    ("gg$dw", "one two, thre\n  four\nfive"),
    ("ggjIX", "one two, three\n  Xfour\nfive"),
    ("ggj^iX", "one two, three\n  Xfour\nfive"),
    ("ggj0iX", "one two, three\nX  four\nfive"),
    ("ggAX", "one two, threeX\n  four\nfive"),
    ("ggdd", "  four\nfive"),
    ("gg2dd", "five"),
    ("gg9dd", ""),
    ("Gdd", "one two, three\n  four"),
    ("ggddp", "  four\none two, three\nfive"),
    ("ggyyGp", "one two, three\n  four\nfive\none two, three"),
    ("ggjyyP", "one two, three\n  four\n  four\nfive"),
    ("ggdwp", "tone wo, three\n  four\nfive"),
    ("ggyw$p", "one two, threeone \n  four\nfive"),
    ("ggddu", TEXT),
    ("ggjccX", "one two, three\nX\nfive"),
    ("ggCX", "X\n  four\nfive"),
    ("ggoX", "one two, three\nX\n  four\nfive"),
    ("GOX", "one two, three\n  four\nX\nfive"),
    ("ggdj", "five"),
    ("GdggX", ""),
    ("ggllhrx", "oe two, three\n  four\nfive"),
    ("2GiX", "one two, three\nX  four\nfive"),
    ("ggdyx", "ne two, three\n  four\nfive"),
]


async def test_the_keys_of_vi() -> None:
    app = Ogcode(Stage(prompt=StagedPrompt(vim=True)), clock=Clock())
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "ogcode" in screen_text(app))
        prompt = app.query_one(Prompt)
        vim = prompt.vim
        assert vim
        found = dict[str, str]()
        for keys, _ in CASES:
            prompt.put(TEXT)
            prompt.history.checkpoint()
            vim.press("escape", None)
            for key in keys:
                if not vim.press(key, key):
                    prompt.insert(key)
            found[keys] = prompt.text
            vim.insert()
        assert found == dict(CASES)


async def test_escape_leaves_insert_mode_before_it_interrupts_and_enter_begins_anew() -> None:
    stage = Stage([waiting()], prompt=StagedPrompt(vim=True))
    app = Ogcode(stage, clock=Clock())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*"go", "escape", "enter")
        await until(pilot, lambda: stage.asked == ["go"])
        await pilot.press(*"xyz", "escape")
        await sees(pilot, "N xyz")
        assert stage.ended == []
        await pilot.press("escape")
        await until(pilot, lambda: stage.ended)
        assert app.query_one(Prompt).text == "xyz"


@pytest.mark.parametrize("typed", ["/vim"])
async def test_the_mode_is_switched_by_a_command(typed: str) -> None:
    app = Ogcode(Stage(), clock=Clock())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*typed, "enter")
        await sees(pilot, "the keys of vi are on")
        await pilot.press(*"abc", "escape", "x")
        assert app.query_one(Prompt).text == "ab"
        app.query_one(Prompt).put("")
        await pilot.press("i", *typed, "enter")
        await sees(pilot, "the keys of vi are off")
