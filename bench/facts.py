"""What a thousand facts of 500 characters cost a turn: CPU time to read and tell them, and the size of the block."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from ogcode.agent.facts.block import changes, facts_block
from ogcode.agent.facts.fact import Fact, item
from ogcode.agent.facts.store import Facts
from ogcode.agent.files.root import find_root
from ogcode.agent.rights.accepted import Accepted
from ogcode.tui.place import utc_now

MANY, ROUNDS = 1_000, 30


def main() -> int:
    shapes = {
        "one line": "fact {n} ".ljust(500, "x"),
        "ten lines": ("fact {n} goes on for quite a while here\n" * 13)[:500],
    }
    for shape, text in shapes.items():
        with tempfile.TemporaryDirectory() as folder:
            measure(shape, Path(folder), [text.format(n=n) for n in range(MANY)])
    return 0


def measure(shape: str, folder: Path, texts: list[str]) -> None:
    top, home = folder / "repo", folder / "home"
    top.mkdir()
    dated = (
        Fact(f"m-{n:06x}", text.strip(), "project", "2026-09-12T09:14:12Z", "", f"summary {n}")
        for n, text in enumerate(texts)
    )
    (top / "MEMORY.md").write_text("".join(map(item, dated)), "utf-8")
    root = find_root(top, None)

    def opened() -> Facts:
        return Facts(root, home, top, trusted=True, accepted=Accepted(home, top), secrets=tuple, now=utc_now)

    opened().accept()
    before, spent = opened().known(), list[tuple[float, float]]()
    for _ in range(ROUNDS):
        facts = opened()
        start = time.process_time()
        known = facts.known()
        read = time.process_time()
        block = facts_block(known, 200_000)
        changes(before, known)
        spent.append((read - start, time.process_time() - read))
    kinds = {
        "read": [read for read, _ in spent],
        "tell": [tell for _, tell in spent],
        "both": [sum(two) for two in spent],
    }
    for what, times in kinds.items():
        told = f"{1e3 * statistics.median(times):.1f} ms, worst {1e3 * max(times):.1f} of {ROUNDS}"
        print(f"{shape}: {what} {told}")
    print(f"{shape}: block of {len(block.text):,} characters of {len(known.facts):,} facts")


if __name__ == "__main__":
    sys.exit(main())
