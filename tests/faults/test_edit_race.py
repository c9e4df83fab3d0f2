"""Somebody else changes a file while it is edited: none of their changes may be lost."""

import os
import random
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ogcode.agent.tool import ToolError
from ogcode.agent.tools.files import file_tools
from ogcode.agent.tools.workspace import Workspace

EDITS = 10_000 if os.environ.get("OGCODE_TORTURE") else 1_000
KINDS = ("replace", "write", "append", "delete")

Edit = Callable[[str, str], Awaitable[object]]
Begun = Callable[[], None]
"""Is called when an edit has read the file and has not written it yet."""


class Other:
    """Somebody who changes the file once in each edit, at any moment after it was read."""

    def __init__(self, path: Path) -> None:
        self._path, self._chance = path, random.Random(7)
        self._begun, self._done, self._over = threading.Event(), threading.Event(), False
        self._thread = threading.Thread(target=self._run)
        self.kind, self.line, self._waiting = "", b"", False

    def __enter__(self) -> "Other":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._begun.set()
        self._thread.join()

    def meant(self, number: int, kinds: tuple[str, ...]) -> None:
        """Say what is to be done in the next edit."""
        self._done.clear()
        self._waiting = True
        self.kind, self.line = self._chance.choice(kinds), b"theirs %d\n" % number

    def go(self) -> None:
        if self._waiting:
            self._waiting = False
            self._begun.set()

    def finish(self) -> None:
        self.go()
        assert self._done.wait(30)

    def lost(self) -> bool:
        """Tell whether the file looks as if the change had never been made."""
        if self.kind == "delete":
            return self._path.exists()
        return not self._path.exists() or self.line not in self._path.read_bytes()

    def _run(self) -> None:
        while self._begun.wait() and not self._over:
            self._begun.clear()
            until = time.perf_counter() + self._chance.random() * 0.0004
            while time.perf_counter() < until:
                pass
            self._change()
            self._done.set()

    def _change(self) -> None:
        match self.kind:
            case "replace":
                mine = self._path.with_name("theirs")
                mine.write_bytes(b"ours\n" + self.line)
                mine.replace(self._path)
            case "write":
                self._path.write_bytes(b"ours\n" + self.line)
            case "append":
                mine = self._path.with_name("theirs")
                mine.write_bytes(self._path.read_bytes() + self.line)
                mine.replace(self._path)
            case "delete":
                self._path.unlink()


async def raced(top: Path, edit_of: Callable[[Begun], Edit], kinds: tuple[str, ...]) -> tuple[int, int]:
    """Count the edits that were made, and the changes of others that were lost."""
    path, made, lost = top / "f", 0, 0
    with Other(path) as other:
        edit = edit_of(other.go)
        for number in range(EDITS // len(KINDS)):
            path.write_bytes(b"ours\n")
            other.meant(number, kinds)
            with suppress(ToolError):
                await edit("ours", "ours, edited")
                made += 1
            other.finish()
            lost += other.lost()
    return made, lost


@pytest.mark.parametrize("kind", KINDS)
async def test_no_change_of_others_is_lost(fast: Path, kind: str) -> None:
    def edit_of(begun: Begun) -> Edit:
        def keep(path: Path, before: bytes | None, after: bytes) -> str:
            begun()
            return "mark"

        tools = {tool.name: tool for tool in file_tools(Workspace(fast), max_bytes=lambda: 10_000, keep=keep)}
        return lambda old, new: tools["edit"].function(path="f", old=old, new=new)

    made, lost = await raced(fast, edit_of, (kind,))
    assert lost == 0
    assert made
    assert [each.name for each in fast.iterdir() if each.name != "f"] == []


async def test_an_edit_that_does_not_look_again_is_caught(fast: Path) -> None:
    def edit_of(begun: Begun) -> Edit:
        async def edit(old: str, new: str) -> None:
            path = fast / "f"
            after = path.read_bytes().replace(old.encode(), new.encode())
            begun()
            path.with_name("mine").write_bytes(after)
            path.with_name("mine").replace(path)

        return edit

    assert (await raced(fast, edit_of, KINDS[:2]))[1] > 0
