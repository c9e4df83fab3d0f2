"""The words of a turn as they were said, from its session's transcript."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from ogcode.agent.memory.beneath import open_beneath

LONGEST = 32_000_000
"""Bytes of a line; a longer one is no turn's."""


def verbatim(sessions: Path, session_id: str, turn: int) -> tuple[str, str] | None:
    """Give the words of the user and the answer of a turn; None where its transcript is gone."""
    if not session_id.isalnum():
        return None
    try:
        descriptor = open_beneath(sessions, f"{session_id}.jsonl")
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return _said(iter(lambda: file.readline(LONGEST), b""), turn)


def _said(lines: Iterator[bytes], turn: int) -> tuple[str, str] | None:
    said, current = list[str](), 0
    for line in lines:
        try:
            row = json.loads(line)
            match row["type"]:
                case "turn_started":
                    current, said = row["turn"], [str(row["request"])]
                case "steered":
                    said.append(str(row["text"]))
                case "turn_finished" if current == turn:
                    return "\n\n".join(said), str(row["answer"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # a torn line costs itself alone
    return None
