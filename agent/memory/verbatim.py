"""The words of a turn as they were said, from its session's transcript."""

import json
from pathlib import Path


def verbatim(sessions: Path, session_id: str, turn: int) -> tuple[str, str] | None:
    """Give the request and the answer of a turn; None where its transcript is gone."""
    if not session_id.isalnum():
        return None
    request, current = "", 0
    try:
        lines = (sessions / f"{session_id}.jsonl").read_bytes().splitlines()
    except OSError:
        return None
    for line in lines:
        try:
            row = json.loads(line)
            match row["type"]:
                case "turn_started":
                    current, request = row["turn"], str(row["request"])
                case "turn_finished" if current == turn:
                    return request, str(row["answer"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # a torn line costs itself alone
    return None
