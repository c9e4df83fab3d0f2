"""Questions that name a day by how long ago it was."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from remembered import a_memory, write_note

from ogcode.agent.index.cache import open_index
from ogcode.agent.index.dates import with_days
from ogcode.agent.index.reading import Notes, Scope

NOW = datetime(2026, 9, 16, 10, 0, tzinfo=UTC)  # a Wednesday
WEEK = " ".join(f"2026-09-{day:02}" for day in range(7, 14))


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did we do yesterday?", "2026-09-15"),
        ("the day before yesterday", "2026-09-14"),
        ("all of today", "2026-09-16"),
        ("the crash of two days ago", "2026-09-14"),
        ("it broke 20 days ago", "2026-08-27"),
        ("Last week", WEEK),
        ("a week ago", WEEK),
        ("fixed on Monday", "2026-09-14"),
        ("last Wednesday", "2026-09-09"),
        ("nine months ago", "2025-12"),
        ("last month, and yesterday", "2026-08 2026-09-15"),
        ("last year", " ".join(f"2025-{month:02}" for month in range(1, 13))),
    ],
)
def test_a_question_gets_the_days_that_it_means(question: str, days: str) -> None:
    assert with_days(question, NOW) == f"{days} {question}"


@pytest.mark.parametrize("question", ["monday.com", "week by week", "a day", "the last one", "999 ago", ""])
def test_other_words_of_time_name_no_day(question: str) -> None:
    assert with_days(question, NOW).strip() == question


@pytest.mark.parametrize(
    ("hours", "days"), [(-7, "2026-09-15 2026-09-16"), (9, "2026-09-14 2026-09-15"), (0, "2026-09-15")]
)
def test_a_day_of_the_askers_clock_can_be_two_of_the_notes(hours: int, days: str) -> None:
    asked = datetime(2026, 9, 16, 12, 0, tzinfo=timezone(timedelta(hours=hours)))
    assert with_days("yesterday", asked) == f"{days} yesterday"


def test_a_question_of_many_times_stays_bounded() -> None:
    assert len(with_days("last year and last week " * 50, NOW).split(" last year")[0].split()) == 14


def test_the_notes_of_yesterday_come_first_and_the_others_are_found_all_the_same(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    for day in (12, 15, 16):
        write_note(memory, f"2026-09-{day}T120000Z--3f8c21aa--x.md", f"# Day {day}\n\nThe deploy again.\n", own=True)

    def found(now: datetime) -> list[str]:
        notes = Notes(open_index(memory), memory.root.store, Scope(), trusted=False, now=lambda: now)
        return [entry.title for entry in notes.find("what about the deploy of yesterday?")]

    assert found(NOW) == ["Day 15", "Day 16", "Day 12"]
    assert found(NOW - timedelta(days=3))[0] == "Day 12"
