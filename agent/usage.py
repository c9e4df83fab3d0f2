"""The ledger: one line a request, of every role."""

import contextlib
import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from ogcode.agent.durable import append_line
from ogcode.agent.model import Who
from ogcode.agent.turn import Usage


def log_usage(
    store: Path, usage: Usage, *, role: Who, model: str, session_id: str, turn: int, now: datetime, note: str = ""
) -> None:
    """Add a request to `usage.jsonl`; a ledger that can't be written stops nothing."""
    row = {
        "time": now.isoformat(timespec="seconds"),
        "role": role,
        "model": model,
        "session_id": session_id,
        "turn": turn,
        "note": note,
        **asdict(usage),
    }
    with contextlib.suppress(OSError):
        append_line(store / "usage.jsonl", json.dumps(row).encode())


def spent_on(store: Path, note: str, role: Who) -> int | None:
    """Sum the tokens that a role spent on a note; None where nothing is on record."""
    try:
        lines = (store / "usage.jsonl").read_bytes().splitlines()
    except OSError:
        return None
    total = None
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            row = json.loads(line)
            if row["note"] == note and row["role"] == role:
                total = (total or 0) + row["input_tokens"] + row["output_tokens"]
    return total
