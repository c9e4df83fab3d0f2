from datetime import UTC, datetime
from pathlib import Path

import pytest

from ogcode.agent.rights.seal import Seal
from ogcode.tui.batch.journal import Journal


def opened(folder: Path, home: str = "home") -> Journal:
    return Journal(folder / "journal.jsonl", Seal(folder / home), lambda: datetime(2026, 9, 12, tzinfo=UTC))


def written(folder: Path) -> Journal:
    journal = opened(folder)
    journal.begin("of-all")
    journal.step("a", "preparing", 1, digest="d1", base="c0")
    journal.step("a", "finished", 1, digest="d1", cost=0.5, result={"status": "failed"})
    journal.step("a", "preparing", 2, digest="d2")
    journal.step("b", "interrupted", 1, cost=0.25)
    return journal


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    before, after = written(tmp_path), opened(tmp_path)
    for journal in (before, after):
        assert (journal.of("a").attempt, journal.of("a").stage, journal.of("a").task) == (2, "preparing", "d2")
        assert journal.of("a").object("result") == {}
        assert (journal.spent, journal.tasks, journal.known()) == (0.75, "of-all", ("a", "b"))


def test_nothing_is_believed_that_another_has_written(tmp_path: Path) -> None:
    written(tmp_path)
    theirs = opened(tmp_path, home="other")
    assert (theirs.known(), theirs.tasks, theirs.strange) == ((), "", 5)


@pytest.mark.parametrize("tail", [b'{"seal": "', b"\xff\xfe", b"[1]", b'{"seal": 1, "row": 2}', b"null"])
def test_a_torn_line_costs_itself_alone(tmp_path: Path, tail: bytes) -> None:
    written(tmp_path)
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(tail)
    opened(tmp_path).step("c", "started", 1)
    after = opened(tmp_path)
    assert (after.strange, after.known()) == (1, ("a", "b", "c"))
