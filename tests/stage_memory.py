"""A memory that is what a test says it is, for the app around its view."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.switch import MEANS, MemorySwitch
from ogcode.tui.memory.desk import Found, Item, Lead, Noted, Overview, Saving


def a_note(identity: str, title: str, topics: str, when: str, *, origin: str = "own", pending: bool = False) -> Noted:
    entry = Entry(f"memory/{identity}.md", identity, title, (topics,), "3f8c21aa", when, 1, "done", "", origin, pending)
    return Noted(entry)


NOTES = (
    a_note("n2", "Dispatch retry fix", "retries, backoff", "2026-09-12T09:14:12Z", pending=True),
    a_note("n1", "CI cache", "cache, setup-go", "2026-09-11T16:02:00Z", origin="foreign"),
)


@dataclass
class StagedMemory:
    """A `MemoryDesk` that changes nothing."""

    switch: Callable[[], MemorySwitch]
    notes: Sequence[Noted] = NOTES
    note_text: str = "# A note\n\nTopics: retries"

    def state(self) -> str:
        return f"Memory is {self.switch()}: {MEANS[self.switch()]}"

    def changed(self) -> bool:
        return False

    async def newest(self) -> Overview:
        return Overview(self.notes)

    async def overview(self) -> Overview:
        return Overview(self.notes, days={"2026-09-12": 3}, today="2026-09-12")

    async def saving(self) -> Saving:
        return Saving(14_200, 99_000)

    async def find(self, query: str) -> Found:
        return Found([note for note in self.notes if query.casefold() in note.entry.title.casefold()])

    async def text(self, item: Item) -> str:
        return f"{self.note_text}\n{item.entry.id if isinstance(item, Noted) else ''}"

    async def leads(self, item: Item) -> Sequence[Lead]:
        return [Lead("file", "retry.go", mark="changed since")]

    async def note(self, name: str) -> Noted | None:
        return next((note for note in self.notes if note.entry.id == name), None)

    async def pin(self, items: Sequence[Item], *, pinned: bool) -> str:
        return "pinned"

    async def forget(self, items: Sequence[Item]) -> str:
        return "forgotten"

    async def undo(self) -> str:
        return "back again"

    async def rescribe(self, items: Sequence[Item]) -> str:
        return "to be written anew"

    async def ask(self, question: str) -> str:
        return f"{question} [[n1]]"

    def path(self, item: Item) -> Path:
        return Path("/repo/note.md")

    def edit(self, item: Item) -> str:
        return "nothing was changed"

    def visit(self, lead: Lead | Item) -> str:
        return ""

    def close(self) -> None: ...
