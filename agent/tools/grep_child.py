"""Search with Python where there is no ripgrep: a process of its own, because a pattern may never come to an end."""

import os
import re
import sys
import time
from pathlib import Path

from ogcode.agent.tools.text import decode
from ogcode.agent.tools.walk import fits, walk

_LONGEST_LINE = 2_000
_MOST_BYTES = 5_000_000


def main(top: str, start: str, glob: str, pattern: str, seconds: str) -> int:
    """Print `path NUL number:line` for every line that matches."""
    try:
        wanted = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    ends = time.monotonic() + float(seconds)
    root, begin = Path(top), Path(start)
    files = [begin] if begin.is_file() else walk(root, begin, lambda: time.monotonic() > ends)
    for path in files:
        relative = path.relative_to(root)
        if not glob or fits(relative.parts, glob):
            _search(path, os.fsencode(relative), wanted)
        if time.monotonic() > ends:
            sys.stdout.buffer.flush()
            return 3
    return 0


def _search(path: Path, name: bytes, wanted: re.Pattern[str]) -> None:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return
        decoded = decode(path.read_bytes())
    except OSError:
        return
    if decoded is None:
        return
    for number, line in enumerate(decoded.text.split("\n"), 1):
        if len(line) <= _LONGEST_LINE and wanted.search(line.removesuffix("\r")):
            sys.stdout.buffer.write(b"%s\0%d:%s\n" % (name, number, line.encode("utf-8", "replace")))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:6]))
