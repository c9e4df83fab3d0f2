"""Look for what is wrong with a memory: read only, and every trouble comes with what to do about it."""

import contextlib
import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.files.durable import TEMPORARY, Lock
from ogcode.agent.files.git_index import GitIndexUnread, tracked
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.memory.beneath import read_beneath
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.notes import LARGEST
from ogcode.agent.memory.spool import is_ours, jobs
from ogcode.agent.memory.trash import Tombstone, all_forgotten, lost

SHARED = ("memory/", "facts/", "config.toml", ".gitignore")
"""What of `.ogcode` may be committed; all else is one machine's own."""

FOLDERS = ("memory", "spool", "sessions", "locks", "trash")
STRAY = 3600
"""Seconds after which nobody writes an unfinished file any more."""

MANY = 20
"""Notes that are gone of which each is told: on another branch it can be all of them."""


@dataclass(frozen=True, slots=True)
class Trouble:
    kind: str
    path: str
    """From `.ogcode`; of something elsewhere, whole."""
    said: str
    """What is wrong and what to do."""
    line: int = 0


def troubles(memory: Memory, *, trusted: bool) -> list[Trouble]:
    """Find what is wrong with folders, notes, spool, index and what git tracks."""
    root = memory.root
    if not root.store.exists():
        return [*_gone(memory)]
    found = [*_folders(memory)]
    if root.store.is_symlink() or not os.access(root.store, os.R_OK | os.X_OK):
        return found
    return [
        *found,
        *_skipped(root.memory),
        *_strays(root.store),
        *_spooled(memory, trusted=trusted),
        *_indexed(memory, trusted=trusted),
        *_tracked(memory),
        *_gone(memory),
    ]


def shut(memory: Memory) -> list[Trouble]:
    """Find the folders of notes and of what waits for one that are not read."""
    store = memory.root.store
    places = ((store, "."), (memory.root.memory, "memory"), (memory.root.spool, "spool"))
    return [trouble for place, name in places if (trouble := _shut(place, name))]


def left_out(memory: Memory) -> list[Trouble]:
    """Find what lies among the notes, is meant for one, and is not read."""
    found = [] if memory.root.store.is_symlink() else _skipped(memory.root.memory)
    return [trouble for trouble in found if trouble.kind == "unreadable" or trouble.path.endswith(".md")]


def gone(memory: Memory) -> list[Tombstone]:
    """List own notes that have neither a file, nor a waiting turn, nor a tombstone; with files where bytes are kept.

    Only what was claimed in this very folder counts: a checkout that was moved may have left the rest elsewhere.

    Raises:
        OSError: a folder can't be read.
    """
    root, claimed = memory.root, memory.manifest.claims().here()
    if any(place.is_symlink() for place in (root.store, root.memory, root.spool, root.store / "trash")):
        return []  # what lies behind a link is not looked at, and that is told
    # In this order: a turn leaves the spool once its note is there, and a note its folder once its tombstone is.
    missing = claimed.keys() - _ids(root.spool) - _ids(root.memory)
    missing -= all_forgotten(root.store) if missing else set()
    return [lost(root.store, note, claimed[note]) for note in sorted(missing)]


def _ids(folder: Path) -> set[str]:
    """Name the notes, or waiting turns, of which there is a file in a folder or below it."""

    def unreadable(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    found = (name for _, _, names in os.walk(folder, onerror=unreadable) for name in names)
    stems = (name.rpartition(".")[0].split("--", 2) for name in found if name.endswith((".md", ".json")))
    return {"--".join(stem[:2]) for stem in stems}


def origins(memory: Memory) -> Counter[str]:
    """Count the notes by whose they are."""
    with contextlib.closing(open_index(memory)) as index:
        return Counter(dict(index.execute("select origin, count(*) from notes where pending = 0 group by origin")))


def _folders(memory: Memory) -> Iterator[Trouble]:
    store = memory.root.store
    for place in (store, *(store / name for name in FOLDERS)):
        if trouble := _shut(place, name := "." if place == store else place.name):
            yield trouble
        elif os.path.lexists(place) and not os.access(place, os.W_OK | os.X_OK):
            yield Trouble("unwritable", name, "can't be written: turns are lost; give yourself the right to")
    ignore = store / ".gitignore"
    if os.access(store, os.X_OK) and not store.is_symlink() and not (ignore.is_file() and ignore.stat().st_size):
        yield Trouble("gitignore", ".gitignore", "missing: git would take or clean what is here; run ogcode init")
    home = next(place for place in (memory.home, *memory.home.parents) if place.exists())
    if not os.access(home, os.W_OK | os.X_OK):
        yield Trouble("unwritable", str(memory.home), "can't be written: new notes will not count as your own")
    with contextlib.suppress(OSError):  # no such folder yet, or told above
        if lock := Lock.take(memory.root.locks / "doctor"):
            leased = lock.leased
            lock.release(remove=True)
            if leased:
                yield Trouble("locks", "locks", "this file system has no locks: files in here stand in for them")


def _shut(place: Path, name: str) -> Trouble | None:
    """Tell why a folder is not read, where it is not."""
    if os.path.islink(place):  # noqa: PTH114  # in another user's folder, too
        return Trouble("link", name, "a link: nothing is remembered through it; put a folder in its place")
    if not os.path.lexists(place):
        return None
    if not os.path.isdir(place):  # noqa: PTH112  # as above
        return Trouble("unreadable", name, "not a folder: nothing is remembered in it; move it away")
    if not os.access(place, os.R_OK | os.X_OK):
        return Trouble("unreadable", name, "can't be read: what is in it is left out; give yourself the right to")
    return None


def _skipped(folder: Path, prefix: str = "memory/") -> Iterator[Trouble]:
    """Find what lies among the notes and is not taken for one; names that begin with a dot are meant to be left."""
    try:
        entries = [] if folder.is_symlink() else sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = prefix + entry.name
        if entry.is_symlink():
            yield Trouble("skipped", path, "a link: links are not followed")
        elif not os.access(entry.path, os.R_OK):
            yield Trouble("unreadable", path, "can't be read: it is left out; give yourself the right to")
        elif entry.is_dir(follow_symlinks=False):
            yield from _skipped(Path(entry.path), f"{path}/")
        elif not entry.name.endswith(".md") or not entry.is_file(follow_symlinks=False):
            yield Trouble("skipped", path, "not a markdown file (.md)")
        elif not entry.name.isascii() and path != path.encode("utf-8", "replace").decode():
            yield Trouble("skipped", path, "its name is not UTF-8; rename it")
        elif entry.stat(follow_symlinks=False).st_size > LARGEST:
            yield Trouble("skipped", path, f"larger than {LARGEST:,} bytes; split it")


def _strays(store: Path) -> Iterator[Trouble]:
    for folder in (store, *(store / name for name in FOLDERS)):
        for path in [] if folder.is_symlink() else sorted(folder.glob(f"{TEMPORARY}*")):
            with contextlib.suppress(OSError):
                if time.time() - path.lstat().st_mtime >= STRAY:
                    yield Trouble("stray", str(path.relative_to(store)), "left by a crash; it can be removed")


def _spooled(memory: Memory, *, trusted: bool) -> Iterator[Trouble]:
    for path, job, mark in jobs(memory.root.store):
        name = f"spool/{path.name}"
        if not isinstance(job, Job):
            yield Trouble("spool", name, f"{job}; look at it, then remove it")
        elif not is_ours(job, mark, memory.seal):
            what = "its note will count as foreign" if trusted else "left alone until the folder is trusted"
            yield Trouble("spool", name, f"not spooled by this user's ogcode: {what}")


def _indexed(memory: Memory, *, trusted: bool) -> Iterator[Trouble]:
    """Compare the index, once it has been refreshed, with the files themselves."""
    with contextlib.closing(open_index(memory)) as index:
        rows = index.execute("select path, id, sha256, origin, pending, malformed from notes order by path")
    shown = [row for row in rows if row[3] == "own" or trusted]
    for path, _, _, _, pending, malformed in shown:
        if malformed and not pending:
            yield Trouble("malformed", path, f"{malformed}; it is a note all the same, mend it: ogcode memory edit")
    for note, times in Counter(row[1] for row in shown if not row[4]).items():
        if times > 1:
            paths = [row[0] for row in shown if row[1] == note and not row[4]]
            yield Trouble("duplicate", paths[0], f"{times} files are {note}: {', '.join(paths[1:4])}; keep one")
    for path, _, sha256, *_ in rows:
        with contextlib.suppress(OSError):  # gone meanwhile
            if hashlib.sha256(read_beneath(memory.root.store, path, LARGEST)).hexdigest() != sha256:
                yield Trouble("index", path, "changed with its size and time kept: remove .ogcode/index.db")
    if rows and not memory.root.database.is_file():
        yield Trouble("index", "index.db", "can't be kept here: the answers are the same, only slower")


def _tracked(memory: Memory) -> Iterator[Trouble]:
    try:
        names = tracked(memory.root.path, memory.root.store.name)
    except (GitIndexUnread, OSError) as error:
        yield Trouble("git", ".", f"what git tracks is not known: {error}")
        return
    for name in names:
        if not name.startswith(SHARED):
            yield Trouble("git", name, f"tracked by git, but this machine's own: git rm --cached .ogcode/{name}")


def _gone(memory: Memory) -> Iterator[Trouble]:
    try:
        stones = gone(memory)
    except OSError as error:
        yield Trouble("gone", ".", f"which notes are gone is not known: {error.filename}: {error.strerror}")
        return
    for stone in stones[:MANY]:
        path = stone.files[0].path if stone.files else f"memory/{stone.note}"
        back = f"ogcode memory undo {stone.note} brings it back" if stone.files else "its bytes are kept nowhere"
        meant = f"where that is meant: ogcode memory forget --for-good {stone.note}"
        yield Trouble("gone", path, f"removed by hand, by git clean or stash, or on another branch; {back}; {meant}")
    if len(stones) > MANY:
        more = f"{len(stones) - MANY:,} more notes are gone"
        yield Trouble("gone", "memory", f"{more}; ogcode memory list --forgotten lists what can be brought back")
