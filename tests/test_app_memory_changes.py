"""The memory view: what is done with notes and facts from there."""

from contextlib import closing
from pathlib import Path

import pytest
from knowing import a_place, facts_of, said
from remembered import GOOD, a_job, note_files, notes, scribe, spool, waiting
from viewing import CAPPED, FIRST, SECOND, Seen, a_keeper, fill, viewing

from ogcode.agent.index.cache import Memory
from ogcode.agent.model import Broken
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.tui.memory.desk import Lead, NotDone
from ogcode.tui.place import Here


@pytest.fixture
async def here(tmp_path: Path) -> Here:
    place = a_place(tmp_path)
    await fill(place)
    return place


def texts(seen: Seen) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in note_files(seen.memory)}


async def test_a_pinned_note_comes_first_and_stays_ones_own(here: Here) -> None:
    async with viewing(here, note=FIRST) as seen:
        before = texts(seen)
        await seen.shows("Five tries with backoff.")
        await seen.press("p")
        await seen.until(lambda: seen.listed.startswith("★ Dispatch retry fix"))
        await seen.shows("★ Pinned                       1")
        [entry] = notes(seen.memory).named(FIRST)
        assert (entry.origin, entry.pinned) == ("own", True)
        await seen.press("p")
        await seen.until(lambda: seen.listed.startswith("Backoff is capped"))
        assert texts(seen) == before


async def test_a_pin_is_taken_back_and_not_what_was_done_before_it(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.press("x", "x")
        await seen.shows("forgotten: ")
        await seen.until(lambda: not seen.listed.startswith("Backoff"))
        before = texts(seen)
        await seen.press("p")
        await seen.until(lambda: seen.listed.startswith("★"))
        await seen.press("u")
        await seen.shows("as before: ")
        assert texts(seen) == before


async def test_a_pin_is_kept_when_the_note_is_written_anew(tmp_path: Path) -> None:
    here = a_place(tmp_path)
    memory = Memory.of(here.root, here.home)
    spool(memory, a_job(1))
    await scribe(memory, ScriptedModel(Broken("away"))).run()
    async with viewing(here) as seen:
        await seen.press("p")
        await seen.until(lambda: seen.listed.startswith("★"))
        await scribe(memory, ScriptedModel(GOOD)).run()
        await seen.until(lambda: seen.listed.startswith("★ Dispatch retry fix"))


async def test_a_note_is_forgotten_by_two_presses_and_brought_back_by_one(here: Here) -> None:
    async with viewing(here) as seen:
        before = texts(seen)
        await seen.press("x")
        await seen.shows("x again forgets this; u would bring it back")
        await seen.press("j")
        await seen.shows("nothing was forgotten")
        await seen.press("k", "x")
        await seen.shows("x again forgets this")
        await seen.press("escape")
        await seen.shows("nothing was forgotten")
        assert texts(seen) == before
        await seen.press("x", "x")
        await seen.shows(f"forgotten: {CAPPED}; u brings it back")
        await seen.until(lambda: "Backoff is capped" not in seen.listed)
        await seen.press("u")
        await seen.until(lambda: "Backoff is capped" in seen.listed)
        assert texts(seen) == before


async def test_all_hits_of_a_search_are_forgotten_at_once_and_brought_back_at_once(here: Here) -> None:
    known = said(facts_of(here))
    facts_of(here).remember("The retry is tried five times.", "project")
    async with viewing(here) as seen:
        before = texts(seen)
        await seen.search("retry")
        await seen.press("enter", "M")
        await seen.shows("4 marked")
        await seen.press("x")
        await seen.shows("x again forgets these 4; u would bring them back")
        await seen.press("x")
        await seen.shows("forgotten: 3 notes and 1 fact; u brings them back")
        assert set(texts(seen)) == {f"{CAPPED}--backoff-is-capped.md"}
        assert said(facts_of(here)) == known
        await seen.press("u")
        await seen.shows("back again: 3 notes and 1 fact")
        assert texts(seen) == before
        assert len(said(facts_of(here))) == len(known) + 1


async def test_what_was_forgotten_elsewhere_is_brought_back_here(here: Here) -> None:
    from ogcode.agent.memory.trash import forget

    memory = Memory.of(here.root, here.home)
    [path] = memory.root.memory.glob(f"{SECOND}--*.md")
    forget(here.root.store, [(SECOND, f"memory/{path.name}")], here.now())
    async with viewing(here) as seen:
        assert "Zebra" not in seen.listed
        await seen.press("u")
        await seen.until(lambda: "Zebra" in seen.listed)
        await seen.press("u")
        await seen.shows("nothing was forgotten or edited that could be taken back")


async def test_what_is_typed_ahead_of_the_screen_is_done_to_what_was_gone_to(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.shows("The jitter in calc.py stays.")
        seen.type_at_once("hGlGgglx")
        await seen.shows("x again forgets this")
        await seen.press("x")
        await seen.shows("forgotten: 2026-09-12T091812Z--3f8c21aa; u brings it back")


async def test_marks_stay_where_what_was_to_be_done_could_not(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.press("m", "r")
        await seen.shows("the transcript of its conversation is gone")
        await seen.shows("1 marked · ")


async def test_a_file_that_is_gone_is_named_when_it_is_gone_to(here: Here) -> None:
    with closing(a_keeper(here)) as desk, pytest.raises(NotDone, match=r"^gone\.py is not there$"):
        desk.visit(Lead("file", "gone.py"))


async def test_a_rule_is_neither_forgotten_nor_pinned(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.press("h", "j", "j", "j", "j", "l")
        await seen.until(lambda: seen.listed.startswith("AGENTS.md"))
        await seen.press("x", "x")
        await seen.shows("this is a file that people wrote; delete it yourself if it is not wanted")
        await seen.press("p")
        await seen.shows("only notes can be pinned")
        assert (here.root.top / "AGENTS.md").is_file()


async def test_a_turn_that_no_model_could_tell_is_tried_again(here: Here) -> None:
    async with viewing(here) as seen:
        assert waiting(seen.memory)
        await seen.press("j", "r")
        await seen.shows("1 note to be written anew; the scribe has begun")
        assert seen.scribes == ["scribe"]
        await scribe(seen.memory, ScriptedModel(GOOD.replace("Dispatch", "Yellow")), now=None).run()
        await seen.until(lambda: "Yellow retry fix" in seen.listed)


async def test_the_librarian_is_asked_and_a_citation_leads_to_its_note(here: Here) -> None:
    async with viewing(here) as seen:
        await seen.press("R", *"tries", "enter")
        await seen.shows("It is tried five times [[")
        await seen.press("tab", "enter")
        await seen.until(lambda: seen.page.has_focus and not seen.pilot.app.screen.is_modal)
        await seen.press("escape")
        await seen.shows("The jitter in calc.py stays.")
    [line] = (here.root.store / "usage.jsonl").read_text().splitlines()
    assert '"role": "librarian"' in line


async def test_a_librarian_that_cannot_be_asked_says_why(here: Here) -> None:
    async with viewing(here, model=ScriptedModel(Broken("ollama does not answer"))) as seen:
        await seen.press("R", *"try?", "enter")
        await seen.shows("memory could not be asked: ollama does not answer")
        await seen.press("escape")
        await seen.until(lambda: not seen.pilot.app.screen.is_modal)


async def test_where_there_is_no_terminal_to_give_away_nothing_is_edited(here: Here) -> None:
    async with viewing(here) as seen:
        before = texts(seen)
        await seen.press("e")
        await seen.shows("this terminal can't be given to an editor")
        await seen.press("g", "f")
        assert texts(seen) == before
