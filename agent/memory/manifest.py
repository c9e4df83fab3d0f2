"""Which notes are this user's own: kept outside the repository, one line a note."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from functools import cached_property
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Literal

from ogcode.agent.files.durable import append_line, make_folder

Origin = Literal["own", "edited", "foreign"]
State = tuple[int, int, int]
"""Size, mtime and inode of a manifest; all 0 where there is none."""

_CLAIM = re.compile(rb'^\{"note": "([^"\n]*)", "sha256": "([0-9a-f]{64})"\}$', re.MULTILINE)
"""As `add` writes it; what a crash tore is passed over."""


class Manifest:
    def __init__(self, home: Path, root: Path) -> None:
        self.path = home / "manifests" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.jsonl"
        self._claims = Claims(self.path)
        self._state: State | None = None

    def add(self, note: str, content: bytes) -> None:
        """Claim a note, before it gets its name: a claim without a note does no harm.

        Raises:
            OSError: the home can't be written; the note will count as foreign.
        """
        make_folder(self.path.parent)
        row = {"note": note, "sha256": hashlib.sha256(content).hexdigest()}
        append_line(self.path, json.dumps(row).encode(), sync=True)

    def state(self) -> State:
        """Tell the state of the file, to see whether it has changed."""
        try:
            facts = self.path.stat()
        except OSError:
            return 0, 0, 0
        return facts.st_size, facts.st_mtime_ns, facts.st_ino

    def claims(self) -> "Claims":
        """Give what is claimed by now, to ask about many notes."""
        if self._state != (state := self.state()):
            self._claims, self._state = Claims(self.path), state
        return self._claims

    def origin(self, note: str, sha256: str) -> Origin:
        """Tell whose a note is: ours as written, ours and edited since, or someone else's."""
        return self.claims().origin(note, sha256)


class Claims:
    """The claims of one manifest as they were when it was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = _read(path)

    @cached_property
    def _known(self) -> dict[bytes, bytes]:
        """Names that were claimed here, and their hashes, one after another."""
        known = dict[bytes, bytes]()
        for name, digest in _CLAIM.findall(self._content):
            known[name] = known[name] + digest if name in known else digest
        return known

    @cached_property
    def _elsewhere(self) -> frozenset[tuple[bytes, bytes]]:
        """Names and hashes that were claimed in other folders."""
        others = sorted(self._path.parent.glob("*.jsonl"))
        return frozenset(claim for path in others if path != self._path for claim in _CLAIM.findall(_read(path)))

    def origin(self, note: str, sha256: str) -> Origin:
        """Tell whose a note is. What another folder's manifest claims to the byte is ours too: a checkout can move."""
        name, digest = _name(note), sha256.encode()
        if digest and digest in self._known.get(name, b""):
            return "own"
        if (name, digest) in self._elsewhere:
            return "own"
        return "edited" if name in self._known else "foreign"

    def strangers(self, notes: Iterable[str]) -> list[str]:
        """Pick the notes whose names were claimed nowhere; no file is read for it."""
        left = [note for note in notes if _name(note) not in self._known]
        elsewhere = {name for name, _ in self._elsewhere} if left else set[bytes]()
        return [note for note in left if _name(note) not in elsewhere]

    def here(self) -> dict[str, list[str]]:
        """Give the hashes that were claimed of each note in this very folder, oldest first."""
        found = dict[bytes, list[str]]()
        for name, digest in _CLAIM.findall(self._content):
            found.setdefault(name, []).append(digest.decode())
        return {str(json.loads(b'"%b"' % name)) if b"\\" in name else name.decode(): found[name] for name in found}

    def anywhere(self, note: str) -> list[str]:
        """Give the hashes that were claimed of a note in any folder: a checkout can move, and what it keeps with it."""
        claims = (_CLAIM.findall(_read(path)) for path in sorted(self._path.parent.glob("*.jsonl")))
        return [digest.decode() for found in claims for name, digest in found if name == _name(note)]

    def since(self, size: int) -> frozenset[str]:
        """Name the notes that are claimed behind the first so many bytes."""
        return frozenset(json.loads(b'"%b"' % name) for name, _ in _CLAIM.findall(self._content[size:]))


def _name(note: str) -> bytes:
    return encode_basestring_ascii(note)[1:-1].encode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
