"""What a command prints: bounded for the model, whole in a file."""

import os
import tempfile
from pathlib import Path

from ogcode.agent.clean import clean, fold_returns
from ogcode.agent.tools.workspace import Workspace

_SPILL_BYTES = 50_000_000
_KEPT = 16_000
"""Bytes of the last of an output that a user can look at while it comes."""


class Printed:
    """What a command prints: head and tail in memory, all of it in a file once it is too long to return."""

    def __init__(self, max_bytes: int, folder: Path | None) -> None:
        self._half = max_bytes // 2
        self._folder = folder
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._lines = 0
        self._file: int | None = None
        self._name: Path | None = None
        self._spilled = 0
        self._fault = ""

    @property
    def size(self) -> int:
        return self._size

    def feed(self, piece: bytes) -> bool:
        self._size += len(piece)
        self._lines += piece.count(b"\n")
        room = 2 * self._half - len(self._head)
        if room > 0 and not self._tail:
            self._head += piece[:room]
            piece = piece[room:]
        if not piece:
            return True
        if self._file is None and not self._fault:
            self._spill(bytes(self._head))
        self._spill(piece)
        self._tail += piece[-self._half :]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]
        return True

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def text(self, workspace: Workspace) -> str:
        """Give it as the model reads it, bounded whatever it holds."""
        if _binary(self._head):
            return f"[{self._size:,} bytes that are not text{self._where(workspace)}]"
        if not self._tail:
            whole = _plain(self._head)
            if len(whole.encode()) <= 2 * self._half:
                return whole.rstrip("\n")
        kept = bytes(self._head + self._tail)
        head = _start(_plain(self._head[: self._half]), self._half)
        tail = _end(_plain(kept[-self._half :]), self._half).rstrip("\n")
        left = self._lines + (not kept.endswith(b"\n")) - head.count("\n") - tail.count("\n") - 2
        rest = self._size - len(head.encode()) - len(tail.encode())
        what = f"{left:,} lines" if left > 1 else f"{max(0, rest):,} bytes"
        return f"{head}\n… {what} left out{self._where(workspace)} …\n{tail}"

    def _where(self, workspace: Workspace) -> str:
        if self._name is None:
            return f"; {self._fault}" if self._fault else ""
        part = f"first {_SPILL_BYTES // 1_000_000} MB of the" if self._size > self._spilled else "full"
        return f"; {part} output in {workspace.display(self._name)}"

    def _spill(self, piece: bytes) -> None:
        if self._fault:
            return
        try:
            if self._file is None:
                if self._folder is not None:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file, name = tempfile.mkstemp(".txt", "bash-", self._folder)
                self._name = Path(name)
            rest = memoryview(piece[: _SPILL_BYTES - self._spilled])
            self._spilled += len(rest)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self._fault, self._name = f"it could not be kept ({error.strerror})", None
            self.close()


class Tail:
    """The last of what a command prints, for the user to look at while it runs."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._size = 0

    def feed(self, piece: bytes) -> None:
        self._size += len(piece)
        self._kept += piece[-_KEPT:]
        if len(self._kept) > 2 * _KEPT:
            del self._kept[:-_KEPT]

    def text(self, most: int = _KEPT) -> str:
        """Give at most so many bytes of it, in whole lines."""
        kept = bytes(self._kept[-most:])
        if _binary(kept):
            return f"[{self._size:,} bytes that are not text]"
        return _plain(kept if len(kept) == self._size else kept.partition(b"\n")[2] or kept).rstrip("\n")


def _plain(piece: bytes | bytearray) -> str:
    return clean(fold_returns(piece.decode("utf-8", "replace")), prose=True)


def _binary(start: bytes | bytearray) -> bool:
    sample = start[:4_096]
    odd = sample.decode("utf-8", "replace").count("\ufffd") + sum(sample.count(code) for code in (0, 1, 2, 3, 4, 5, 6))
    return b"\0" in sample and odd * 10 > len(sample)


def _start(text: str, most: int) -> str:
    """Cut to whole lines where there are any."""
    cut = text.encode()[:most].decode("utf-8", "ignore")
    whole = cut.rpartition("\n")[0]
    return whole if len(whole) * 2 > len(cut) else cut


def _end(text: str, most: int) -> str:
    cut = text.encode()[-most:].decode("utf-8", "ignore")
    whole = cut.partition("\n")[2]
    return whole if len(whole) * 2 > len(cut) else cut
