"""The ledger: one line a request, of every role."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import get_args

from ogcode.agent.files.durable import append_line
from ogcode.agent.model import Who
from ogcode.agent.turn import Usage

ROLES = get_args(Who)


@dataclass(frozen=True, slots=True)
class Spent:
    """A line of the ledger."""

    day: str
    """Of its time in UTC: `2026-09-12`."""
    role: str
    model: str
    session_id: str
    turn: int
    usage: Usage
    unsent: int
    """Tokens of earlier turns that replay would have sent with it."""


def log_usage(
    store: Path,
    usage: Usage,
    *,
    role: Who,
    model: str,
    session_id: str,
    turn: int,
    now: datetime,
    note: str = "",
    unsent: int = 0,
) -> None:
    """Add a request to `usage.jsonl`; a ledger that can't be written stops nothing."""
    row = {
        "time": now.isoformat(timespec="seconds"),
        "role": role,
        "model": model,
        "session_id": session_id,
        "turn": turn,
        "note": note,
        "unsent_tokens": unsent,
        **asdict(usage),
    }
    with contextlib.suppress(OSError):
        append_line(store / "usage.jsonl", json.dumps(row).encode())


def read_ledger(store: Path) -> Iterator[Spent | None]:
    """Yield what is on record, oldest first; None for a line that can't be read."""
    for line in _lines(store):
        yield _spent(line)


def spent_on(store: Path, note: str, role: Who) -> int | None:
    """Sum the tokens that a role spent on a note; None where nothing is on record."""
    total = None
    for line in _lines(store):
        if note.encode() not in line:
            continue
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            if row["note"] == note and row["role"] == role:
                total = (total or 0) + row["input_tokens"] + row["output_tokens"]
    return total


def _lines(store: Path) -> Iterator[bytes]:
    path = store / "usage.jsonl"
    if not os.access(path, os.R_OK) or store.is_symlink() or path.is_symlink() or not path.is_file():
        return
    with path.open("rb") as file:
        yield from file


def _spent(line: bytes) -> Spent | None:
    try:
        row = json.loads(line)
        cost = None if row["cost"] is None else float(row["cost"])
        sent, received, read = row["input_tokens"], row["output_tokens"], row["cache_read_input_tokens"]
        written, thought = row.get("cache_creation_input_tokens", 0), row.get("reasoning_tokens", 0)
        turn, unsent = row["turn"], row.get("unsent_tokens", 0)
        counts = (sent, received, read, written, thought, turn, unsent)
        if row["role"] not in ROLES or not all(isinstance(each, int) and 0 <= each < 1e12 for each in counts):
            return None
        if cost is not None and not 0 <= cost < 1e9:  # NaN is neither
            return None
        usage = Usage(sent, received, read, cost, written, thought)
        where = str(row["session_id"]), turn
        return Spent(str(row.get("time", ""))[:10], row["role"], str(row.get("model", "")), *where, usage, unsent)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
