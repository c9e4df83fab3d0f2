"""Look for secrets in all that memory keeps; what is found is told by kind and line, never by value."""

import errno
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ogcode.agent.files.git_index import GitIndexUnread, tracked
from ogcode.agent.files.root import Root
from ogcode.agent.memory.beneath import read_beneath
from ogcode.agent.memory.health import Trouble
from ogcode.agent.sensitive.gitleaks import GitleaksFailed, second_pass
from ogcode.agent.sensitive.secrets import findings

LARGEST = 64_000_000
"""Bytes of one file; of a longer one the start is looked at, and that is said."""

_REMEDIES = {
    "memory": "edit the note, or forget it for good",
    "spool": "forget the turn for good",
    "trash": "forget the note for good",
    "sessions": "a transcript keeps what was said and printed; remove the file if you can do without",
}
_marks_in = re.compile(r"\[secret: ([^\]]+)\]").findall
_CACHES = ("index.db", "index.db-journal", "index.db-wal", "index.db-shm")


def tracked_leaks(root: Root, known: Sequence[str]) -> Iterator[Trouble]:
    """Find secrets in what git tracks of memory."""
    try:
        names = tracked(root.path, root.store.name)
    except (GitIndexUnread, OSError):
        return  # told where what is tracked is looked at
    for name in names:
        for line, kind in _leaks(root.store, name, known):
            yield Trouble("secret", name, f"{kind}: tracked by git: take it out, and change the secret", line)


def all_leaks(root: Root, known: Sequence[str], gitleaks: Path | None) -> Iterator[Trouble]:
    """Find secrets in notes, spool, transcripts, ledger, logs and trash; not in what can be made anew.

    `gitleaks` is asked for what our own rules do not see.
    """
    for folder, folders, files in os.walk(root.store):
        folders.sort()
        for file in sorted(files):
            path = os.path.relpath(f"{folder}/{file}", root.store)
            remedy = _REMEDIES.get(path.partition(os.sep)[0], "take the line out, or remove the file")
            try:
                for line, kind in () if path in _CACHES else _leaks(root.store, path, known, gitleaks):
                    yield Trouble("secret", path, f"{kind}: {remedy}", line)
            except GitleaksFailed as error:
                yield Trouble("gitleaks", path, f"{error}")
                gitleaks = None


def _leaks(store: Path, name: str, known: Sequence[str], gitleaks: Path | None = None) -> Iterator[tuple[int, str]]:
    """Give line and kind of the secrets in a file."""
    try:
        content = read_beneath(store, name, LARGEST + 1)
    except FileNotFoundError:
        return  # gone meanwhile, or no file
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):  # links are not followed
            yield 0, f"could not be looked into ({error.strerror})"
        return
    if len(content) > LARGEST:
        yield 0, f"only the first {LARGEST:,} bytes were looked at"
    text = content[:LARGEST].decode("utf-8", "replace")
    masked, line, at = list[str](), 1, 0
    for found in findings(text, known):
        line += text.count("\n", at, found.start)
        masked += [text[at : found.start], "\n" * text.count("\n", found.start, found.end)]
        yield line, found.kind
        line, at = line + text.count("\n", found.start, found.end), found.end
    yield from _others("".join([*masked, text[at:]]), gitleaks)


def _others(masked: str, gitleaks: Path | None) -> Iterator[tuple[int, str]]:
    """Give what is left for gitleaks to find: our own findings are taken out, and all lines are in their places."""
    if gitleaks is None:
        return
    pairs = zip(masked.split("\n"), second_pass(masked, gitleaks).split("\n"), strict=False)
    for number, (before, after) in enumerate(pairs, 1):
        if after != before:
            yield from (
                (number, f"{kind} (gitleaks)") for kind in Counter(_marks_in(after)) - Counter(_marks_in(before))
            )
