"""The memory view: looking around in it."""

from contextlib import closing
from pathlib import Path

import pytest
from knowing import a_place
from remembered import GOOD, START, scribe, write_note
from stage import screen_text
from viewing import CAPPED, CITING, FIRST, a_keeper, fill, viewing

from ogcode.agent.clean import clean
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.notes import LARGEST
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.turn import Usage
from ogcode.agent.usage import log_usage
from ogcode.tui.place import Here
from ogcode.tui.screen.memory.paint import HIT, LONGEST
from ogcode.tui.screen.memory.rows import Rows
from ogcode.tui.screen.parser import Background

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
        assert "4 turns today" in text
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


async def test_a_search_that_is_typed_at_once_is_all_of_it_the_search(here: Here) -> None:
    async with viewing(here) as seen:
        seen.type_at_once("/jitter")
        await seen.shows("1 for “jitter”")
        await seen.press("slash", "q", "p")
        await seen.shows("nothing has “jitter/qp”")


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
        await seen.shows("Waiting for a note             1")
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


async def test_an_empty_memory_says_so_in_one_pane_too_and_no_key_does_harm(tmp_path: Path) -> None:
    async with viewing(a_place(tmp_path), size=(60, 20)) as seen:
        await seen.shows("There are no notes yet; each turn leaves one.")
        seen.type_at_once("jpxxM1vneyhhlgf")
        await seen.press("enter", "tab")
        await seen.shows("There are no notes yet")
        await seen.search("qqqq")
        await seen.shows("nothing has “qqqq”")


async def test_a_folder_that_cannot_be_read_is_not_told_as_an_empty_memory(here: Here, tmp_path: Path) -> None:
    here.root.memory.rename(tmp_path / "elsewhere")
    here.root.memory.write_text("no folder")
    async with viewing(here, size=(60, 24)) as seen:
        await seen.shows(".ogcode/memory: not a folder: nothing is remembered in it;")
        assert seen.listed == "There is nothing to list."
        here.root.memory.unlink()
        here.root.memory.symlink_to(tmp_path / "elsewhere")
        await seen.press("u")
        await seen.shows(".ogcode/memory: a link: nothing is remembered through it;")


async def test_notes_that_cannot_be_read_are_told_of(here: Here) -> None:
    (here.root.memory / "link.md").symlink_to(here.root.top / "AGENTS.md")
    async with viewing(here) as seen:
        await seen.shows(".ogcode/memory/link.md: a link: links are not followed")
        (here.root.memory / "huge.md").write_bytes(b"x" * (LARGEST + 1))
        await seen.press("u")
        await seen.shows("2 files among the notes are left out; ogcode memory doctor says why")


async def test_the_chosen_row_is_in_one_tone_so_that_all_of_it_can_be_read(here: Here) -> None:
    async with viewing(here, theme="high-contrast") as seen:
        await seen.until(lambda: "interrupted" in seen.rows.render_line(1).text)
        chosen, other = (
            {each.style.color for each in seen.rows.render_line(y) if each.style and each.text.strip()} for y in (1, 3)
        )
        assert (len(chosen), len(other)) == (1, 2)


async def test_what_a_screen_has_no_room_for_is_left_out_whole(here: Here) -> None:
    for turn in (1, 2):
        usage = Usage(input_tokens=20_000)
        log_usage(
            here.root.store, usage, role="agent", model="m", session_id="s", turn=turn, unsent=turn * 100_000, now=START
        )
    async with viewing(here, size=(60, 20)) as seen:
        await seen.shows("4 turns today · sent 40k tokens, replay 340k")
        await seen.pilot.resize_terminal(100, 20)
        await seen.shows("4 turns today · sent 40k tokens, replay would be 340k")
        await seen.pilot.resize_terminal(40, 20)
        await seen.shows("4 turns today\n")
        await seen.pilot.resize_terminal(20, 5)
        await seen.shows("Backoff is cap")


async def test_what_others_write_appears_while_the_choice_and_the_marks_stay(here: Here) -> None:
    memory = Memory.of(here.root, here.home)
    async with viewing(here) as seen:
        await seen.press("j", "m", "k")
        await seen.shows("1 marked")
        write_note(memory, "2026-09-12T230000Z--77aa01bc--late.md", "# Late\n\nNew.\n", own=True)
        await scribe(memory, ScriptedModel(GOOD.replace("Dispatch", "Yellow"))).run()
        await seen.until(lambda: seen.listed.startswith("Late") and "● Yellow retry fix" in seen.listed)
        await seen.shows("Five tries with backoff.")


async def test_a_note_that_another_program_changes_in_its_place_is_to_be_read_anew(here: Here) -> None:
    [path] = here.root.memory.glob(f"{CAPPED}--*.md")
    with closing(a_keeper(here)) as desk:
        note = (await desk.overview()).notes[0]
        await desk.text(note)
        assert not desk.changed()
        with path.open("r+") as written:
            written.write(CITING.replace("stays.", "went. "))
        await desk.leads(note)
        assert desk.changed()


async def test_the_hints_are_of_the_pane_that_has_the_keys(here: Here) -> None:
    async with viewing(here, size=(100, 24)) as seen:
        await seen.shows("Enter read · / search · x forget")
        await seen.press("enter")
        await seen.shows("Tab links · v source · e edit · g f its file")
        await seen.press("slash")
        await seen.shows("Enter to the list · Esc ends the search")


async def test_a_light_terminal_that_tells_so_is_drawn_on_as_one(here: Here) -> None:
    async with viewing(here) as seen:
        seen.pilot.app.post_message(Background(dark=False))
        await seen.until(lambda: seen.pilot.app.theme == "ansi-light")


async def test_notes_of_others_are_left_out_where_the_folder_is_not_trusted(here: Here) -> None:
    from dataclasses import replace

    write_note(Memory.of(here.root, here.home), "2026-09-12T230000Z--77aa01bc--a.md", "# Foreign\n\nx\n")
    async with viewing(replace(here, trusted=False)) as seen:
        await seen.shows("1 notes by others are left out: this folder is not trusted")
        assert "Foreign" not in seen.listed
