"""Markdown as lines: nothing is lost at any width, and a copy of it is what a person would write."""

import io

import pytest
from rich.console import Console
from textual.content import Content

from ogcode.tui.screen.document import laid_out

TABLE = """| file | what was changed in it, and why | lines | owner |
|---|---|---:|---|
| internal/dispatch/retry_with_backoff.go | the gateway gives up after a minute | 1,234 | platform |
| `日本語/とても長い名前のファイル.py` | **[x]** | 3 | me |
"""


def lines_of(text: str, width: int) -> list[Content]:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    return laid_out(text, width, console, dark=True)


def plain(text: str, width: int = 80) -> list[str]:
    return [line.plain for line in lines_of(text, width)]


@pytest.mark.parametrize("width", [120, 72, 40, 20, 9])
def test_a_table_loses_no_character_at_any_width(width: int) -> None:
    lines = lines_of(TABLE, width)
    assert max(line.cell_length for line in lines) <= width
    letters = {letter: TABLE.replace("---:", "").count(letter) for letter in "abcdefghwy0123456789語名_"}
    shown = "".join(line.plain for line in lines)
    assert {letter: shown.count(letter) for letter in letters if shown.count(letter) < letters[letter]} == {}


def test_a_table_that_is_too_wide_is_told_row_by_row() -> None:
    assert plain(TABLE, 40)[:4] == [
        "file:",
        "internal/dispatch/retry_with_backoff.go",
        "what was changed in it, and why: the",
        "gateway gives up after a minute",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see <https://a.org/x> now", "see https://a.org/x now"),
        ("[https://a.org](https://a.org)", "https://a.org"),
        ("write <me@a.org>", "write me@a.org"),
        ("the [docs](https://a.org/%C3%A4)", "the docs (https://a.org/%C3%A4)"),
        ("a ![plan](plan.png) of it", "a plan (plan.png) of it"),
        ("![](plan.png)", "plan.png"),
        ("[![built](https://a.org/b.svg)](https://ci.org)", "built (https://ci.org)"),
        ("`[x](y)` and <b>[z]</b>", "[x](y) and <b>[z]</b>"),
    ],
)
def test_an_address_is_told_once_and_a_picture_by_its_name(text: str, shown: str) -> None:
    assert plain(text) == [shown]


def test_a_list_keeps_its_numbers_as_they_are_written() -> None:
    text = "9. nine\n10. ten goes on and on\n    - *deep*\n\n---\n\nend"
    assert plain(text, 16) == [" 9. nine", "10. ten goes on", "    and on", "     • deep", "", "─" * 16, "", "end"]


def test_a_copy_has_no_blanks_at_the_end_of_lines() -> None:
    text = f"# Head\n\nwords\n\n{TABLE}\n> quoted\n\n1. one\n\n```sh\nls  \n```\n\n```\nplain\n```"
    assert [line for line in plain(text, 60) if line != line.rstrip()] == []


def test_code_of_no_known_language_is_told_from_prose() -> None:
    prose, _, code = lines_of("words\n\n```nolanguage\nmake [test]\n```", 40)
    assert (code.plain, bool(code.spans), bool(prose.spans)) == ("make [test]", True, False)
