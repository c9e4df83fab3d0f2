"""What search finds first, which sections it shows, and what bounds it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from remembered import SESSION, START, a_job, a_memory, by_hand, notes, spool, write_note

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory
from ogcode.agent.index.ranking import MANY
from ogcode.agent.memory.extract import extract_note
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.memory.notes import frontmatter, note_id
from ogcode.agent.window.tokens import count
from ogcode.librarian.library import Library
from ogcode.librarian.tools import librarian_tools
from ogcode.tui.place import ignored_here, look_around, utc_now


def remember(memory: Memory, *jobs: Job) -> list[str]:
    """Write notes without a model, in order; give their ids."""
    for job in (
        named := [replace(job, id=note_id(START.fromisoformat(job.created_at), job.session_id)) for job in jobs]
    ):
        write_note(memory, f"{job.id}--x.md", extract_note(job), own=True)
    return [job.id for job in named]


def said(number: int, request: str, answer: str = "Done.", *, session: str = SESSION) -> Job:
    return replace(a_job(number, session=session, request=request, answer=answer), steps=(), files={}, changed=())


def found(memory: Memory, query: str) -> list[str]:
    return [entry.title for entry in notes(memory, trusted=False).find(query)]


def test_words_side_by_side_come_before_the_same_words_apart(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "cache the build of the release"), said(2, "the build cache of the release"))
    assert found(memory, "build cache")[0] == "the build cache of the release"


def test_of_equal_notes_that_of_the_conversation_about_it_comes_first(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    other = "7" * 32
    about = [said(number, "the zebra again", session=other) for number in (2, 3)]
    remember(memory, said(5, "a zebra once"), *about, *(said(number, f"word{number}") for number in range(6, 12)))
    assert found(memory, "zebra")[-1] == "a zebra once"


def test_a_note_that_worked_on_the_same_file_is_lifted(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    shared = {"src/parser.py": ""}
    best = replace(said(1, "zebra zebra", "zebra", session="1" * 32), files=shared)
    near = replace(said(2, "a zebra of one", session="2" * 32), files=shared)
    far = replace(said(3, "a zebra of two", session="3" * 32), files={"src/lexers.py": ""})
    remember(memory, best, near, far)
    assert found(memory, "zebra") == ["zebra zebra", "a zebra of one", "a zebra of two"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("call getRetryBackoff first", "retry"),
        ("call getRetryBackoff first", "getretrybackoff"),
        ("src/retry_backoff.py", "backoff"),
        ("the retries were retried", "retry"),
        ("la café fermée", "cafe"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "caf\u00e9"),
        ("हिन्दी में खोज", "हिन्दी"),
        ("用户重试策略", "重试"),
        ("ระบบค้นหา", "ค้นหา"),
        ("검색했습니다", "검색"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ],
)
def test_a_word_is_found_in_any_form_and_script(tmp_path: Path, text: str, query: str) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, text), said(2, "something else"))
    assert found(memory, query) == [text]


def test_marks_are_part_of_their_word(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "किताब"), said(2, "कताब"))
    assert found(memory, "किताब") == ["किताब"]


@pytest.mark.parametrize(
    "query", ["2026-09-12", "what happened on September 12?", "12th of Sept 2026", "in september 2026", "2026-09"]
)
def test_a_date_finds_the_notes_of_that_time_and_no_number_in_another(tmp_path: Path, query: str) -> None:
    memory = a_memory(tmp_path)
    there = said(1, "the day in question")
    remember(memory, there, replace(said(2, "9 of 12 in 2026"), created_at="2025-03-01T10:00:00Z"))
    assert found(memory, query) == ["the day in question"]


def test_a_number_finds_no_date(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "nothing"))
    assert found(memory, "12") == []


def test_a_rare_word_is_found_among_thousands_of_notes_with_the_common_one(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    memory.root.memory.mkdir(parents=True)
    for number in range(MANY + 30):
        text = f"# {'zebra' if number == 3 else f'n{number}'}\n\neverywhere and often\n"
        (memory.root.memory / f"n{number}.md").write_text(text)
        os.utime(memory.root.memory / f"n{number}.md", (number, number))
    every = notes(memory)
    assert [entry.title for entry in every.find("everywhere zebra", limit=1)] == ["zebra"]
    newest = [entry.title for entry in every.find("everywhere", limit=-1)]
    assert newest[0] == f"n{MANY + 29}"
    assert "n5" not in newest
    assert every.find("often everywhere", limit=1)


def test_a_foreign_note_outranks_nothing_by_a_forged_date(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "the zebra fix"))
    head = frontmatter({"title": "the zebra fix", "created_at": "2999-01-01T00:00:00Z", "turn": 99})
    write_note(
        memory, "2999-01-01T000000Z--ffffffff--x.md", f"{head}\n## Request\nthe zebra fix\n\n## Outcome\nDone.\n"
    )
    every = notes(memory)
    assert [entry.origin for entry in every.entries()] == ["own", "foreign"]
    assert [entry.origin for entry in every.find("zebra")] == ["own", "foreign"]
    assert [each.tag for each in every.conversations()] == ["3f8c21aa", "ffffffff"]
    assert "2999" not in every.entries()[1].created_at


def test_an_edited_note_is_no_newer_than_its_turn(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    first, _ = remember(memory, said(1, "one"), said(2, "two"))
    path = memory.root.memory / f"{first}--x.md"
    path.write_text(path.read_text().replace("2026-09-12T09:15:12Z", "2030-01-01T00:00:00Z"))
    assert [entry.title for entry in notes(memory).entries()] == ["two", "one"]


def test_own_notes_stay_own_where_the_checkout_is_moved(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "one"), said(2, "two"))
    moved = tmp_path / "elsewhere"
    memory.root.path.rename(moved)
    there = replace(memory, root=find_root(moved, None), manifest=Manifest(memory.home, moved))
    assert {entry.origin for entry in notes(there, trusted=False).entries()} == {"own"}
    path = sorted(there.root.memory.iterdir())[0]
    path.write_text(path.read_text() + "\n")
    assert {entry.origin for entry in notes(there).entries()} == {"own", "foreign"}


def test_only_notes_that_were_claimed_nowhere_count_as_by_others_at_the_start(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "one"), said(2, "two"))
    moved = tmp_path / "elsewhere"
    memory.root.path.rename(moved)
    here = look_around(moved, {"OGCODE_HOME": str(memory.home), "HOME": str(tmp_path)}, utc_now, trust=False)
    assert ignored_here(here) == []
    write_note(replace(memory, root=here.root), "by-hand.md", "# Not mine\n")
    assert ignored_here(here) == ["1 note by others"]


def test_a_note_without_a_date_has_that_of_its_file(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    os.utime(write_note(memory, "decisions.md", "# Decisions\n"), (86_400, 86_400))
    assert [entry.created_at for entry in notes(memory).entries()] == ["1970-01-02T00:00:00Z"]


def test_a_file_that_was_only_touched_is_the_same_note(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    (one,) = remember(memory, said(1, "one"))
    before = notes(memory).entries()
    os.utime(memory.root.memory / f"{one}--x.md", (1, 1))
    assert notes(memory).entries() == before


def test_a_short_exchange_is_one_passage(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "What is our release called?", "Heron, after the bird."))
    (passage,) = notes(memory, trusted=False).passages("release called", characters=3_000)
    assert "What is our release called?" in passage.text
    assert "Heron" in passage.text


def test_the_lines_with_the_words_are_shown_of_a_long_section(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    answer = "\n".join([*(f"line {number} of something" for number in range(35)), "the zebra is striped"])
    remember(memory, replace(said(1, "about it", answer), steps=("read a",) * 40))
    first, *_ = notes(memory, trusted=False).passages("zebra striped", characters=3_000)
    assert "the zebra is striped" in first.text
    assert first.section == "Outcome"
    assert len(first.text) < 800


def test_passages_keep_to_their_bound_and_say_nothing_twice(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, *(said(number, f"zebra {number % 5}", "Done.") for number in range(20)))
    shown = [each.text for each in notes(memory, trusted=False).passages("zebra", characters=200)]
    assert sum(map(len, shown)) <= 200
    assert len(shown) == len(set(shown)) > 1


def test_a_tag_means_the_conversations_that_begin_with_it(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "one"), said(2, "two", session="3f8c21aa1" + "0" * 23), said(3, "x", session="a" * 32))
    every = notes(memory, trusted=False)
    assert [each.tag for each in every.conversations()] == ["aaaaaaaa", "3f8c21aa1", "3f8c21aa0"]
    assert [each.tag for each in every.tagged("3f8c21aa")] == ["3f8c21aa1", "3f8c21aa0"]
    assert [each.tag for each in every.tagged("3f8c21aa0/")] == ["3f8c21aa0"]
    assert every.tagged("4") == every.tagged("") == []


def test_a_conversation_of_others_that_is_named_like_ones_own_is_not_meant(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    remember(memory, said(1, "one"))
    write_note(memory, *by_hand(3))
    every = notes(memory)
    assert [each.session_id for each in every.conversations()] == [SESSION, SESSION[:8]]
    assert [each.session_id for each in every.tagged(SESSION[:8])] == [SESSION]


async def test_a_note_is_read_by_the_name_that_it_is_shown_by(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    write_note(memory, "[draft]  of|it.md", "# Draft\n\n## Outcome\nzebra\n")
    held = Library(notes(memory), memory.root.sessions, memory.root.top, memory.seal)
    _, _, read = librarian_tools(held)
    assert "zebra" in await read.function(path="(draft) of/it.md")


async def test_the_map_keeps_to_its_tokens_whatever_the_words_are(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    for number in range(70):
        name, _ = by_hand(number % 60)
        topics = ", ".join(f"qx{number}zvk wpl{number}trg" for _ in range(4))
        text = f"# N\n\nTopics: {topics}\n"
        write_note(memory, name.replace("3f8c21aa", f"{number:08x}"), text)
    held = Library(notes(memory), memory.root.sessions, memory.root.top, memory.seal)
    memory_map, *_ = librarian_tools(held)
    told = await memory_map.function()
    assert count(told) <= 1_500
    shown = told.count("\n")
    assert told.endswith(f"… {70 - shown} more conversations; name one as folder, or give a query")


def test_the_index_of_a_copy_gives_the_answers_of_the_one_that_grew(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    for number in (3, 1, 2):  # not in the order of time
        remember(memory, said(number, f"the zebra of {number}"))
        notes(memory)
    grown = [found(memory, "zebra"), [entry.id for entry in notes(memory).entries()]]
    memory.root.database.unlink()
    assert [found(memory, "zebra"), [entry.id for entry in notes(memory).entries()]] == grown


def test_a_waiting_turn_of_another_scope_is_not_found(tmp_path: Path) -> None:
    memory = a_memory(tmp_path)
    spool(memory, said(1, "the zebra"), said(2, "the zebra too", session="b" * 32))
    assert [entry.title for entry in notes(memory, {SESSION: 9}).find("zebra")] == ["the zebra"]
    assert [entry.title for entry in notes(memory).find("zebra", session="b" * 32)] == ["the zebra too"]
