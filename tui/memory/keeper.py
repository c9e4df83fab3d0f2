"""Memory on the disk of one place, for those who look at it: read beside the screen, by one thread of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

from ogcode.agent.facts.fact import Fact
from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.switch import MEANS, MemorySwitch
from ogcode.agent.model import Model
from ogcode.tui.memory.changing import Changes, path_of
from ogcode.tui.memory.desk import Found, Item, Lead, NotDone, Noted, Overview, Ruled, Saving, Spoiled
from ogcode.tui.memory.leads import leads_of
from ogcode.tui.memory.looking import look_over, newest
from ogcode.tui.memory.reader import Reader
from ogcode.tui.memory.search import search
from ogcode.tui.place import Here

P = ParamSpec("P")
T = TypeVar("T")


class Keeper:
    """Implements `MemoryDesk`."""

    def __init__(
        self,
        here: Here,
        *,
        librarian: Callable[[], Awaitable[Model]],
        scribe: Callable[[], None],
        switch: Callable[[], MemorySwitch],
    ) -> None:
        self._here = here
        self._librarian = librarian
        self._switch = switch
        memory = Memory.of(here.root, here.home)
        self._changes = Changes(here, memory, scribe)
        self._reader = Reader(here, memory)
        self._thread = ThreadPoolExecutor(1, "memory")
        """An index belongs to the thread that opened it."""

    def state(self) -> str:
        switch = self._switch()
        return f"Memory is {switch}: {MEANS[switch]}"

    def changed(self) -> bool:
        return self._reader.changed()

    async def newest(self) -> Overview:
        return await self._beside(newest, self._reader)

    async def overview(self) -> Overview:
        return await self._beside(look_over, self._reader)

    async def saving(self) -> Saving:
        from ogcode.agent.usage import read_ledger
        from ogcode.tui.commands.spending import add_up

        def read() -> Saving:
            spending = add_up(read_ledger(self._here.root.store))
            return Saving(spending.roles["agent"].usage.input_tokens, spending.replay.tokens)

        return await asyncio.to_thread(read)

    async def find(self, query: str) -> Found:
        return await self._beside(search, self._reader, query)

    async def text(self, item: Item) -> str:
        match item:
            case Noted(entry):
                return await self._beside(self._reader.shown, entry)
            case Fact(title=title, text=text):
                return f"# {title}\n\n{text}" if title else text
            case Ruled(text=text):
                return text
            case Spoiled(why=why):
                return why

    async def leads(self, item: Item) -> Sequence[Lead]:
        return await self._beside(lambda: list(leads_of(self._reader, item)))

    async def note(self, name: str) -> Noted | None:
        return await self._beside(self._reader.named, name)

    async def pin(self, items: Sequence[Item], *, pinned: bool) -> str:
        return await self._beside(lambda: self._changes.pin(items, pinned=pinned))

    async def forget(self, items: Sequence[Item]) -> str:
        return await self._beside(self._changes.forget, items)

    async def undo(self) -> str:
        return await self._beside(self._changes.undo)

    async def rescribe(self, items: Sequence[Item]) -> str:
        return await self._beside(self._changes.rescribe, items)

    async def ask(self, question: str) -> str:
        from ogcode.tui.memory.asking import ask  # only where somebody asks

        return await ask(self._here, question, self._librarian, recorded=self._switch() == "on")

    def path(self, item: Item) -> Path:
        return path_of(self._here, item)

    def edit(self, item: Item) -> str:
        return self._changes.edit(item)

    def visit(self, lead: Lead | Item) -> str:
        return self._changes.visit(lead)

    def close(self) -> None:
        """Let go of the thread, once it has done what it was asked for."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _beside(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Have something done by the one thread; what was cancelled before its turn is not begun."""
        try:
            return await asyncio.wrap_future(self._thread.submit(work, *given, **named))
        except OSError as error:
            raise NotDone(f"{error.filename or 'memory'}: {error.strerror or error}") from error
