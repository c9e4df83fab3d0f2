"""The table of promises in the documentation: complete, and each held by tests that there are."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
ROWS = re.findall(
    r"^\| ((?:[MC]\d+(?:, )?)+) [^|]*\| ([^|]*) \|$",
    (TESTS.parent / "docs" / "facts.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_every_promise_has_its_row() -> None:
    named = {name for names, _ in ROWS for name in names.split(", ")}
    assert named == {*(f"M{number}" for number in range(1, 46)), *(f"C{number}" for number in range(1, 19))}


def test_every_row_names_tests_that_there_are() -> None:
    there = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    for names, held in ROWS:
        tests = re.findall(r"`(test_\w+)`", held)
        assert tests, names
        assert {*tests} <= there, names
