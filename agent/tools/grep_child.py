"""Search with Python where there is no ripgrep: a process of its own, because a pattern may never come to an end."""

import os
import re
import sys

from ogcode.agent.tools.text import decode

_LONGEST_LINE = 2_000
_MOST_BYTES = 64_000_000


def main(pattern: str, *files: str) -> int:
    """Print `path NUL number:line` for every line that matches."""
    try:
        wanted = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for file in files:
        _search(file, wanted)
    return 0


def _search(file: str, wanted: re.Pattern[str]) -> None:
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as source:
            body = source.read(_MOST_BYTES + 1)
    except OSError:
        return
    decoded = decode(body) if len(body) <= _MOST_BYTES else None
    if decoded is None:
        return
    name = os.fsencode(file)
    for number, line in enumerate(decoded.text.split("\n"), 1):
        if len(line) <= _LONGEST_LINE and wanted.search(line.removesuffix("\r")):
            sys.stdout.buffer.write(b"%s\0%d:%s\n" % (name, number, line.encode("utf-8", "replace")))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
