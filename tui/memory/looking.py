"""Look all over a memory: notes, what waits for one, facts, rules, and what can't be read."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from ogcode.agent.facts.fact import Fact
from ogcode.agent.index.cache import Memory
from ogcode.agent.index.reading import Notes, Scope
from ogcode.agent.memory.health import left_out, shut
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import is_ours, jobs
from ogcode.agent.rules import find_rules
from ogcode.tui.memory.desk import Noted, Overview, Ruled, Spoiled
from ogcode.tui.memory.reader import Reader
from ogcode.tui.place import Here

FIRST, MOST = 200, 20_000
"""Notes that are listed at first, and at most; the search is over all of them."""


def newest(reader: Reader) -> Overview:
    """Give the newest notes only."""
    return Overview([Noted(entry) for entry in reader.notes(afresh=True).entries(limit=FIRST)])


def look_over(reader: Reader) -> Overview:
    """Give all that there is; what can't be read becomes a notice."""
    here, notes = reader.here, reader.notes(afresh=True)
    entries = notes.entries(limit=MOST)
    there = notes.count()
    spooled = list(jobs(here.root.store))
    failures = {
        job.id: job.failure
        for _, job, mark in spooled
        if isinstance(job, Job) and job.failure and (here.trusted or is_ours(job, mark, here.seal))
    }
    [[indexed]] = notes.index.execute("select count(*) from notes where pending = 0")
    notices = [*_unread(reader.memory, indexed)]
    if not here.trusted:
        everyone = Notes(notes.index, here.root.store, Scope(), trusted=True).count()
        if everyone > there:
            notices.append(f"{everyone - there:,} notes by others are left out: this folder is not trusted")
    reader.facts = _known(here, notices)
    return Overview(
        notes=[Noted(entry, failures.get(entry.id, "")) for entry in entries],
        facts=reader.facts,
        rules=list(_rules(here, notices)),
        spoiled=[Spoiled(path.name, str(job)) for path, job, _ in spooled if not isinstance(job, Job)],
        days=Counter(entry.created_at[:10] for entry in entries if entry.created_at),
        today=here.now().date().isoformat(),
        left=there - len(entries),
        notices=notices,
    )


def _unread(memory: Memory, indexed: int) -> Iterator[str]:
    """Say what is left out because it can't be read; of many notes, how many."""
    yield from (f".ogcode/{each.path.lstrip('.')}: {each.said}" for each in shut(memory))
    failed = list[OSError]()
    there = sum(len(_notes_of(names)) for _, _, names in os.walk(memory.root.memory, onerror=failed.append))
    if there == indexed and not failed:
        return  # to look at each file takes its time
    match left_out(memory):
        case [one]:
            yield f".ogcode/{one.path}: {one.said}"
        case [_, *_] as several:
            yield f"{len(several):,} files among the notes are left out; ogcode memory doctor says why"


def _notes_of(names: Sequence[str]) -> list[str]:
    return [name for name in names if name.endswith(".md") and not name.startswith(".")]


def _known(here: Here, notices: list[str]) -> Sequence[Fact]:
    from ogcode.tui.desks.facts import listed

    try:
        return listed(here)
    except OSError as error:
        notices.append(f"facts can't be read: {error.filename}: {error.strerror}")
        return ()


def _rules(here: Here, notices: list[str]) -> Iterator[Ruled]:
    from ogcode.tui.knowledge import facts_here

    try:
        found = find_rules(home=here.home, top=here.root.top, folder=here.folder, trusted=here.trusted, notices=notices)
        for each in (*found, *facts_here(here).known().written):
            base = here.root.top if each.theirs else here.home
            yield Ruled(each.name, base / each.name.removeprefix("~/.ogcode/"), each.text, each.theirs)
    except OSError as error:
        notices.append(f"rules can't be read: {error.filename}: {error.strerror}")
