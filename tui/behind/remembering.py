"""`/remember` and `/forget`: what a person wants kept, and what they want gone."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ogcode.agent.facts.fact import Fact, FactRefused
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.tui.place import Here

if TYPE_CHECKING:
    from ogcode.agent.index.reading import Entry

FACTS, NOTES = 8, 8
"""That are offered at most."""


class Remembering:
    """Implements `RememberDesk`."""

    def __init__(self, here: Here, memory: Callable[[], MemorySwitch]) -> None:
        self._here = here
        self._memory = memory
        self._offered: list[Fact | Entry] = []

    @property
    def offered(self) -> int:
        return len(self._offered)

    async def remember(self, text: str) -> str:
        from ogcode.tui.desks.facts import remembered

        if (switch := self._memory()) != "on":
            return f"nothing was kept: memory is {switch}; /memory on switches it on"
        about_user, said = text.startswith("-g "), text.removeprefix("-g ").strip()
        try:
            saved = await asyncio.to_thread(remembered, self._here, said, "global" if about_user else "project")
        except FactRefused as error:
            return f"nothing was kept: {error}"
        except OSError as error:
            return f"nothing was kept: {error.filename or 'a file'}: {error.strerror}"
        fact = saved.fact
        if not saved.new:
            return f"already known as {fact.id} ({fact.scope})"
        alike = "".join(f"; alike: {each.id} {each.summary}" for each in saved.alike)
        return f"remembered {fact.id} ({fact.scope}): {fact.summary} · undo: ogcode memory undo {fact.id}{alike}"

    async def offer(self, words: str) -> Sequence[str]:
        self._offered = await asyncio.to_thread(self._matching, words)
        return [
            f"fact {each.id} ({each.scope}): {each.summary}"
            if isinstance(each, Fact)
            else f"note {each.id}: {each.title}"
            for each in self._offered
        ]

    async def forget(self, numbers: Sequence[int]) -> str:
        if not numbers or not all(1 <= number <= len(self._offered) for number in numbers):
            return f"nothing was forgotten: there are {len(self._offered)} to choose from"
        chosen = [self._offered[number - 1] for number in dict.fromkeys(numbers)]
        self._offered = []
        return await asyncio.to_thread(self._forget, chosen)

    def _matching(self, words: str) -> "list[Fact | Entry]":
        from ogcode.tui.desks.facts import listed, matching
        from ogcode.tui.toolbox import open_library

        named = [fact for fact in listed(self._here) if words.startswith("m-") and fact.id.startswith(words)]
        notes = open_library(self._here, None).notes
        found = notes.named(words) or notes.find(words, limit=NOTES)
        return [*(named or matching(self._here, words)[:FACTS]), *([] if named else found[:NOTES])]

    def _forget(self, chosen: "Sequence[Fact | Entry]") -> str:
        from ogcode.agent.memory.trash import TrashRefused, forget
        from ogcode.tui.desks.facts import forgotten

        gone, notes = list[str](), [each for each in chosen if not isinstance(each, Fact)]
        try:
            for each in chosen:
                if isinstance(each, Fact):
                    gone.append(forgotten(self._here, each.id).id)
            forget(self._here.root.store, [(note.id, note.path) for note in notes], self._here.now())
            gone += [note.id for note in notes]
        except (FactRefused, TrashRefused, OSError) as error:
            told = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
            return f"forgotten: {', '.join(gone) or 'nothing'}; then it went wrong: {told}"
        return f"forgotten: {', '.join(gone)} · ogcode memory undo brings each back by its name"
