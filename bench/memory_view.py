"""The memory view at size: CPU time until notes are listed, of a key, and of a search while it is typed.

    python bench/memory_view.py [NOTES]

Makes so many notes (10,000 unless told) as bench/scale.py does. CPU is that of the whole process; beside the time of a
key stands that of a bare Textual app which shows one Input, in the same run.
"""

import asyncio
import gc
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scale import fill, opened
from textual.app import App, ComposeResult
from textual.events import Key
from textual.widgets import Input, Static

from ogcode.agent.index.cache import open_index
from ogcode.agent.model import Model
from ogcode.tui.memory.keeper import Keeper
from ogcode.tui.place import look_around
from ogcode.tui.screen.memory.app import MemoryApp
from ogcode.tui.screen.memory.rows import Rows

KEYS, BETWEEN = 40, 0.05
"""Keys of each kind, and seconds from one to the next: 20 a second."""

QUESTIONS = 30


class Bare(App[int]):
    def compose(self) -> ComposeResult:
        yield Input()


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), number)
        open_index(opened(Path(folder))).close()
        asyncio.run(measure(Path(folder)))


def keeper(folder: Path) -> Keeper:
    memory = opened(folder)
    environ = {"HOME": str(folder), "OGCODE_HOME": str(memory.home), "PATH": "/usr/bin:/bin"}
    here = look_around(memory.root.top, environ, lambda: datetime(2026, 9, 12, tzinfo=UTC), trust=True)

    async def librarian() -> Model:
        raise NotImplementedError

    return Keeper(here, librarian=librarian, scribe=lambda: None, switch=lambda: "on")


async def measure(folder: Path) -> None:
    bare = Bare()
    async with bare.run_test(size=(100, 40)):
        tell("bare Input, a key", await keys(bare, "abcdefgh" * (KEYS // 8)))
    for width in (60, 100, 160):
        await view(folder, width)
    desk = keeper(folder)
    notes, chance, spent = (await desk.overview()).notes, random.Random(3), list[float]()
    for _ in range(QUESTIONS):
        words = " ".join(chance.sample(chance.choice(notes).entry.title.split(), 2))
        for size in range(1, len(words) + 1):
            began = time.process_time()
            await desk.find(words[:size])
            spent.append(1e3 * (time.process_time() - began))
    tell("the search alone", spent)
    desk.close()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


async def view(folder: Path, width: int) -> None:
    desk = keeper(folder)
    app = MemoryApp(desk)
    began = time.process_time()
    async with app.run_test(size=(width, 40)):
        await until(lambda: app.screen.query_one("#items", Rows).count)
        first = time.process_time() - began
        await until(lambda: "today" in str(app.screen.query_one("#strip", Static).content))
        print(f"{width} columns: listed after {1e3 * first:.0f} ms, all {1e3 * (time.process_time() - began):.0f}")
        gc.freeze()  # as the app does
        tell("  j", await keys(app, "j" * KEYS))
        await keys(app, "/")
        await asyncio.sleep(0.5)
        tell("  a letter of a search", await keys(app, "everywhere vonb kbbi " * 2))
    desk.close()


async def keys(app: App[Any], text: str) -> list[float]:
    """Press keys as fast as a person types; give the CPU time of each until the next."""
    spent = list[float]()
    for letter in text:
        began = time.process_time()
        event = Key("space" if letter == " " else letter, letter)
        event.set_sender(app)
        assert app._driver
        app._driver.send_message(event)
        await asyncio.sleep(BETWEEN)
        spent.append(1e3 * (time.process_time() - began))
    return spent


async def until(holds: Callable[[], object]) -> None:
    while not holds():  # noqa: ASYNC110  # a screen tells nobody
        await asyncio.sleep(0.002)


def tell(what: str, spent: Sequence[float]) -> None:
    parts = statistics.quantiles(spent, n=20)
    print(f"{what}: CPU p50 {statistics.median(spent):.1f} ms, p95 {parts[-1]:.1f} ms (n {len(spent)})")


if __name__ == "__main__":
    main()
