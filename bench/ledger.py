"""What `ogcode stats` costs on a long ledger: CPU seconds and memory, against reading the same lines as JSON only.

    python bench/ledger.py [MEGABYTES]

The ledger is made up: sessions of ten turns with recalls and notes, three models, two hundred days; one line in a
thousand is torn.
"""

import json
import os
import resource
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ogcode.agent.turn import Usage
from ogcode.tui.entry import run

MODELS = ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "ollama/qwen3:8b")
ROLES = ("agent", "agent", "agent", "librarian", "scribe")
FIRST = datetime(2026, 3, 1, tzinfo=UTC)


def line(number: int) -> bytes:
    """Make up a line of the ledger."""
    if number % 1_000 == 999:
        return b'{"time": "2026-\n'
    session, turn = divmod(number // 5, 10)
    usage = Usage(2_000 + number % 3_000, 150, 1_024, None if number % 7 == 0 else 0.01, 0, 40)
    row = {
        "time": (FIRST + timedelta(minutes=number % 288_000)).isoformat(timespec="seconds"),
        "role": ROLES[number % 5],
        "model": MODELS[session % 3],
        "session_id": f"{session:032x}",
        "turn": turn + 1,
        "note": "",
        "unsent_tokens": turn * 1_500,
        **asdict(usage),
    }
    return json.dumps(row).encode() + b"\n"


def main() -> None:
    """Write the ledger, add it up, and print the figures."""
    wanted = int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 50_000_000
    with tempfile.TemporaryDirectory() as name:
        os.environ.update({"HOME": name, "OGCODE_HOME": f"{name}/home"})
        ledger = Path(name) / "repository" / ".ogcode" / "usage.jsonl"
        ledger.parent.mkdir(parents=True)
        os.chdir(ledger.parents[1])
        size = count = 0
        with ledger.open("wb") as file:
            while size < wanted:
                size += file.write(line(count))
                count += 1
        begun = time.process_time()
        with ledger.open("rb") as file:
            read = sum(text.endswith(b"}\n") and len(json.loads(text)) > 0 for text in file)
        parsed = time.process_time() - begun
        begun = time.process_time()
        code = run(["stats"])
        spent = time.process_time() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"exit code {code}; {count:,} lines ({read:,} whole), {size / 1e6:.0f} MB")
    print(f"{spent:.2f} s of CPU, {memory} MB at most; reading the lines as JSON alone: {parsed:.2f} s")


if __name__ == "__main__":
    main()
