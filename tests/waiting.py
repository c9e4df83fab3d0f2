"""Waiting for what happens, and who is alive."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until a condition holds."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        await asyncio.sleep(0.005)


def alive(mark: str) -> list[int]:
    """Processes, not only our own children, whose command line holds a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found
