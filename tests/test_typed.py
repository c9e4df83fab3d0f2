"""What a terminal sends, as the app understands it: keys in all their forms, pastes that nothing marks."""

import time
from collections.abc import Iterable

import pytest
from textual.events import CursorPosition, Key, Paste
from textual.message import Message

from ogcode.tui.screen.parser import QuickParser

KEYS = {
    "enter": ("\r", "\x1b[13u", "\x1b[13;129u", "\x1bOM", "\x1b[57414u"),
    "shift+enter": ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;130u"),
    "alt+enter": ("\x1b[13;3u", "\x1b[27;3;13~"),
    "ctrl+enter": ("\x1b[13;5u", "\x1b[27;5;13~"),
    "ctrl+j": ("\n", "\x1b[106;5u", "\x1b[27;5;106~"),
    "ctrl+c": ("\x03", "\x1b[99;5u", "\x1b[27;5;99~", "\x1b[99;5:1u"),
    "escape": ("\x1b", "\x1b[27u", "\x1b[27;1;27~"),
    "shift+tab": ("\x1b[Z", "\x1b[9;2u", "\x1b[27;2;9~"),
    "alt+d": ("\x1bd", "\x1b[100;3u", "\x1b[27;3;100~"),
    "alt+b": ("\x1b[98;3u", "\x1b[27;3;98~"),
    "alt+backspace": ("\x1b[127;3u", "\x1b[27;3;127~"),
    "alt+left": ("\x1b[1;3D", "\x1b\x1b[D", "\x1b\x1bOD"),
    "alt+delete": ("\x1b[3;3~", "\x1b\x1b[3~"),
    "question_mark": ("?", "\x1b[63;2u", "\x1b[27;2;63~", "\x1b[47:63;2u"),
    "A": ("A", "\x1b[97;2;65u", "\x1b[27;2;65~", "\x1b[97;2u"),
    "space": (" ", "\x1b[32;2u", "\x1b[27;2;32~"),
    "home": ("\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~"),
    "up": ("\x1b[A", "\x1bOA"),
    "": ("\x1b[97;1:3u", "\x1b[99999999999u", "\x1b[97;;99999999999u"),
}
"""What one key sends in the terminals that there are; the last is one that was let go, and two that are none."""


class Time:
    """Stands still but for what is waited."""

    waited = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.waited


def typed(*reads: str, at_once: bool = True) -> list[str]:
    """Read piece by piece, then wait; give keys by their names and pastes in quotation marks."""
    clock = Time()
    parser = QuickParser(clock=clock)
    found = list[str]()
    for read in reads:
        found += _named([*parser.feed(read), *parser.tick()])
        clock.waited += 0 if at_once else 1
    clock.waited += 1
    return found + _named(parser.tick())


def _named(messages: Iterable[Message]) -> list[str]:
    return [
        each.key if isinstance(each, Key) else f'"{each.text}"' if isinstance(each, Paste) else type(each).__name__
        for each in messages
        if isinstance(each, Key | Paste | CursorPosition)
    ]


def test_a_key_is_the_same_in_every_terminal() -> None:
    found = {key: [typed(each) for each in sent] for key, sent in KEYS.items()}
    assert found == {key: [[key] if key else []] * len(sent) for key, sent in KEYS.items()}


def test_what_held_shift_typed_is_text() -> None:
    assert [key.character for key in QuickParser().feed("\x1b[27;2;63~\x1b[97;2u") if isinstance(key, Key)] == [
        "?",
        "A",
    ]


LINES = "".join(f"line {number} of what was copied\r" for number in range(400))


@pytest.mark.parametrize("step", [33, 4_095, 4_096])
def test_lines_that_come_at_once_are_a_paste_though_nothing_marks_it(step: int) -> None:
    reads = [LINES[start : start + step] for start in range(0, len(LINES), step)]
    assert typed(*reads) == [f'"{LINES}"']


def test_an_answer_of_the_terminal_in_the_middle_of_a_paste_is_no_part_of_it() -> None:
    reads = (LINES[:4_000] + "\x1b[7;1R" + LINES[4_000:4_100] + "\x1b[", "7;1R" + LINES[4_100:])
    assert typed(*reads) == ["CursorPosition", "CursorPosition", f'"{LINES}"']


def test_an_answer_of_the_terminal_holds_no_key_up() -> None:
    clock = Time()
    parser = QuickParser(clock=clock)
    assert _named(parser.feed("\x1b")) == []
    clock.waited = 0.03
    assert _named(parser.feed("\x1b[7;1R")) == ["CursorPosition"]
    clock.waited = 0.06
    assert _named(parser.tick()) == ["escape"]


def test_a_line_with_its_enter_is_typed_however_fast() -> None:
    line = "a message that a program types, all of it at once"
    assert typed(f"{line}\r")[-2:] == ["e", "enter"]
    assert typed(f"{line}\r\n")[-2:] == ["e", "enter"]
    assert typed("yes\rno\r") == [*"yes", "enter", *"no", "enter"]
    assert typed(line * 9 + "\r") == [f'"{line * 9}"', "enter"]


def test_a_paste_that_holds_its_own_end_is_a_paste_up_to_the_last_one() -> None:
    assert typed("\x1b[200~one\x1b[201~\rrm -r", "x\r\x1b[20", "1~") == ['"one"', '"\rrm -rx\r"']


def test_enter_right_behind_a_paste_sends_it() -> None:
    assert typed("\x1b[200~one\rtwo\x1b[201~\r") == ['"one\rtwo"', "enter"]
    assert typed("\x1b[200~one\rtwo\x1b[201~", "\r", at_once=False) == ['"one\rtwo"', "enter"]


def test_a_mark_that_is_cut_is_one() -> None:
    assert typed(*"\x1b[200~one\rtwo\x1b[201~", at_once=True) == ['"one\rtwo"']
    assert typed("\x1b", "x", at_once=False) == ["escape", "x"]
