"""The memory view: looking around in it."""

from pathlib import Path

import pytest
from knowing import a_place
from remembered import write_note
from stage import screen_text
from viewing import CAPPED, FIRST, fill, viewing

from ogcode.agent.clean import clean
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.notes import LARGEST
from ogcode.tui.place import Here
from ogcode.tui.screen.memory.paint import HIT, LONGEST
from ogcode.tui.screen.memory.rows import Rows

HOSTILE = "evil \x1b]52;c;QUJD\x07 [@click=app.quit]here[/] \u202e end"


@pytest.fixture
async def here(tmp_path: Path) -> Here:
    place = a_place(tmp_path)
    await fill(place)
    return place


async def test_notes_are_listed_newest_first_beside_the_text_of_one(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.shows("The jitter in calc.py stays.")
        titles = ("Backoff is capped", "Look at getRetryBackoff again", "Zebra retry fix", "Dispatch retry fix")
        places = [seen.listed.index(title) for title in titles]
        assert places == sorted(places)
        assert "2026-09-12 11:00 interrupted" in seen.listed
        text = screen_text(seen.pilot.app)
        assert "turn 1 · conversation 77aa01bc" in text
        assert "today 4" in text
        await seen.press("down", "j")
        await seen.shows("Topics: dispatch, retries, backoff")


@pytest.mark.parametrize(("width", "panes"), [(60, 1), (100, 2), (160, 3)])
async def test_as_many_panes_as_fit_stand_side_by_side(here: Here, width: int, panes: int) -> None:
    async with viewing(here, size=(width, 24)) as seen:
        assert sum(pane.display for pane in (*seen.screen.query(Rows), seen.page)) == panes
        await seen.press("enter")
        await seen.shows("The jitter in calc.py stays.")
        await seen.press("h", "h")
        await seen.shows("77aa01bc backoff; limits")
        assert sum(pane.display for pane in (*seen.screen.query(Rows), seen.page)) == panes
        await seen.press("G", "enter")
        await seen.until(lambda: seen.listed.startswith("Look at getRetryBackoff") and "capped" not in seen.listed)


async def test_a_search_wants_all_words_the_last_of_which_is_still_being_typed(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.press("slash", *"tri")
        await seen.shows("4 for “tri”")
        await seen.search("limit tri")
        await seen.shows("3 for “limit tri”")
        assert "· Set the limit of tries to five." in seen.listed
        assert "Look at" not in seen.listed
        await seen.search("limit tries five")
        await seen.shows("2 for “limit tries five”")
        await seen.press("escape")
        await seen.until(lambda: "Look at" in seen.listed)


async def test_a_search_finds_facts_too_and_marks_what_it_found(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.search("frid")
        await seen.until(lambda: seen.listed.startswith("Releases are cut on Fridays."))
        await seen.search("jitt")
        await seen.shows("The jitter in calc.py stays.")
        whole = seen.page.render()
        hits = [span for span in whole.spans if str(span.style) == HIT]
        assert [whole.plain[hit.start : hit.end] for hit in hits] == ["jitt"]


async def test_what_nothing_holds_whole_is_answered_by_the_nearest_and_said_so(here: Here) -> None:
    async with viewing(here, query="backoff xylophone") as seen:
        await seen.shows("4 for “backoff xylophone” · none has all of it, these have some")
        await seen.search("qqqq")
        await seen.shows("nothing has “qqqq”")


async def test_what_a_note_leads_to_and_what_cites_it_are_gone_to_and_come_back_from(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.shows("1 file     calc.py  changed since")
        await seen.shows("2 cites    Dispatch retry fix")
        await seen.press("2")
        await seen.shows("Fix the retry of dispatch number 1")
        await seen.shows("cited by Backoff is capped")
        await seen.shows("cited by Releases are cut on Fridays.")
        await seen.press("escape")
        await seen.shows("The jitter in calc.py stays.")


async def test_tab_and_enter_follow_a_link_of_the_text(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.press("enter", "tab", "enter")
        await seen.shows("Five tries with backoff.")


async def test_a_note_is_shown_as_it_is_written_and_back(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.shows("• The cap of thirty seconds")
        await seen.press("v")
        await seen.shows('session_id: "77aa01bc')
        assert "- The cap of `thirty` seconds" in screen_text(seen.pilot.app)
        await seen.press("v")
        await seen.shows("• The cap of thirty seconds")


async def test_what_waits_says_why_and_rules_and_facts_have_their_scopes(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.shows("Waiting for a note        1")
        await seen.press("h", "j")
        await seen.shows("ollama does not answer; r tries again")
        await seen.press("j")
        await seen.until(lambda: "m-131c69 · of this project · 2026-09-12 · MEMORY" in seen.listed)
        await seen.press("j")
        await seen.until(lambda: seen.listed.startswith("The user prefers tabs."))
        await seen.press("j")
        await seen.until(lambda: seen.listed.startswith("AGENTS.md"))
        await seen.shows("Run the tests before you say that something works.")
        await seen.shows("51 bytes · of this project")


async def test_the_path_of_a_note_is_copied(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.press("y")
        await seen.until(lambda: seen.pilot.app.clipboard.endswith(f"/.ogcode/memory/{CAPPED}--backoff-is-capped.md"))


async def test_a_note_that_is_asked_for_is_opened_and_left_by_one_escape(here: Here) -> None:
    async with viewing(here, note=f"[[{FIRST}#Outcome]]") as seen:
        await seen.shows("Five tries with backoff.")
        assert seen.page.has_focus
        await seen.press("escape")
        await seen.until(lambda: not seen.pilot.app.is_running)


async def test_a_note_that_is_asked_for_and_gone_is_said_to_be(here: Here) -> None:
    async with viewing(here, note="2020-01-01T000000Z--00000000") as seen:
        await seen.shows("2020-01-01T000000Z--00000000 is gone, or was never there")
        await seen.shows("The jitter in calc.py stays.")


async def test_a_note_that_is_removed_meanwhile_is_said_to_be_gone(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.shows("The jitter in calc.py stays.")
        for path in here.root.memory.glob(f"{FIRST}--*.md"):
            path.unlink()
        await seen.press("G")
        await seen.shows(f"{FIRST} is gone, or can't be read")


async def test_what_is_malformed_or_huge_or_hostile_is_shown_and_does_nothing(here: Here) -> None:
    memory = Memory.of(here.root, here.home)
    write_note(
        memory, "2026-09-12T230000Z--77aa01bc--a.md", f"---\ntitle: [\n---\n# {HOSTILE}\n\n{HOSTILE}\n", own=True
    )
    large = f"# Large\n\n{'word ' * (LARGEST // 5)}"[: LARGEST - 10]
    write_note(memory, "2026-09-12T220000Z--77aa01bc--b.md", large, own=True)
    write_note(memory, "2026-09-12T210000Z--77aa01bc--c.md", b"\x00\xff\xfe", own=True)
    async with viewing(here) as seen:
        await seen.shows("frontmatter can't be read")
        text = screen_text(seen.pilot.app)
        assert text.count("[@click=app.quit]here[/]") >= 2
        assert not any(each in text for each in "\x1b\x07\u202e")
        assert clean(text, prose=True) == text
        await seen.press("down", "enter", "G")
        await seen.shows(
            f"… {len(large) - len('# Large' + chr(10) * 2) - LONGEST:,} more characters; e opens all of it"
        )
        await seen.press("h", "down")
        await seen.shows("not UTF-8; holds NUL bytes")


async def test_a_folder_that_cannot_be_read_is_an_empty_memory(tmp_path: Path) -> None:
    here = a_place(tmp_path)
    here.root.store.mkdir(parents=True, exist_ok=True)
    here.root.memory.write_text("no folder")
    async with viewing(here) as seen:
        await seen.shows("There are no notes yet; each turn leaves one.")
        await seen.press(*"jpxxM1vney", "enter", "tab")
        await seen.shows("There are no notes yet")


async def test_notes_of_others_are_left_out_where_the_folder_is_not_trusted(here: Here) -> None:
    from dataclasses import replace

    write_note(Memory.of(here.root, here.home), "2026-09-12T230000Z--77aa01bc--a.md", "# Foreign\n\nx\n")
    async with viewing(replace(here, trusted=False)) as seen:
        await seen.shows("1 notes by others are left out: this folder is not trusted")
        assert "Foreign" not in seen.listed
