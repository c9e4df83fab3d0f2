"""A memory to look at in its view: conversations, a failed note, facts, rules, and a screen to press keys on."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from knowing import facts_of
from remembered import GOOD, a_job, scribe, spool, write_note
from stage import sees, until
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input

from ogcode.agent.index.cache import Memory
from ogcode.agent.model import Broken, Model
from ogcode.agent.models.choice import NoModel
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.settings.config import Theme
from ogcode.tui.memory.keeper import Keeper
from ogcode.tui.place import Here
from ogcode.tui.screen.memory.app import MemoryApp
from ogcode.tui.screen.memory.page import Page
from ogcode.tui.screen.memory.rows import Rows
from ogcode.tui.screen.memory.screen import MemoryScreen

CITING = """---
title: "Backoff is capped"
session_id: "77aa01bc11111111111111111111111111111111"
created_at: "2026-09-12T11:00:00Z"
turn: 1
outcome: "interrupted"
scribe: "ollama/qwen3:8b"
files: {"calc.py": "9f2c01d4a7be"}
---

# Backoff is capped

Topics: backoff, limits

## Decisions & why
- The cap of `thirty` seconds follows from the limit of tries [[2026-09-12T091512Z--3f8c21aa#Outcome]].

## Outcome
The jitter in calc.py stays.
"""
FIRST = "2026-09-12T091512Z--3f8c21aa"
SECOND = "2026-09-12T091612Z--3f8c21aa"
CAPPED = "2026-09-12T110000Z--77aa01bc"


@dataclass
class Seen:
    here: Here
    memory: Memory
    pilot: Pilot[int]
    scribes: list[str] = field(default_factory=list)

    @property
    def screen(self) -> MemoryScreen:
        return next(each for each in self.pilot.app.screen_stack if isinstance(each, MemoryScreen))

    @property
    def page(self) -> Page:
        return self.screen.query_one(Page)

    @property
    def rows(self) -> Rows:
        return self.screen.query_one("#items", Rows)

    @property
    def listed(self) -> str:
        """What the list of notes shows."""
        rows = self.rows
        return "\n".join(rows.render_line(y).text.rstrip() for y in range(rows.size.height)).strip("▐ \n")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    def type_at_once(self, keys: str) -> None:
        """Press keys without waiting for what one does before the next."""
        for key in keys:
            event = Key("slash" if key == "/" else key, key)
            event.set_sender(self.pilot.app)
            assert self.pilot.app._driver
            self.pilot.app._driver.send_message(event)

    async def search(self, words: str) -> None:
        await self.press("slash")
        self.screen.query_one(Input).value = words

    async def shows(self, text: str) -> None:
        await sees(self.pilot, text)

    async def until(self, holds: Callable[[], object]) -> None:
        await until(self.pilot, holds)


async def fill(here: Here) -> Memory:
    """Two notes of one conversation, one of another that cites the first, and a turn that no model could tell."""
    memory = Memory.of(here.root, here.home)
    (here.root.top / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (here.root.top / "AGENTS.md").write_text("Run the tests before you say that something works.\n")
    spool(memory, a_job(1), a_job(2))
    await scribe(memory, ScriptedModel(GOOD, GOOD.replace("Dispatch", "Zebra"))).run()
    write_note(memory, f"{CAPPED}--backoff-is-capped.md", CITING, own=True)
    spool(memory, a_job(4, request="Look at getRetryBackoff again"))
    await scribe(memory, ScriptedModel(Broken("ollama does not answer"))).run()
    facts = facts_of(here)
    facts.remember("Releases are cut on Fridays.", "project", source=FIRST)
    facts.remember("The user prefers tabs.", "global")
    return memory


async def no_model() -> Model:
    raise NoModel("no model")


def a_keeper(
    here: Here, librarian: Callable[[], Awaitable[Model]] = no_model, scribe: Callable[[], None] = lambda: None
) -> Keeper:
    return Keeper(here, librarian=librarian, scribe=scribe, switch=lambda: "on")


@asynccontextmanager
async def viewing(
    here: Here,
    *,
    size: tuple[int, int] = (160, 36),
    model: Model | None = None,
    note: str = "",
    query: str = "",
    theme: Theme = "auto",
) -> AsyncIterator[Seen]:
    begun = list[str]()

    async def librarian() -> Model:
        return model or ScriptedModel("It is tried five times [1].")

    desk = a_keeper(here, librarian, lambda: begun.append("scribe"))
    app = MemoryApp(desk, theme=theme, note=note, query=query)
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        seen = Seen(here, Memory.of(here.root, here.home), pilot, begun)
        await until(pilot, lambda: seen.screen.listing.overview.today)
        yield seen
    desk.close()
