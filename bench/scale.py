"""What memory costs at size: CPU time and peak memory of rebuilding, refreshing, searching, and the map.

    python bench/scale.py [NOTES]

Makes so many notes (10,000 unless told) of about 1.9 kB in a folder of their own, with words as rare and as common as
in a language, one word in every note, and twenty notes a conversation. Beside them stands the least that could do the
same in this run: a bare SQLite that gets the same words, a bare `scandir` with `stat`.
"""

import asyncio
import contextlib
import json
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import accumulate
from os import scandir
from pathlib import Path

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Index, Memory, open_index
from ogcode.agent.index.reading import Notes, Scope
from ogcode.agent.memory.notes import frontmatter
from ogcode.agent.window.tokens import count
from ogcode.librarian.library import Library
from ogcode.librarian.tools import librarian_tools

VOCABULARY = 30_000
EVERYWHERE = "everywhere"
START = datetime(2024, 1, 1, tzinfo=UTC)
ASKED = 100
"""Questions of each kind."""


def main() -> None:
    if len(sys.argv) == 3:
        (measure if sys.argv[1] == "measure" else measure_without)(Path(sys.argv[2]))
        return
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), number)
        for what in ("measure", "without"):  # each in a process of its own, whose peak memory is its own
            subprocess.run([sys.executable, "-P", __file__, what, folder], check=True)


def fill(folder: Path, number: int) -> None:
    """Write the notes, and the manifest that claims them."""
    memory = opened(folder)
    memory.root.memory.mkdir(parents=True)
    memory.manifest.path.parent.mkdir(parents=True)
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghiklmnoprstuvw", k=chance.randint(3, 10))) for _ in range(VOCABULARY)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))

    def prose(length: int) -> str:
        return " ".join(chance.choices(words, cum_weights=weights, k=length))

    claims = list[str]()
    for turn in range(number):
        session = sha256(str(turn // 20).encode()).hexdigest()[:32]
        started = START + timedelta(minutes=7 * turn)
        files = {f"{'/'.join(chance.choices(words[:400], k=3))}.py": "9f2c01d4a7be" for _ in range(2)}
        title = prose(6)
        facts = {"title": title, "session_id": session, "created_at": f"{started:%Y-%m-%dT%H:%M:%SZ}"}
        head = frontmatter({**facts, "turn": turn % 20, "outcome": "done", "scribe": "extract", "files": files})
        calls = [f"- edit {name}: get{prose(1).title()}Name {prose(12)}" for name in files]
        text = (
            f"{head}\n# {title}\n\nTopics: {', '.join(prose(1) for _ in range(4))}\n\n## Request\n{prose(40)}\n\n"
            f"## What was done\n{chr(10).join(calls)}\n\n## Outcome\n{EVERYWHERE} {prose(120)}\n"
        )
        identity = f"{started:%Y-%m-%dT%H%M%SZ}--{session[:8]}"
        (memory.root.memory / f"{identity}--{'-'.join(title.split()[:4])}.md").write_text(text)
        claims.append(json.dumps({"note": identity, "sha256": sha256(text.encode()).hexdigest()}))
    memory.manifest.path.write_text("\n".join([*claims, ""]))


def opened(folder: Path) -> Memory:
    (folder / "repository").mkdir(exist_ok=True)
    return Memory.of(find_root(folder / "repository", None), folder / "home")


def measure(folder: Path) -> None:
    memory = opened(folder)
    number = len(list(memory.root.memory.iterdir()))
    runs = 5 if number <= 20_000 else 2
    size = statistics.mean(path.stat().st_size for path in memory.root.memory.iterdir())
    print(f"{number:,} notes of {size:,.0f} bytes; CPU ms{'':16}{'n':>5}{'median':>9}{'p95':>9}{'max':>9}")
    show("scandir and stat", [timed(lambda: bare_listing(memory)) for _ in range(runs * 3)])
    show("rebuild", [rebuilt(memory) for _ in range(runs)])
    show("refresh, nothing changed", [timed(lambda: open_index(memory).close()) for _ in range(runs * 3)])
    path = next(memory.root.memory.iterdir())
    content = path.read_text()
    show("refresh, one note changed", [edited(memory, path, f"{content}{run}\n") for run in range(runs * 3)])
    path.write_text(content)
    with contextlib.closing(open_index(memory)) as index:
        ask(memory, index)
        print(f"peak memory {peak()} MB, the index {memory.root.database.stat().st_size >> 20} MB")
        show("bare SQLite, the same words", [timed(lambda: bare_index(index.connection)) for _ in range(runs)])


def measure_without(folder: Path) -> None:
    """Measure where no index can be."""
    memory = opened(folder)
    memory.root.database.unlink()
    memory.root.database.mkdir()

    def found() -> None:
        with contextlib.closing(open_index(memory)) as index:
            Notes(index, memory.root.store, Scope(), trusted=False).find(f"{EVERYWHERE} zebra")

    number = len(list(memory.root.memory.iterdir()))
    show("all of it without an index", [timed(found) for _ in range(3 if number <= 20_000 else 1)])
    print(f"peak memory {peak()} MB")


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def ask(memory: Memory, index: Index) -> None:
    """Search for rare words, middling ones, and the one in every note; then the map."""
    notes = Notes(index, memory.root.store, Scope(), trusted=False)
    rare, common = by_count(memory)
    chance = random.Random(11)

    def some(pool: Sequence[str]) -> list[str]:
        return [" ".join(chance.sample(pool, 3)) for _ in range(ASKED)]

    asked = {
        "three rare words": some(rare),
        "three common words": some(common),
        "one word in every note": [EVERYWHERE] * ASKED,
        "that and a rare one": [f"{EVERYWHERE} {word}" for word in chance.sample(rare, 40)],
    }
    for kind, questions in asked.items():
        show(f"search, {kind}", [timed(partial(notes.find, words)) for words in questions])
    sections = [timed(partial(notes.passages, words, characters=4_000)) for words in some(rare)]
    show("sections, three rare words", sections)
    (memory_map, *_) = librarian_tools(Library(notes, memory.root.sessions, memory.root.top, memory.seal))

    async def told(folder: str = "") -> str:
        return await memory_map.function(folder=folder)

    one = notes.conversations()[0].tag
    show("map", [timed(lambda: asyncio.run(told())) for _ in range(20)])
    show("map of a conversation", [timed(lambda: asyncio.run(told(one))) for _ in range(20)])
    print(f"the map has {count(asyncio.run(told()))} tokens")


def by_count(memory: Memory) -> tuple[list[str], list[str]]:
    """Give words that about one note in two hundred holds, or fewer, and words that one in ten does, or more."""
    sample = sorted(memory.root.memory.iterdir())[:2_000]
    held: dict[str, int] = {}
    for path in sample:
        for word in {*path.read_text().partition("## Outcome")[2].split()} - {EVERYWHERE}:
            held[word] = held.get(word, 0) + 1
    rare = sorted(word for word, number in held.items() if 3 <= number <= len(sample) // 200)
    return rare, sorted(word for word, number in held.items() if number >= len(sample) // 10)


def rebuilt(memory: Memory) -> float:
    memory.root.database.unlink(missing_ok=True)
    return timed(lambda: open_index(memory).close())


def edited(memory: Memory, path: Path, text: str) -> float:
    path.write_text(text)
    return timed(lambda: open_index(memory).close())


def bare_listing(memory: Memory) -> None:
    for entry in scandir(memory.root.memory):
        entry.stat(follow_symlinks=False)


def bare_index(index: sqlite3.Connection) -> None:
    """Put the same words into a database of nothing else."""
    columns = "title, topics, files, body, parts, dates, session"
    with contextlib.closing(sqlite3.connect(":memory:")) as bare:
        bare.execute(f"create virtual table words using fts5({columns}, tokenize = 'porter unicode61')")
        bare.executemany(
            "insert into words values (?, ?, ?, ?, ?, ?, ?)", index.execute(f"select {columns} from words")
        )


def timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return 1e3 * (time.process_time() - started)


def show(what: str, times: Sequence[float]) -> None:
    ordered = sorted(times)
    late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    print(f"  {what:40}{len(times):5}{statistics.median(times):9.1f}{late:9.1f}{ordered[-1]:9.1f}", flush=True)


if __name__ == "__main__":
    main()
