import pytest

from ogcode.agent.index.reading import Entry
from ogcode.librarian.citations import cite
from ogcode.librarian.library import Opened

A, B = "2026-09-12T091512Z--3f8c21aa", "2026-09-13T101512Z--77aa00bb"
UNKNOWN = "2026-01-01T000000Z--ffffffff"


def opened(note: str, section: str, title: str = "Retry fix") -> Opened:
    entry = Entry(
        f"memory/{note}--x.md", note, title, (), "", "2026-09-12T09:15:12Z", 1, "done", "extract", "own", False
    )
    return Opened(entry, section)


SHOWN = [opened(A, "Outcome"), opened(A, "What was done"), opened(B, "")]
ONE, TWO, THREE = f"[[{A}#Outcome]]", f"[[{A}#What was done]]", f"[[{B}]]"

CITED = {
    "Five [1].": f"Five {ONE}.",
    "Five.[1]": f"Five.{ONE}",
    "Five [1, 2] and [3].": f"Five {ONE} {TWO} and {THREE}.",
    "Five [1; 3].": f"Five {ONE} {THREE}.",
    "Five [1-3].": f"Five {ONE} {TWO} {THREE}.",
    "Five [3–1].": f"Five {ONE} {TWO} {THREE}.",
    "Five [1][2].": f"Five {ONE} {TWO}.",
    "Five [1] [1].": f"Five {ONE}.",
    "Five [[1]].": f"Five {ONE}.",
    "Five [^1].": f"Five {ONE}.",
    "Five **[2]**.": f"Five **{TWO}**.",
    "Five [1](https://evil.test/?q=x).": f"Five {ONE}.",
    "Five [2](#what).": f"Five {TWO}.",
    "[1]: the source": f"{ONE}: the source",
    f"Five [[{A}#outcome]].": f"Five {ONE}.",
    f"Five [[{A}--x.md#Outcome]].": f"Five {ONE}.",
    f"Five [[{B}#Retry fix]].": f"Five {THREE}.",
    f"Five [Source: [[{A}#Outcome]]].": f"Five [Source: {ONE}].",
    f"Five [{A}#Outcome].": f"Five {ONE}.",
    f"Five [{A}#Outcome, {B}].": f"Five {ONE} {THREE}.",
    f"Five ({A}#What was done).": f"Five ({TWO}).",
    f"Five [1] {A}#Outcome (2026-09-12, done)": f"Five {ONE} (2026-09-12, done)",
    f"Five `[[{A}#Outcome]]`.": f"Five {ONE}.",
    f"Five `{A}#Outcome`.": f"Five {ONE}.",
    "```\nFive [1].\n```": f"Five {ONE}.",
}


@pytest.mark.parametrize("said", CITED)
def test_a_handle_or_a_link_to_what_was_opened_becomes_its_link(said: str) -> None:
    text, cited = cite(said, SHOWN)
    assert text == CITED[said]
    assert cited


UNVERIFIED = {
    "Five [4].": "Five [unverified: 4].",
    "Five [0].": "Five [unverified: 0].",
    "Five [[9]].": "Five [unverified: 9].",
    f"Five [[{UNKNOWN}#Outcome]].": f"Five [unverified: {UNKNOWN}].",
    f"Five [[{A}#Invented]].": f"Five [unverified: {A}].",
    f"Five {UNKNOWN}#Outcome.": f"Five [unverified: {UNKNOWN}].",
    f"Five [{UNKNOWN}].": f"Five [unverified: {UNKNOWN}].",
    "Five [[notes/plan]].": "Five [unverified: notes/plan].",
    f"Five `[[{UNKNOWN}#Outcome]]`.": f"Five [unverified: {UNKNOWN}].",
    f"```sh\n[[{UNKNOWN}#Outcome]]\n```\nFive": f"```sh\n[unverified: {UNKNOWN}]\n```\nFive",
}


@pytest.mark.parametrize("said", UNVERIFIED)
def test_a_citation_of_what_was_never_opened_is_marked(said: str) -> None:
    assert cite(said, SHOWN) == (UNVERIFIED[said], [])


def test_of_a_range_that_goes_too_far_the_rest_is_marked() -> None:
    assert cite("Five [2-9].", SHOWN)[0] == f"Five {TWO} {THREE} [unverified: 4-9]."


CODE = [
    "It reads argv[1] and a[0], then m[1][2] and f(x)[0].",
    "`argv[1]` and `[1] * 3` and ``a[`1`] [2]``",
    "`[1]`",
    "```py\nprint([1] * 3, a [2])\n```\nnothing more",
    "~~~\n[1]\n```\n[2]\n~~~",
    "```\nnever closed [1]",
    "[[1, 2], [3, 4]] and [0-9]+ and \\[1\\] and [2026]",
    '[[ -f "$path" ]] && [[ -n $x ]]',
    "[text](https://example.test/1)",
    f"see .ogcode/memory/{A}--x.md",
]


@pytest.mark.parametrize("said", CODE)
def test_what_is_code_and_no_citation_stays_as_it_is(said: str) -> None:
    assert cite(said, SHOWN) == (said, [])


def test_neither_a_name_nor_a_heading_can_make_a_link_to_another_note() -> None:
    evil = opened(f"x]] [[{B}", f"y]] [[{A}#Outcome", "z")
    text, _ = cite("So it is [1].", [evil])
    assert text.count("[[") == text.count("]]") == 1
    assert f"[[{A}" not in text
    assert f"[[{B}" not in text


@pytest.mark.parametrize("piece", ["[", "`", "[1", "[[a", "```\n", "[1]", "[[a]] ", f"{A}#", "``a`", "[1](", "[1,"])
def test_a_text_of_nothing_but_marks_is_read_to_its_end(piece: str) -> None:
    assert cite(piece * 5_000 + " Five [1]", SHOWN)[0].strip()
