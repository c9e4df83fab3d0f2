"""`/remember` and `/forget` in the app."""

from pathlib import Path

import pytest
from knowing import a_repository, facts_of, look, said
from remembered import GOOD, a_job, note_files, scribe, spool
from stage import Stage, sees, until
from stage_remembering import StagedRemembering
from test_app import running, send

from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.tui.behind.remembering import Remembering
from ogcode.tui.place import Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return look(a_repository(tmp_path), tmp_path / "home")


def desk(here: Here, memory: MemorySwitch = "on") -> Remembering:
    return Remembering(here, lambda: memory)


async def test_what_a_person_says_is_kept_of_the_project_or_of_them(here: Here) -> None:
    told = await desk(here).remember("The port is 8080.")
    await desk(here).remember("-g Prefers tabs.")
    [tabs, port] = facts_of(here).known().facts
    assert [(fact.scope, fact.text) for fact in (port, tabs)] == [
        ("project", "The port is 8080."),
        ("global", "Prefers tabs."),
    ]
    assert told == f"remembered {port.id} (project): The port is 8080. · undo: ogcode memory undo {port.id}"
    assert await desk(here).remember("the port is 8080") == f"already known as {port.id} (project)"


@pytest.mark.parametrize(
    ("text", "memory", "why"),
    [
        ("x", "read", "memory is read"),
        ("x", "off", "memory is off"),
        ("  ", "on", "empty"),
        ("the key is ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1z2A", "on", "secret"),
    ],
)
async def test_what_can_not_be_kept_is_said(here: Here, text: str, memory: MemorySwitch, why: str) -> None:
    told = await desk(here, memory).remember(text)
    assert told.startswith("nothing was kept: ")
    assert why in told
    assert said(facts_of(here)) == []


async def test_facts_and_notes_are_offered_by_words_and_only_the_chosen_are_forgotten(here: Here) -> None:
    memory = Memory.of(here.root, here.home)
    spool(memory, a_job(1), a_job(2))
    await scribe(memory, ScriptedModel(GOOD, GOOD.replace("Dispatch", "Zebra"))).run()
    facts_of(here).remember("Dispatch runs at noon.", "project")
    facts_of(here).remember("The port is 8080.", "project")
    person = desk(here)
    lines = await person.offer("dispatch retry")
    assert lines[0].startswith("fact m-")
    place = next(number for number, line in enumerate(lines, 1) if "Dispatch retry fix" in line)
    told = await person.forget([1, place])
    assert told.startswith("forgotten: m-")
    assert said(facts_of(here)) == ["The port is 8080."]
    assert [path.stem.rpartition("--")[2] for path in note_files(memory)] == ["zebra-retry-fix"]
    assert (await person.forget([1])).startswith("nothing was forgotten")


async def test_an_id_offers_what_it_means_alone(here: Here) -> None:
    kept = facts_of(here).remember("The port is 8080.", "project").fact
    facts_of(here).remember(f"Not {kept.id}.", "project")
    assert await desk(here).offer(kept.id) == [f"fact {kept.id} (project): The port is 8080."]


@pytest.mark.parametrize("numbers", [[0], [2], [-1], []])
async def test_a_number_that_was_not_offered_forgets_nothing(here: Here, numbers: list[int]) -> None:
    facts_of(here).remember("The port is 8080.", "project")
    person = desk(here)
    await person.offer("port")
    assert (await person.forget(numbers)).startswith("nothing was forgotten")
    assert said(facts_of(here)) == ["The port is 8080."]


async def test_the_commands_keep_offer_and_forget() -> None:
    staged = StagedRemembering(["fact m-1 (project): port [b]8080[/b]", "note n1: port"])
    async with running(Stage(remembering=staged)) as pilot:
        await send(pilot, "/remember the port is 8080")
        await sees(pilot, "remembered m-7f3a (project): the port is 8080")
        await send(pilot, "/forget port")
        await sees(pilot, "[1] fact m-1 (project): port [b]8080[/b]")
        await send(pilot, "/forget 2 1")
        await until(pilot, lambda: staged.forgotten == [2, 1])
        await send(pilot, "/forget 12")
        await sees(pilot, "nothing in memory speaks of '12'")
