"""What was forgotten or edited away: kept byte for byte, with a tombstone that keeps it from being written again."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from ogcode.agent.files.durable import append_line, create_file, make_folder, replace_file, sync_folder
from ogcode.agent.memory.beneath import open_beneath, read_beneath
from ogcode.agent.memory.notes import LARGEST, parse_note, slug
from ogcode.agent.memory.spool import prepare_store

Act = Literal["forgotten", "edited", "restored", "reverted", "purged"]
"""`restored` takes back `forgotten`, `reverted` takes back `edited`; `purged` is for good."""

LONGEST = 16_000_000
"""Bytes of the tombstones that are read, from the end."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


class TrashRefused(Exception):
    """Something can't be forgotten or brought back; the text says why."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of which the trash holds the bytes."""

    path: str
    """Where it was, from `.ogcode`."""
    sha256: str
    mtime: int
    """In nanoseconds."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    act: Act | Literal["gone"]
    """`gone` stands in no file: `lost` makes it."""
    note: str
    """The note's id."""
    at: str
    """ISO 8601, UTC; the same for all that one command did."""
    files: tuple[Kept, ...] = ()
    became: str = ""
    """Of an edit: the hash of what took the place of the bytes."""
    of: str = ""
    """Of what takes back: the `at` of that."""


def forget(store: Path, notes: Iterable[tuple[str, str]], now: datetime) -> list[Tombstone]:
    """Move notes, named by id and path from `.ogcode`, to the trash, and with each the job that waits for it.

    The copy is durable, then the tombstone, then the file goes: after a crash it is still there or can be brought back.

    Raises:
        TrashRefused: a file has changed meanwhile.
        OSError: the trash can't be written.
    """
    _prepare(store)
    named = list(notes)
    stones = [_forget(store, note, path, _time(now)) for note, path in named]
    waiting = [note for note, path in named if path.startswith("spool/")]
    late = [(note, f"memory/{path.name}") for note in waiting for path in (store / "memory").glob(f"{note}--*.md")]
    if late:  # the scribe wrote it before it could see the tombstone
        stones += forget(store, late, now + timedelta(microseconds=1))
    return stones


def _forget(store: Path, note: str, path: str, at: str) -> Tombstone:
    found = {place: _bytes(store, place) for place in (path, f"spool/{note}.json")}
    held = {place: content for place, content in found.items() if content is not None}
    if not held and not path.startswith("spool/"):
        raise TrashRefused(f"{path} is gone already")
    files = tuple(_keep(store, place, content) for place, content in held.items())
    stone = Tombstone("forgotten", note, at, files)
    _write(store, stone)
    for place in reversed(held):  # the job first: a note is not written anew for one that is gone
        if _bytes(store, place) not in (None, held[place]):
            raise TrashRefused(f"{place} has just been changed by someone else; forget it again")
        (store / place).unlink(missing_ok=True)
        sync_folder((store / place).parent)
    return stone


def hidden(store: Path) -> bool:
    """Tell whether git leaves all of the folder alone; else a note that is not committed yet is git's to take away."""
    return (store / ".gitignore").read_bytes().strip() == b"*"


def keep(store: Path, path: str, content: bytes) -> None:
    """Keep the bytes that a note has, or is about to have, without a tombstone.

    Raises:
        OSError, TrashRefused: they could not be kept.
    """
    shield(store)
    _put(store, Kept(path, _hash(content), 0), content)


def shield(store: Path) -> None:
    """Hide from git, each by itself, the folders that are never committed: git may take what hides them all together.

    Raises:
        OSError, TrashRefused: they can't be written.
    """
    _prepare(store)
    for name in ("trash", "spool", "sessions"):
        if _bytes(store, f"{name}/.gitignore") != b"*\n":
            replace_file(store / name / ".gitignore", b"*\n")


def lost(store: Path, note: str, claimed: Sequence[str]) -> Tombstone:
    """Describe a note that is gone without a tombstone, for `restore`; it has no files where no bytes are kept."""
    held = dict[Kept, bytes]()
    for sha256 in claimed:
        kept = Kept(f"memory/{note}.md", sha256, 0)
        with contextlib.suppress(TrashRefused):
            held[kept] = _kept_bytes(store, kept)
    if not held:
        return Tombstone("gone", note, "")
    [first, *_], [*_, last] = held.values(), held  # a note is named by its first title, whatever it says by now
    path = f"memory/{note}--{slug(parse_note(f'{note}.md', first).title)}.md"
    return Tombstone("gone", note, "", (Kept(path, last.sha256, _place(store, last).stat().st_mtime_ns),))


def keep_edited(store: Path, note: str, path: str, content: bytes, *, became: bytes, now: datetime) -> None:
    """Keep what an edit is about to replace.

    Raises:
        OSError: it could not be kept.
    """
    _prepare(store)
    kept = _keep(store, path, content)
    _write(store, Tombstone("edited", note, _time(now), (kept,), became=_hash(became)))


def undoable(store: Path) -> list[Tombstone]:
    """List what can be taken back, the last first."""
    found = dict[tuple[str, str], Tombstone]()
    for stone in tombstones(store):
        match stone.act:
            case "forgotten" | "edited":
                found[stone.note, stone.at] = stone
            case "restored" | "reverted":
                found.pop((stone.note, stone.of), None)
            case "purged":
                found = {key: each for key, each in found.items() if each.note != stone.note}
    return [*found.values()][::-1]


def restore(store: Path, stone: Tombstone, now: datetime) -> list[Path]:
    """Put the bytes back where they were, notes with their times.

    Raises:
        TrashRefused: another file is there now, or the trash no longer holds the bytes.
        OSError: it can't be written.
    """
    _prepare(store)
    contents = {kept: _kept_bytes(store, kept) for kept in stone.files}
    for kept, content in contents.items():
        _target(store, kept)
        there = _bytes(store, kept.path)
        if there is not None and there != content and _hash(there) != stone.became:
            raise TrashRefused(f"{kept.path} is another file now; move it away first")
    for kept, content in contents.items():
        target = _target(store, kept)
        make_folder(target.parent)
        if (there := _bytes(store, kept.path)) is None:
            create_file(target, content)
        elif there != content:
            _keep(store, kept.path, there)
            replace_file(target, content)
        if not kept.path.startswith("spool/"):  # a scribe that lingers sees by its time that it is there again
            os.utime(target, ns=(kept.mtime, kept.mtime))
    back: Act = "reverted" if stone.act == "edited" else "restored"
    _write(store, Tombstone(back, stone.note, _time(now), stone.files, of=stone.at))
    return [_target(store, kept) for kept in stone.files]


def purge(store: Path, note: str, now: datetime, *, claimed: Iterable[str]) -> int:
    """Remove what the trash holds of a note, for good, by its tombstones and its claims; return how many copies.

    Raises:
        OSError: it can't be removed.
    """
    _prepare(store)
    stones = tombstones(store)
    mine = {_place(store, kept) for stone in stones if stone.note == note for kept in stone.files}
    mine |= {_place(store, Kept(f"memory/{note}.md", sha256, 0)) for sha256 in claimed}
    others = {_place(store, kept) for stone in stones if stone.note != note for kept in stone.files}
    _write(store, Tombstone("purged", note, _time(now)))
    gone = [place for place in sorted(mine - others) if place.is_file()]
    for place in gone:
        place.unlink()
    sync_folder(store / "trash")
    return len(gone)


def forgotten(store: Path, note: str) -> bool:
    """Tell whether a note is forgotten, so that it must not be written; cheap where nothing was forgotten."""
    return note in _forgotten(tombstones(store, note))


def all_forgotten(store: Path) -> set[str]:
    """Name the notes that are forgotten."""
    return _forgotten(tombstones(store))


def _forgotten(stones: Iterable[Tombstone]) -> set[str]:
    acts = {stone.note: stone.act for stone in stones if stone.act in ("forgotten", "restored", "purged")}
    return {note for note, act in acts.items() if act != "restored"}


def purged(store: Path, note: str) -> bool:
    """Tell whether the last that was done to a note is to remove it for good."""
    stones = tombstones(store, note)
    return bool(stones) and stones[-1].act == "purged"


def tombstones(store: Path, note: str = "") -> list[Tombstone]:
    """List what was done, oldest first, to one note or to all; a line that is torn or was forged costs itself alone."""
    try:
        with os.fdopen(open_beneath(store, "trash/tombstones.jsonl"), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LONGEST))
            content = file.read(LONGEST)
    except OSError:
        return []
    if note and json.dumps(note).encode() not in content:
        return []
    return [stone for stone in _stones(content.splitlines()) if note in ("", stone.note)]


def _stones(lines: Iterable[bytes]) -> Iterator[Tombstone]:
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
            row = json.loads(line)
            files = tuple(Kept(str(each["path"]), str(each["sha256"]), int(each["mtime"])) for each in row["files"])
            if row["act"] in get_args(Act) and all(map(_is_sound, files)):
                texts = (str(row[key]) for key in ("became", "of"))
                yield Tombstone(row["act"], str(row["note"]), str(row["at"]), files, *texts)


def _is_sound(kept: Kept) -> bool:
    """Tell whether a path may be written to: the file of tombstones can come with a repository."""
    parts = PurePosixPath(kept.path).parts
    inside = len(parts) > 1 and parts[0] in ("memory", "spool") and ".." not in parts and "\0" not in kept.path
    return inside and kept.path.endswith((".md", ".json")) and bool(_SHA256.fullmatch(kept.sha256))


def _target(store: Path, kept: Kept) -> Path:
    target = store / kept.path
    if target.is_symlink() or not target.parent.resolve().is_relative_to(store.resolve()):
        raise TrashRefused(f"{kept.path} lies outside the memory folder now (a link)")
    return target


def _keep(store: Path, path: str, content: bytes) -> Kept:
    kept = Kept(path, _hash(content), (store / path).stat().st_mtime_ns)
    _put(store, kept, content)
    return kept


def _put(store: Path, kept: Kept, content: bytes) -> None:
    place = _place(store, kept)
    if _bytes(store, f"trash/{place.name}") != content:
        replace_file(place, content)


def _kept_bytes(store: Path, kept: Kept) -> bytes:
    content = _bytes(store, f"trash/{_place(store, kept).name}")
    if content is None or _hash(content) != kept.sha256:
        raise TrashRefused(f"the trash no longer holds {kept.path} as it was")
    return content


def _place(store: Path, kept: Kept) -> Path:
    return store / "trash" / f"{kept.sha256}{PurePosixPath(kept.path).suffix}"


def _bytes(store: Path, path: str) -> bytes | None:
    """Read a file of ours; None where there is none."""
    try:
        content = read_beneath(store, path, LARGEST + 1)
    except FileNotFoundError:
        return None
    if len(content) > LARGEST:
        raise TrashRefused(f"{path} is larger than {LARGEST:,} bytes")
    return content


def _write(store: Path, stone: Tombstone) -> None:
    append_line(store / "trash" / "tombstones.jsonl", json.dumps(asdict(stone)).encode(), sync=True)


def _prepare(store: Path) -> None:
    prepare_store(store)
    if (store / "trash").is_symlink():
        raise TrashRefused(f"{store / 'trash'} is a link; what is forgotten is only kept in a folder of its own")
    make_folder(store / "trash")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _time(now: datetime) -> str:
    return now.astimezone(UTC).isoformat(timespec="microseconds")
