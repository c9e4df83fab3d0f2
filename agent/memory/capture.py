"""Turn a finished turn into what the scribe may see: cut first, then scrubbed."""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from ogcode.agent.memory.job import Job
from ogcode.agent.memory.markdown import cut, head_and_tail
from ogcode.agent.secrets import scrub
from ogcode.agent.turn import Step, Turn

REQUEST, ANSWER, STEP = 3000, 3000, 240
"""Characters of each that a digest holds at most."""

FILES = 40
"""Paths that a note names at most; changed ones come first."""

HASHED = 50_000_000
"""Bytes; of a larger file it is not kept what it held."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its conversation a turn stands."""

    session_id: str
    number: int
    started: datetime
    model: str
    window: int


def capture(turn: Turn, place: Place, top: Path, known_secrets: Iterable[str] = ()) -> Job:
    """Make the job of a turn. Holds no tool output, no reasoning, and no recalled memory."""
    room = min(24_000, 2 * max(1_000, place.window - 1_500))
    files, changed = _files(turn.steps, top)
    told = [cut(_flat(_told(step)), 3 * STEP) for step in turn.steps]
    kept, dropped = _within(told, room * 3 // 8)

    def clean(text: str) -> str:
        return scrub(text.encode("utf-8", "replace").decode(), known_secrets)

    changed = tuple(path for path in changed if clean(path) == path)
    return Job(
        id="",
        session_id=place.session_id,
        turn=place.number,
        created_at=place.started.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        outcome=turn.outcome,
        model=place.model,
        window=place.window,
        request=clean(_short(turn.request, REQUEST, room // 4)),
        steps=tuple(clean(step) for step in kept),
        answer=clean(_short(turn.answer.strip(), ANSWER, room // 4)),
        files={path: digest for path, digest in files.items() if clean(path) == path},
        changed=changed,
        symbols=_symbols(turn.steps, top, changed[:FILES], room // 8),
        dropped=dropped,
        reason=clean(cut(_flat(turn.reason), STEP)),
    )


def file_digest(path: Path) -> str:
    """Give the start of a file's SHA-256: 12 hexadecimal digits, or empty where it can't be read or is huge."""
    try:
        if not path.is_file() or path.stat().st_size > HASHED:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]
    except OSError:
        return ""


def _told(step: Step) -> str:
    """Tell a call on one line."""
    given = _arguments(step)
    failed = " (failed)" if step.failed else ""
    match step.name, given:
        case "write", {"path": str(path), "content": str(content)}:
            return f"write {path}: {content.count(chr(10)) + 1} lines: {cut(_flat(content), STEP // 2)}{failed}"
        case "edit", {"path": str(path), "old": str(old), "new": str(new)}:
            before, after = cut(_flat(old), STEP // 3), cut(_flat(new), STEP // 3)
            return (
                f"edit {path}: {old.count(chr(10)) + 1} lines to {new.count(chr(10)) + 1}: {before} -> {after}{failed}"
            )
        case _, dict() if len(given) == 1:
            return f"{step.name} {cut(_flat(str(next(iter(given.values())))), STEP)}{failed}"
        case _, dict():
            told = ", ".join(f"{key}={_flat(str(value))}" for key, value in given.items())
            return f"{step.name} {cut(told, STEP)}{failed}"
        case _:
            return f"{step.name} {cut(_flat(step.arguments), STEP)}{failed}"


def _arguments(step: Step) -> dict[str, object] | None:
    try:
        given = json.loads(step.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def _flat(text: str) -> str:
    return " ".join(text.split())


def _short(text: str, characters: int, size: int) -> str:
    """Cut the middle out of a text until it has at most so many characters and so many bytes."""
    kept = head_and_tail(text, characters)
    while _bytes(kept) > size:
        characters = characters * 3 // 4
        kept = head_and_tail(text, characters)
    return kept


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _within(lines: list[str], room: int) -> tuple[list[str], int]:
    """Keep the first third and the last calls that fit in so many bytes, with repeats folded."""
    runs = [(line, len(list(repeats))) for line, repeats in groupby(lines)]
    queue = deque((line if times == 1 else f"{line} (×{times})", times) for line, times in runs)
    head, tail, spent = list[str](), list[str](), 0
    while queue:
        early = spent < room // 3
        line, times = queue.popleft() if early else queue.pop()
        if spent + _bytes(line) > room:
            return head + tail[::-1], times + sum(others for _, others in queue)
        (head if early else tail).append(line)
        spent += _bytes(line)
    return head + tail[::-1], 0


def _files(steps: Iterable[Step], top: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """List the files that calls worked on, changed ones first, with their hashes now."""
    read, changed = dict[str, None](), dict[str, None]()
    for step in steps:
        path = (_arguments(step) or {}).get("path")
        if step.failed or step.name not in ("read", "write", "edit") or not isinstance(path, str):
            continue
        if (named := _inside(path, top)) is not None:
            (read if step.name == "read" else changed)[named] = None
    paths = list(dict.fromkeys([*changed, *read]))[:FILES]
    return {path: file_digest(top / path) for path in paths}, tuple(changed)


def _inside(path: str, top: Path) -> str | None:
    """Name a path relative to the checkout, if it is a file in there."""
    try:
        place = (top / path).resolve()
        return place.relative_to(top.resolve()).as_posix() if place.is_file() else None
    except (OSError, ValueError, RuntimeError):  # gone, NUL bytes, loops of links
        return None


def _symbols(steps: Iterable[Step], top: Path, changed: Iterable[str], room: int) -> Mapping[str, tuple[str, ...]]:
    """Name the definitions that the turn's edits touched, within so many bytes."""
    written: dict[str, list[str]] = {path: [] for path in changed}
    if not written:
        return {}
    for step in steps:
        given = _arguments(step) or {}
        path, new = given.get("path"), given.get("new", given.get("content"))
        if not step.failed and isinstance(path, str) and isinstance(new, str):
            named = _inside(path, top)
            if named in written:
                written[named].append(new.replace("\r\n", "\n"))
    from ogcode.agent.grammars import LARGEST, definitions, touched  # only where something was written

    found = dict[str, tuple[str, ...]]()
    for path, texts in written.items():
        try:
            text = (top / path).read_bytes()[: LARGEST + 1].decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:
            continue
        names = dict[str, None]()
        known = definitions(path, text)
        for new in texts:
            at = text.find(new) if new.strip() else -1
            if new.strip() == text.strip():
                names.update(dict.fromkeys(each.name for each in known))
            elif at >= 0:
                first = text.count("\n", 0, at) + 1
                names.update(dict.fromkeys(touched(known, range(first, first + new.rstrip("\n").count("\n") + 1))))
        kept = tuple(_flat(name) for name in names)[:12]
        room -= _bytes(path) + sum(_bytes(name) + 2 for name in kept)
        if kept and room >= 0:
            found[path] = kept
    return found
