import time

import pytest

from ogcode.agent.clean import clean, fold_returns

ESC = "\x1b"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain\ttext\näöü 漢字 🙂", "plain\ttext\näöü 漢字 🙂"),
        (f"{ESC}[1;31mred{ESC}[0m", "red"),
        (f"{ESC}[38:2:1:2:3mcolour{ESC}[m", "colour"),
        (f"{ESC}[2J{ESC}[?1049l{ESC}cgone", "gone"),
        (f"{ESC}]0;title\x07text", "text"),
        (f"{ESC}]52;c;ZXZpbA==\x07text", "text"),
        (f"{ESC}]52;c;ZXZpbA=={ESC}\\text", "text"),
        (f"{ESC}]8;;https://evil.test{ESC}\\click{ESC}]8;;{ESC}\\", "click"),
        (f"{ESC}]8;;https://evil.test", "8;;https://evil.test"),
        (f"{ESC}]52;c;never closed\nnext line", "52;c;never closed\nnext line"),
        (f"{ESC}P1$r0m{ESC}\\dcs", "dcs"),
        (f"{ESC}_apc{ESC}\\{ESC}^pm{ESC}\\{ESC}Xsos{ESC}\\", ""),
        (f"{ESC}(B{ESC}=charset", "charset"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x9d52;c;QQ\x9ctext", "text"),
        ("\x9d52;c;QQ", "\ufffd52;c;QQ"),
        (f"{ESC}{ESC}[0m]52;c;QQ\x07", "]52;c;QQ\ufffd"),
        (f"end{ESC}", "end"),
        ("nul\0bell\x07back\x08del\x7f", "nul\ufffdbell\ufffdback\ufffddel\ufffd"),
        ("one\r\ntwo\rthree", "one\ntwo\ufffdthree"),
        ("rm\u202ea\u2066b\u200bc", "rm<U+202E>a<U+2066>b<U+200B>c"),
        ("tag\U000e0041\U000e007f", "tag<U+E0041><U+E007F>"),
        ("soft\u00adhyphen\ufeffbom\u2028line", "soft<U+00AD>hyphen<U+FEFF>bom<U+2028>line"),
        ("ls\u00a0-la", "ls<U+00A0>-la"),
        ("half \ud83d pair \udcff", "half \ufffd pair \ufffd"),
        ("[@click=app.quit]x[/] [/foo]", "[@click=app.quit]x[/] [/foo]"),
    ],
)
def test_text_is_shown_without_what_acts_or_hides(given: str, shown: str) -> None:
    assert clean(given) == shown


@pytest.mark.parametrize("prose", [True, False])
def test_cleaned_text_has_nothing_left_to_clean(prose: bool) -> None:
    every = "".join(chr(code) + f"{chr(code)}[1m" for code in range(0x3000)) + f"{ESC}]{ESC}[{ESC}P"
    once = clean(every, prose=prose)
    assert clean(once, prose=prose) == once
    assert not any(char in once for char in "\x1b\x9b\x9d\x07\x90\r")
    once.encode()


def test_prose_keeps_emoji_together_but_not_what_hides() -> None:
    assert (
        clean("👨\u200d👩\u200d👧 ✔\ufe0f 1\u00a0km \u200b", prose=True)
        == "👨\u200d👩\u200d👧 ✔\ufe0f 1\u00a0km <U+200B>"
    )


@pytest.mark.parametrize("opener", [f"{ESC}]", f"{ESC}[", "\x9d", f"{ESC}P0", "\x9b1;", ESC, "\x9da"])
def test_a_flood_of_openers_is_cleaned_in_linear_time(opener: str) -> None:
    started = time.process_time()
    clean(opener * (1_000_000 // len(opener)))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("a\r\nb\r\n", "a\nb\n"),
        (f"10%\r{ESC}[K50%\r{ESC}[K", "50%"),
        ("|\b/\b-\bok", "ok"),
        ("N\bNA\bAME", "NAME"),
        ("plain", "plain"),
    ],
)
def test_a_progress_bar_is_folded_to_its_last_state(given: str, shown: str) -> None:
    assert clean(fold_returns(given)) == shown
