"""A process of its own that asks the librarian's tools a thousand hostile things, and tells what came of it."""

import asyncio
import hashlib
import json
import os
import random
import sys
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG

from ogcode.agent.events import ignore
from ogcode.agent.facts.store import Facts
from ogcode.agent.files.openat import open_below
from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.index.reading import Notes, Scope
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.accepted import Accepted
from ogcode.agent.tool import ToolError
from ogcode.agent.turn import ToolCall
from ogcode.librarian.library import Library
from ogcode.librarian.recall import recall
from ogcode.librarian.tools import librarian_tools

MUTATORS = (
    *(f"os.{name}" for name in ("remove", "rename", "mkdir", "rmdir", "link", "symlink", "truncate", "chmod", "chown")),
    *(f"os.{name}" for name in ("utime", "setxattr", "removexattr", "system", "exec", "fork", "forkpty", "kill")),
    *("os.posix_spawn", "subprocess.Popen", "shutil.", "tempfile.", "socket.", "sqlite3.connect", "ctypes."),
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ODD = (
    *("", ".", "..", "/", "~", "../..", "%2e%2e", "..\\..", "\0", "x\0y", "\ud800", "\u202e", "a\nb", "[[", "]]", "#"),
    *("/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/dev/zero", "/dev/stdin", "file:///etc/passwd"),
    *("config.toml", "index.db", "scribe.log", "../repo/secret.md", "usage.jsonl", ".gitignore", "CON", "-rf", "$HOME"),
    *("'; drop table notes; --", '"', "x AND", "NEAR(", "col:x", "*", "漢字", "𝓧", "İ", "é", "Verbatim", "verbatim "),
    *("# Outcome", "Outcome", "request", "Topics", "---", "title", "1" * 400, "a" * 200_000, "../" * 5_000),
)
NUMBERS = (0, 1, -1, 5, 11, 10**9, -(10**9), 10**30, 2**63, -(2**63))


def tree(folder: Path) -> str:
    """Hash names, kinds, modes, times, links and contents of all that lies in a folder, but for the index."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.name.startswith("index.db"):
            continue
        facts = path.lstat()
        kept = (facts.st_mode, facts.st_uid, facts.st_nlink, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        if S_ISREG(facts.st_mode):
            with path.open("rb") as file:
                content = file.read(1_000_000)
        else:
            content = os.fsencode(path.readlink()) if path.is_symlink() else b""
        seen.update(f"{path}\n{kept if not path.is_dir() else kept[:3]}\n".encode("utf-8", "replace") + content)
    return seen.hexdigest()


def hostile(chance: random.Random, names: list[str]) -> str:
    """Make up a word: a name that there is, something odd, or several of them glued together."""
    pieces = [chance.choice(names if chance.random() < 0.6 else ODD) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    word = chance.choice(("/", "", "#", "\n", "--")).join(pieces)
    match chance.randrange(8):
        case 0:
            return word[: chance.randrange(len(word) + 1)]
        case 1:
            return f"{chance.choice(ODD)}/{word}"
        case 2:
            return f"[[{word}#{chance.choice(ODD)}]]"
        case _:
            return word


def facts(memory: Memory, *, trusted: bool) -> Facts:
    """Open the facts of a place, as they were accepted."""
    root, home = memory.root, memory.home
    accepted = Accepted(home, root.top)
    return Facts(root, home, root.top, trusted=trusted, accepted=accepted, secrets=tuple, now=lambda: datetime.now(UTC))


async def main(repo: Path, home: Path, scope: dict[str, int] | None, trusted: bool, swaps: dict[str, str]) -> None:
    memory = Memory.of(find_root(repo, None), home)
    store = memory.root.store
    notes = Notes(open_index(memory), store, Scope(scope), trusted=trusted)
    library = Library(notes, memory.root.sessions, memory.root.top, memory.seal)
    kept = facts(memory, trusted=trusted)
    if scope is None:
        library.find_facts = lambda: kept.known().of_project()
    tools = librarian_tools(library)
    names = [str(path.relative_to(store)) for path in sorted(store.rglob("*"))]
    names += [
        "facts",
        "MEMORY.md",
        "dispatch-facts.md",
        *(fact.id for fact in facts(memory, trusted=True).known().facts),
    ]
    names += [name.rpartition("/")[2] for name in names] + [name.rpartition("/")[2][:28] for name in names]
    files = [name for name in names if name.endswith((".md", ".json"))]
    for victim, instead in swaps.items():  # what was a note or a folder of notes is something else by now
        (store / victim).rename(home / f"was-{instead.replace('/', '-')}")
        (home / instead).rename(store / victim)
    before = tree(repo.parent)
    done = list[str]()

    def watch(event: str, given: tuple[object, ...]) -> None:
        if event == "open" and isinstance(given[2], int) and given[2] & WRITING:
            done.append(f"open {given[0]!r}")
        if event.startswith(MUTATORS) and event != "ctypes.get_errno":  # of `openat2`, which tells what it opens
            done.append(f"{event} {given!r}"[:200])

    os.close(open_below(os.open("/", os.O_RDONLY), "etc", os.O_RDONLY))  # the system's call is looked up once
    sys.addaudithook(watch)
    chance, told, refused = random.Random(11), list[str](), 0
    for turn in range(1_000):
        wanted = chance.choice(tools)
        arguments = {
            name: chance.choice(NUMBERS) if hint is int else hostile(chance, names)
            for name, hint in wanted.hints.items()
            if chance.random() < 0.7 or name == "path"
        }
        if wanted.name == "read" and chance.random() < 0.6:  # an honest question, of what may be out of scope
            path = files[turn % len(files)]  # each of them comes up
            section = chance.choice(("Verbatim", "Verbatim", "Outcome", "Request", ""))
            arguments = {"path": path, "section": section}
        try:
            told.append(await wanted.function(**wanted.arguments(json.dumps(arguments))))
        except ToolError as error:
            refused += 1
            told.append(str(error))
    reading = ToolCall("", "read", json.dumps({"path": names[0]}))
    answer = await recall("dispatch tries?", library=library, model=ScriptedModel(reading, "Five [1]."), emit=ignore)
    told.append(answer.told())
    same = tree(repo.parent) == before
    writes = [*done]
    with open(os.devnull, "w"):  # noqa: PTH123  # the watch works
        seen = len(done) - len(writes)
    result = {"told": told, "refused": refused, "writes": writes, "same": same, "control": seen}
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    repo, home, scope, trusted, swaps = sys.argv[1:]
    asyncio.run(main(Path(repo), Path(home), json.loads(scope), json.loads(trusted), json.loads(swaps)))
