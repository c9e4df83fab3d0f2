"""F28: a hundred thousand notes, none left out, in bounded memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from remembered import a_memory

from ogcode.agent.memory.notes import frontmatter

NOTES = 100_000
SESSIONS = 2_000
LOOK = """
import asyncio, json, resource, sys, time
from pathlib import Path
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Notes, Scope
from ogcode.agent.files.root import find_root
from ogcode.librarian.library import Library
from ogcode.librarian.tools import librarian_tools
memory = Memory.of(find_root(Path(sys.argv[1]), None), Path(sys.argv[2]))
spent = {}
def timed(name, work):
    began = time.process_time()
    result = work()
    spent[name] = round(time.process_time() - began, 3)
    return result
index = timed("open", lambda: open_index(memory))
notes = Notes(index, memory.root.store, Scope(None), trusted=True)
words = ("needleold", "needlenew", "needlemid")
found = timed("needles", lambda: [[entry.id for entry in notes.find(word)] for word in words])
common = timed("common", lambda: len(notes.find("everywhere")))
library = Library(notes, memory.root.sessions, memory.root.top, memory.seal)
memory_map = librarian_tools(library)[0].function
shown = timed("map", lambda: asyncio.run(memory_map()))
count = index.execute("select count(*), count(distinct path) from notes")[0]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"count": count, "found": found, "common": common, "map": len(shown), "peak": peak, "spent": spent}))
"""


def name_of(number: int) -> str:
    minute, hour, day = number % 60, number // 60 % 24, number // 1440
    month, day = divmod(day, 28)
    return f"2025-{month + 1:02}-{day + 1:02}T{hour:02}{minute:02}00Z--{number % SESSIONS:08x}"


def fill(folder: Path) -> None:
    """Write the notes, as the scribe would, but quickly."""
    folder.mkdir(parents=True)
    needles = {7: "needleold", NOTES // 2: "needlemid", NOTES - 1: "needlenew"}
    for number in range(NOTES):
        title = f"Part {number % 977} of module {number % 89}"
        head = frontmatter({"title": title, "session_id": f"{number % SESSIONS:08x}" * 4, "turn": number // SESSIONS})
        words = " ".join(f"word{number * step % 20_011}" for step in (3, 7, 11, 19, 31)) + f" {needles.get(number, '')}"
        body = f"# {title}\n\nTopics: part{number % 977}, module\n\n## Outcome\neverywhere {words}\n"
        (folder / f"{name_of(number)}--part.md").write_text(f"{head}\n{body}")


@pytest.mark.torture
def test_a_hundred_thousand_notes_are_all_found_in_bounded_memory(fast: Path) -> None:
    memory = a_memory(fast)
    fill(memory.root.memory)
    for state in ("built", "found", "nowhere"):
        if state == "nowhere":
            memory.root.database.unlink()
            memory.root.database.mkdir()  # no database can be there
        command = [sys.executable, "-c", LOOK, str(memory.root.path), str(memory.home)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
        told = json.loads(done.stdout)
        print(state, told)  # noqa: T201  # what it is run for
        assert told["count"] == [NOTES, NOTES]
        assert told["found"] == [[name_of(number)] for number in (7, NOTES - 1, NOTES // 2)]
        assert told["common"] > 0
        assert told["map"] < 8_000
        assert told["peak"] < 300_000  # kB
