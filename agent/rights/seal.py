"""A mark by which ogcode knows what it wrote itself into a folder that others can write to."""

import contextlib
import hmac
import os
from pathlib import Path

from ogcode.agent.files.durable import create_file, make_folder

KEY_BYTES = 32


class Seal:
    """Signs with a key that lies in the user's home; without a writable home it signs and accepts nothing."""

    def __init__(self, home: Path) -> None:
        self._path = home / "seal.key"
        self._key: bytes | None = None

    def sign(self, content: bytes) -> str:
        """Return the mark of a content: hexadecimal HMAC-SHA256, or empty where there is no key."""
        key = self._load(make=True)
        return hmac.digest(key, content, "sha256").hex() if key else ""

    def knows(self, content: bytes, mark: str) -> bool:
        """Tell whether this user's ogcode made the mark."""
        key = self._load(make=False)
        if not key or not mark.isascii():
            return False
        return hmac.compare_digest(hmac.digest(key, content, "sha256").hex(), mark)

    def _load(self, *, make: bool) -> bytes:
        if self._key is None:
            if make:
                with contextlib.suppress(OSError):
                    make_folder(self._path.parent)
                    create_file(self._path, os.urandom(KEY_BYTES))
            with contextlib.suppress(OSError):
                self._key = self._path.read_bytes()
        return self._key if self._key and len(self._key) == KEY_BYTES else b""
