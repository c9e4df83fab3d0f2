"""Lines of input: from a terminal as they are typed, from anything else when they are asked for."""

import asyncio
import os
from collections import deque
from collections.abc import Callable


class Lines:
    """A line that is typed while none is asked for is given to `aside`: it answers no question that comes later."""

    def __init__(self, number: int, aside: Callable[[str], None]) -> None:
        self.typed = os.isatty(number)
        self._number = number
        self._aside = aside
        self._rest = b""
        self._whole = deque[str]()
        self._over = False
        self._wanted: asyncio.Future[None] | None = None

    def begin(self) -> None:
        if self.typed:
            asyncio.get_running_loop().add_reader(self._number, self._read)

    async def next(self) -> str | None:
        """Give the next line; None where there will be none."""
        while not self._whole and not self._over:
            await self._more()
        return self._whole.popleft() if self._whole else None

    def end(self) -> None:
        """Let there be no more."""
        self._over = True
        asyncio.get_running_loop().remove_reader(self._number)
        self._wake()

    async def _more(self) -> None:
        loop = asyncio.get_running_loop()
        self._wanted = loop.create_future()
        if not self.typed:
            try:
                loop.add_reader(self._number, self._read)
            except PermissionError:  # a file is always ready
                self._read()
        try:
            await self._wanted
        finally:
            self._wanted = None
            if not self.typed:
                loop.remove_reader(self._number)

    def _read(self) -> None:
        try:
            piece = os.read(self._number, 1 << 16)
        except BlockingIOError:
            return
        except OSError:  # the terminal was closed
            piece = b""
        ended = b"" if piece else b"\n" if self._rest else b""
        *lines, self._rest = (self._rest + piece + ended).split(b"\n")
        told = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
        asked = 1 if self._wanted and not self._wanted.done() else 0
        now, later = (told[:asked], told[asked:]) if self.typed else (told, [])
        self._whole += now
        for line in later:
            self._aside(line)
        if not piece:
            self.end()
        elif now:
            self._wake()

    def _wake(self) -> None:
        if self._wanted and not self._wanted.done():
            self._wanted.set_result(None)
