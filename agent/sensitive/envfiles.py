"""The secrets that `.env` files hold: they are told apart by their values once somebody has read one aloud."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ogcode.agent.memory.beneath import read_beneath
from ogcode.agent.sensitive.secrets import env_file_values

LARGEST = 100_000
"""Bytes of a file that are looked at."""

FILES = 200
"""Files that are looked at."""

_NAME = re.compile(r"\.env(?:\.[\w.-]+)?|[\w.-]+\.env")
_NAMED = re.compile(rf"(?:[\w.~@+-]*/)*(?:{_NAME.pattern})(?![\w/-])")


def env_files_in(top: Path, folder: Path) -> Iterator[str]:
    """List the `.env` files of a folder in a checkout, by their paths from its top."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if _NAME.fullmatch(entry.name):
                yield os.path.relpath(entry.path, top)


def env_files_named(said: Iterable[str], top: Path) -> Iterator[str]:
    """List the `.env` files that texts such as a call's arguments name, by their paths from the top of the checkout."""
    for text in said:
        for match in _NAMED.finditer(text):
            yield os.path.normpath(os.path.relpath(top / match[0], top))


def env_file_secrets(top: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Read the secret values of files; what is no regular file below `top` has none."""
    found = dict[str, None]()
    for path in sorted({*paths})[:FILES]:
        with contextlib.suppress(OSError, ValueError):
            text = read_beneath(top, path, LARGEST).decode("utf-8", "replace")
            found.update(dict.fromkeys(env_file_values(text)))
    return tuple(found)
