"""Memory on the disk of one place, for those who look at it: read beside the screen, by one thread of its own."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from ogcode.agent.facts.fact import Fact
from ogcode.agent.facts.find import speaking
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Entry, Notes, Scope
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.markdown import head_lines
from ogcode.agent.memory.spool import is_ours, jobs
from ogcode.agent.memory.switch import MEANS, MemorySwitch
from ogcode.agent.model import Model
from ogcode.agent.rules import find_rules
from ogcode.agent.undo.rewound import rewound
from ogcode.tui.memory.changing import Changes, path_of
from ogcode.tui.memory.desk import Found, Item, Lead, NotDone, Noted, Overview, Ruled, Spoiled, key_of, words_of
from ogcode.tui.place import Here

P = ParamSpec("P")
T = TypeVar("T")

FIRST, MOST = 200, 20_000
"""Notes that are listed at first, and at most; the search is over all of them."""

FOUND, EXCERPTS = 300, 60
"""Notes that a search lists, and those of them that are read to show the line that was found."""

READ, BEFORE = 20_000, 12
"""Characters in which that line is looked for, and how many of it may stand before what is found."""

LINKS, FILES = 40, 40
"""Notes and files that are looked up behind one note."""

LINK = re.compile(r"\[\[([^\[\]\n#|]{1,200})(?:#[^\[\]\n]{0,200})?\]\]")


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
        self._memory = Memory.of(here.root, here.home)
        self._changes = Changes(here, self._memory, scribe)
        self._reader = ThreadPoolExecutor(1, "memory")
        """An index belongs to the thread that opened it."""
        self._notes: Notes | None = None
        self._facts: Sequence[Fact] = ()
        self._stamps: Sequence[int] = ()

    def state(self) -> str:
        switch = self._switch()
        return f"Memory is {switch}: {MEANS[switch]}"

    def changed(self) -> bool:
        return self._stamps != self._stamped()

    async def newest(self) -> Overview:
        def read() -> Overview:
            notes = self._opened(afresh=True)
            return Overview([Noted(entry) for entry in notes.entries(limit=FIRST)])

        return await self._beside(read)

    async def overview(self) -> Overview:
        return await self._beside(self._overview)

    async def saving(self) -> str:
        from ogcode.agent.usage import read_ledger
        from ogcode.tui.commands.spending import add_up

        def read() -> str:
            spending = add_up(read_ledger(self._here.root.store))
            sent, replay = spending.roles["agent"].usage.input_tokens, spending.replay.tokens
            if replay <= sent:
                return f"sent {sent:,} tokens" if sent else ""
            return f"sent {sent:,} tokens, replay would be {replay:,}"

        return await asyncio.to_thread(read)

    async def find(self, query: str) -> Found:
        return await self._beside(self._found, query)

    async def text(self, item: Item) -> str:
        match item:
            case Noted(entry):
                return await self._beside(self._text, entry)
            case Fact(title=title, text=text):
                return f"# {title}\n\n{text}" if title else text
            case Ruled(text=text):
                return text
            case Spoiled(why=why):
                return why

    async def leads(self, item: Item) -> Sequence[Lead]:
        return await self._beside(lambda: list(self._leads(item)))

    async def note(self, name: str) -> Noted | None:
        return await self._beside(self._named, name)

    async def pin(self, items: Sequence[Item], *, pinned: bool) -> str:
        return await self._beside(lambda: self._changes.pin(items, pinned=pinned))

    async def forget(self, items: Sequence[Item]) -> str:
        return await self._beside(self._changes.forget, items)

    async def undo(self) -> str:
        return await self._beside(self._changes.undo)

    async def rescribe(self, items: Sequence[Item]) -> str:
        return await self._beside(self._changes.rescribe, items)

    async def ask(self, question: str) -> str:
        from ogcode.agent.events import Answered, Event
        from ogcode.agent.model import ModelError
        from ogcode.agent.models.slot import at_work
        from ogcode.agent.usage import log_usage
        from ogcode.librarian.recall import RecallFailed, recall
        from ogcode.tui.toolbox import open_library

        here = self._here
        try:
            model = await self._librarian()

            def count(event: Event) -> None:
                if isinstance(event, Answered) and self._switch() == "on":
                    log_usage(
                        here.root.store,
                        event.usage,
                        role="librarian",
                        model=model.name,
                        session_id="",
                        turn=0,
                        now=here.now(),
                    )

            with at_work(here.root.locks):
                answer = await recall(question, library=open_library(here, None), model=model, emit=count)
        except (RecallFailed, ModelError) as error:
            raise NotDone(str(error)) from error
        return answer.told()

    def path(self, item: Item) -> Path:
        return path_of(self._here, item)

    def edit(self, item: Item) -> str:
        return self._changes.edit(item)

    def visit(self, lead: Lead | Item) -> str:
        return self._changes.visit(lead)

    def close(self) -> None:
        """Let go of the thread, once it has done what it was asked for."""
        self._reader.shutdown(wait=False, cancel_futures=True)

    async def _beside(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Have something done by the one thread; what was cancelled before its turn is not begun."""
        try:
            return await asyncio.wrap_future(self._reader.submit(work, *given, **named))
        except OSError as error:
            raise NotDone(f"{error.filename or 'memory'}: {error.strerror or error}") from error

    # What follows runs in that thread.

    def _opened(self, *, afresh: bool = False) -> Notes:
        if self._notes is None or afresh:
            self._stamps = self._stamped()
            scope = Scope(rewound=rewound(self._here.root.store / "undo", self._here.seal))
            index, store = open_index(self._memory), self._here.root.store
            if self._notes:
                self._notes.index.close()
            self._notes = Notes(index, store, scope, trusted=self._here.trusted, now=self._here.now)
        return self._notes

    def _overview(self) -> Overview:
        here, notes = self._here, self._opened(afresh=True)
        entries = notes.entries(limit=MOST)
        there = notes.count()
        spooled = list(jobs(here.root.store))
        failures = {
            job.id: job.failure
            for _, job, mark in spooled
            if isinstance(job, Job) and job.failure and (here.trusted or is_ours(job, mark, here.seal))
        }
        notices = list[str]()
        if not here.trusted:
            everyone = Notes(notes.index, here.root.store, Scope(), trusted=True).count()
            if everyone > there:
                notices.append(f"{everyone - there:,} notes by others are left out: this folder is not trusted")
        self._facts = self._known(notices)
        return Overview(
            notes=[Noted(entry, failures.get(entry.id, "")) for entry in entries],
            facts=self._facts,
            rules=list(self._rules(notices)),
            spoiled=[Spoiled(path.name, str(job)) for path, job, _ in spooled if not isinstance(job, Job)],
            days=Counter(entry.created_at[:10] for entry in entries if entry.created_at),
            today=here.now().date().isoformat(),
            left=there - len(entries),
            notices=notices,
        )

    def _known(self, notices: list[str]) -> Sequence[Fact]:
        from ogcode.tui.facts_desk import listed

        try:
            return listed(self._here)
        except OSError as error:
            notices.append(f"facts can't be read: {error.filename}: {error.strerror}")
            return ()

    def _rules(self, notices: list[str]) -> Iterator[Ruled]:
        from ogcode.tui.knowledge import facts_here

        here = self._here
        try:
            found = find_rules(
                home=here.home, top=here.root.top, folder=here.folder, trusted=here.trusted, notices=notices
            )
            for each in (*found, *facts_here(here).known().written):
                base = here.root.top if each.theirs else here.home
                yield Ruled(each.name, base / each.name.removeprefix("~/.ogcode/"), each.text, each.theirs)
        except OSError as error:
            notices.append(f"rules can't be read: {error.filename}: {error.strerror}")

    def _found(self, query: str) -> Found:
        notes, wanted = self._opened(), query.casefold().split()
        facts = [fact for fact in self._facts if all(word in _said(fact) for word in wanted)]
        entries = notes.begun(query, limit=FOUND)
        nearest = not entries and len(query.split()) > 1
        if nearest:
            entries = notes.find(query, limit=FOUND)
            facts = facts or [fact for _, fact in speaking(query, self._facts)]
        if not entries and re.match(r"\d{4}-\d\d|[0-9a-f]{8}", query.strip()):
            entries = notes.named(query) or [
                each for one in notes.tagged(query) for each in notes.entries(session=one.session_id)
            ]
        hits = words_of(query)
        read = [Noted(entry, excerpt=self._excerpt(entry, hits)) for entry in entries[:EXCERPTS]]
        return Found([*facts, *read, *map(Noted, entries[EXCERPTS:])], nearest and bool(entries))

    def _excerpt(self, entry: Entry, hits: re.Pattern[str] | None) -> str:
        if hits is None:
            return ""
        try:
            text = self._opened().text(entry)[:READ]
        except OSError:
            return ""
        lines = text.split("\n")
        body = [line for line in lines[head_lines(lines) :] if not line.startswith(("#", "Topics:"))]
        told = [(len(set(map(str.casefold, hits.findall(line)))), -place) for place, line in enumerate(body)]
        most, place = max(told, default=(0, 0))
        if not most:
            return ""
        line = body[-place].strip(" -*")
        at = next(hits.finditer(line)).start()
        return line if at < BEFORE else f"… {line[line.rfind(' ', 0, at) + 1 :]}"

    def _text(self, entry: Entry) -> str:
        with suppress(OSError):
            return self._opened().text(entry)
        try:  # it may have been moved, or got its note, since it was listed
            notes = self._opened(afresh=True)
            return next(notes.text(each) for each in notes.named(entry.id))
        except (OSError, StopIteration) as error:
            raise NotDone(f"{entry.id} is gone, or can't be read") from error

    def _named(self, name: str) -> Noted | None:
        near = self._opened().named(name) or self._opened(afresh=True).named(name)
        own = [entry for entry in near if entry.origin == "own"]
        return next(map(Noted, own or near), None)

    def _leads(self, item: Item) -> Iterator[Lead]:
        notes = self._opened()
        match item:
            case Noted(entry):
                text = self._text(entry)
                yield from self._files(entry)
                yield from self._linked(text, notes)
                for other in notes.citing(entry.id, limit=LINKS):
                    with suppress(OSError):
                        if other.id != entry.id and entry.id in "\n".join(LINK.findall(notes.text(other))):
                            yield Lead("cited by", other.title, other.id)
                for fact in self._facts:
                    if fact.source == entry.id or entry.id in fact.text:
                        yield Lead("cited by", fact.summary, fact=key_of(fact))
            case Fact(text=text, source=source):
                if source:
                    yield replace(next(self._linked(f"[[{source}]]", notes)), kind="from")
                yield from self._linked(text, notes)

    def _linked(self, text: str, notes: Notes) -> Iterator[Lead]:
        for name in [*dict.fromkeys(map(str.strip, LINK.findall(text)))][:LINKS]:
            near = notes.named(name)
            yield Lead("cites", near[0].title, near[0].id) if near else Lead("cites", name, mark="gone")

    def _files(self, entry: Entry) -> Iterator[Lead]:
        from ogcode.librarian.library import Library

        here, named = self._here, list(entry.files)[:FILES]
        stale = Library(self._opened(), here.root.sessions, here.root.top, here.seal).stale(entry)
        for path in named:
            gone = not self._changes.inside(path)
            yield Lead("file", path, mark="gone" if gone else "changed since" if path in stale else "")

    def _stamped(self) -> Sequence[int]:
        root, stamps = self._here.root, list[int]()
        for place in (root.memory, root.spool, root.store / "facts", root.top / "MEMORY.md", self._here.home):
            try:
                stamps.append(place.stat().st_mtime_ns)
            except OSError:
                stamps.append(0)
        return stamps


def _said(fact: Fact) -> str:
    return f"{fact.id} {fact.title} {fact.summary} {fact.text}".casefold()
