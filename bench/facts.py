"""What a thousand facts of 500 characters cost a turn: CPU time to read and tell them, and the size of the block."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from ogcode.agent.facts.block import changes, facts_block
from ogcode.agent.facts.fact import Fact, item
from ogcode.agent.facts.store import Facts
from ogcode.agent.root import find_root
from ogcode.tui.place import utc_now

MANY, ROUNDS = 1_000, 30


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "repo"
        top.mkdir()
        lines = (
            item(
                Fact(f"m-{n:06x}", f"fact {n} ".ljust(500, "x"), "project", "2026-09-12T09:14:12Z", "", f"summary {n}")
            )
            for n in range(MANY)
        )
        (top / "MEMORY.md").write_text("".join(lines), "utf-8")
        root = find_root(top, None)
        home = Path(folder) / "home"
        before = Facts(root, home, top, trusted=True, accepted=None, secrets=tuple, now=utc_now).known()
        spent = list[tuple[float, float]]()
        for _ in range(ROUNDS):
            facts = Facts(root, home, top, trusted=True, accepted=None, secrets=tuple, now=utc_now)
            start = time.process_time()
            known = facts.known()
            read = time.process_time()
            block = facts_block(known, 200_000)
            changes(before, known)
            spent.append((read - start, time.process_time() - read))
        for what, times in zip(("read", "tell"), zip(*spent, strict=True), strict=True):
            print(f"{what}: {1e3 * statistics.median(times):.1f} ms, worst {1e3 * max(times):.1f} of {ROUNDS}")
        print(f"block: {len(block.text):,} characters of {MANY} facts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
