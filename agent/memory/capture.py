"""Turn a finished turn into what the scribe may see: cut first, then scrubbed."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ogcode.agent.memory.job import Job
from ogcode.agent.memory.markdown import cut, head_and_tail
from ogcode.agent.secrets import scrub
from ogcode.agent.turn import Step, Turn

REQUEST, ANSWER, STEP = 3000, 3000, 240
"""Characters of each that a digest holds at most."""

FILES = 40
"""Paths that a note names at most; changed ones come first."""


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
    told = [_told(step) for step in turn.steps]
    kept, dropped = _within(told, room // 2)

    def clean(text: str) -> str:
        return scrub(text.encode("utf-8", "replace").decode(), known_secrets)

    return Job(
        id="",
        session_id=place.session_id,
        turn=place.number,
        created_at=place.started.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        outcome=turn.outcome,
        model=place.model,
        window=place.window,
        request=clean(head_and_tail(turn.request, min(REQUEST, room // 4))),
        steps=tuple(clean(step) for step in kept),
        answer=clean(head_and_tail(turn.answer.strip(), min(ANSWER, room // 4))),
        files={path: digest for path, digest in files.items() if clean(path) == path},
        changed=tuple(path for path in changed if clean(path) == path),
        symbols=_symbols(turn.steps, top, changed),
        dropped=dropped,
        reason=clean(turn.reason),
    )


def file_digest(path: Path) -> str:
    """Give the start of a file's SHA-256: 12 hexadecimal digits, or empty where it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else ""
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


def _within(lines: list[str], room: int) -> tuple[list[str], int]:
    """Keep the first third and the last calls that fit, with repeats folded."""
    folded = list[str]()
    for line in lines:
        if folded and folded[-1].partition(" (×")[0] == line:
            count = int(folded[-1].partition(" (×")[2].rstrip(")") or 1)
            folded[-1] = f"{line} (×{count + 1})"
        else:
            folded.append(line)
    if sum(map(len, folded)) <= room:
        return folded, 0
    head, tail, spent = list[str](), list[str](), 0
    queue = folded.copy()
    while queue:
        line = queue.pop(0) if spent < room // 3 else queue.pop()
        if spent + len(line) > room:
            break
        (head if spent < room // 3 else tail).append(line)
        spent += len(line)
    return head + tail[::-1], len(folded) - len(head) - len(tail)


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
    except (OSError, ValueError):
        return None


def _symbols(steps: Iterable[Step], top: Path, changed: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Name the definitions that the turn's edits touched."""
    written: dict[str, list[str]] = {path: [] for path in changed}
    if not written:
        return {}
    for step in steps:
        given = _arguments(step) or {}
        path, new = given.get("path"), given.get("new", given.get("content"))
        if not step.failed and isinstance(path, str) and isinstance(new, str):
            named = _inside(path, top)
            if named in written:
                written[named].append(new)
    from ogcode.agent.grammars import LARGEST, definitions, touched  # only where something was written

    found = dict[str, tuple[str, ...]]()
    for path, texts in written.items():
        try:
            text = (top / path).read_bytes()[: LARGEST + 1].decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:
            continue
        names = dict[str, None]()
        for new in texts:
            at = text.find(new) if new.strip() else -1
            if new.strip() == text.strip():
                names.update(dict.fromkeys(each.name for each in definitions(path, text)))
            elif at >= 0:
                first = text.count("\n", 0, at) + 1
                names.update(dict.fromkeys(touched(path, text, range(first, first + new.rstrip("\n").count("\n") + 1))))
        if names:
            found[path] = tuple(names)[:12]
    return found
