"""The files of a workspace by their paths, found while they are still being listed, and never all at once."""

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from threading import Lock, Thread

from ogcode.tui.desks.prompt import Found

MOST = 200_000
"""Files that are listed; what lies beyond is found by typing its folder."""
OFFERED = 50
_ENTRIES = 2_000
"""Of one folder that is typed literally."""
_CHUNK = 2_000
"""Paths that are looked at before others get their turn: a fraction of a millisecond."""
_FRESH = 5.0
"""Seconds for which a list is as good as new; one that took long to make, ten times as long."""

Stale = Callable[[], bool]


class FileIndex:
    """`find` is called in a thread, by one caller at a time; the first call begins the list, later ones renew it."""

    def __init__(self, top: Path, ignoring: Callable[[], Sequence[Path]], home: str = "", *, most: int = MOST) -> None:
        self._top = top
        self._ignoring = ignoring
        self._home = home
        self._most = most
        self._full = False
        self._paths: list[str] = []
        self._growing: list[str] | None = None
        """The list that is being made; shown where there is no other."""
        self._born = float("-inf")
        self._took = 0.0
        self._last: tuple[str, Sequence[str], int, list[str]] = ("", (), 0, [])
        """The last word, the list and how much of it was searched, and what fitted: a longer word fits less."""
        self._top_level: tuple[Sequence[str], int, list[str]] = ((), 0, [])
        """The same for what lies at the top."""
        self._lock = Lock()
        self._closed = False

    def find(self, word: str, stale: Stale) -> Found:
        """Give the paths that fit best: what a folder on disk holds, where one is typed, then what is known."""
        self._renew()
        listed = [] if stale() else _typed(self._top, word, self._home)
        growing = self._growing
        paths = self._paths or growing or []
        best = [] if word.startswith(("/", "~", "../")) else self._best(word, paths, stale)
        typed, named = (listed, []) if "/" in word or word.startswith(".") else ([], listed)
        known = dict.fromkeys(path for path in (*typed, *best, *named) if path != word or not path.endswith("/"))
        left_out = f"only the first {self._most:,} files are searched: type the folder of another" if self._full else ""
        return Found(tuple(known)[:OFFERED], growing is None, left_out)

    def close(self) -> None:
        self._closed = True

    def _renew(self) -> None:
        with self._lock:
            if self._growing is not None or time.monotonic() - self._born < max(_FRESH, 10 * self._took):
                return
            self._growing = []
        Thread(target=self._list, name="ogcode-files", daemon=True).start()

    def _list(self) -> None:
        from ogcode.agent.tools.walk import walk

        began, growing = time.monotonic(), self._growing
        assert growing is not None  # noqa: S101  # made by whoever started this thread
        skip, folders = len(str(self._top).rstrip("/")) + 1, set[str]()
        try:
            files = walk(self._top, self._top, lambda: self._closed, self._ignoring())
            for number, path in enumerate(islice(files, self._most)):
                name = str(path)[skip:]
                folder = name.rpartition("/")[0]
                while folder and folder not in folders:
                    folders.add(folder)
                    growing.append(f"{folder}/")
                    folder = folder.rpartition("/")[0]
                growing.append(name)
                if number % 100 == 0:
                    time.sleep(0)  # a key that waits comes first
            self._full = next(files, None) is not None
        finally:
            with self._lock:
                self._paths, self._growing = growing, None
                self._born = time.monotonic()
                self._took = self._born - began

    def _first(self, paths: Sequence[str], stale: Stale) -> list[str]:
        """Where nothing is typed yet: what lies at the top."""
        known, count, top = self._top_level
        if known is not paths or count != len(paths):
            count = len(paths)
            top = _filtered(re.compile(r"[^/]+/?\Z"), paths, stale)
            if not stale():
                self._top_level = paths, count, top
        return sorted(top, key=lambda path: (not path.endswith("/"), path.lower()))[:OFFERED]

    def _best(self, word: str, paths: Sequence[str], stale: Stale) -> list[str]:
        if not word:
            return self._first(paths, stale)
        last, searched, count, fitting = self._last
        narrower = bool(last) and word.startswith(last) and searched is paths
        candidates = list(fitting) if narrower else []
        here = _filtered(_subsequence(word), candidates, stale)
        size = len(paths)
        here += _filtered(_subsequence(word), islice(paths, count if narrower else 0, size), stale)
        if stale():
            return []
        self._last = word, paths, size, here
        return _ranked(word, here, stale)


def _ranked(word: str, paths: list[str], stale: Stale) -> list[str]:
    """Name begins with it, holds it, path holds it, words of the name begin so, name, path: each by length."""
    ranked = dict[str, None]()
    for pattern in _tiers(word):
        if len(ranked) >= OFFERED or stale():
            break
        fitting = (path for path in _filtered(pattern, paths, stale) if path not in ranked)
        ranked.update(dict.fromkeys(nsmallest(OFFERED - len(ranked), fitting, key=lambda path: (len(path), path))))
    return list(ranked)


def _tiers(word: str) -> Sequence[re.Pattern[str]]:
    literal, (first, *rest) = re.escape(word), map(re.escape, word)
    begun = "".join([first, *(rf"(?>(?:[^/]*?[^a-zA-Z0-9/])??{letter})" for letter in rest)])
    patterns = (
        rf"(?:.*/)?{literal}[^/]*/?\Z",
        rf"(?:.*/)?[^/]*{literal}[^/]*/?\Z",
        rf".*{literal}",
        rf"(?:.*/)?{begun}[^/]*/?\Z",
        rf"(?:.*/)?{_letters(word, '/')}[^/]*/?\Z",
    )
    return (*(_compiled(pattern, word) for pattern in patterns), _subsequence(word))


def _subsequence(word: str) -> re.Pattern[str]:
    """Fit where the letters occur in this order, in time that grows with the path alone."""
    return _compiled(_letters(word), word)


def _letters(word: str, but: str = "") -> str:
    return "".join(f"[^{re.escape(letter + but)}]*+{re.escape(letter)}" for letter in word)


def _compiled(pattern: str, word: str) -> re.Pattern[str]:
    """Letters in capitals are meant as such."""
    return re.compile(pattern, re.DOTALL if word != word.lower() else re.DOTALL | re.IGNORECASE)


def _filtered(pattern: re.Pattern[str], paths: Iterable[str], stale: Stale) -> list[str]:
    found, left = list[str](), iter(paths)
    while chunk := list(islice(left, _CHUNK)):
        found += filter(pattern.match, chunk)
        if stale():
            return []
        time.sleep(0)  # a key that waits comes first
    return found


def _typed(top: Path, word: str, home: str) -> list[str]:
    """List what a typed folder holds that begins so: ignored files and those outside, too."""
    folder, slash, begun = word.rpartition("/")
    if not word:
        return []
    place = f"{home}{folder[1:]}" if home and (folder == "~" or folder.startswith("~/")) else folder
    try:
        with os.scandir(top / (place + slash)) as scanned:
            named = [entry for entry in islice(scanned, _ENTRIES) if entry.name.lower().startswith(begun.lower())]
    except (OSError, ValueError):
        return []
    shown = [entry for entry in named if begun.startswith(".") or not entry.name.startswith(".")]
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in shown)
    return [f"{folder}{slash}{name}" for name in names[:OFFERED]]
