"""Notes that a person has pinned: it stands in their frontmatter, and a note of one's own stays one."""

import os
import re
from hashlib import sha256

from ogcode.agent.files.durable import replace_file
from ogcode.agent.index.cache import Memory
from ogcode.agent.index.reading import Entry
from ogcode.agent.memory.beneath import read_beneath
from ogcode.agent.memory.markdown import head_lines
from ogcode.agent.memory.notes import LARGEST, parse_note
from ogcode.agent.memory.trash import hidden, keep

_PIN = re.compile(r"pinned[ \t]*:")


class NotPinned(Exception):
    """A note can't be pinned; the text says why."""


def pin(memory: Memory, entry: Entry, *, pinned: bool) -> None:
    """Write into a note that it is pinned, or no longer.

    Raises:
        NotPinned, OSError: it stays as it is.
    """
    if entry.pending:
        raise NotPinned(f"{entry.id} has no note yet; it can be pinned once it is written")
    store, path = memory.root.store, memory.root.store / entry.path
    before = read_beneath(store, entry.path, LARGEST)
    after = with_pin(before.decode("utf-8", "surrogateescape"), pinned=pinned).encode("utf-8", "surrogateescape")
    if after == before:
        return
    if parse_note(entry.path, after).pinned != pinned:
        raise NotPinned(f"{entry.id}: its frontmatter can't be read; edit it first")
    if read_beneath(store, entry.path, LARGEST) != before:
        raise NotPinned(f"{entry.id} has just been changed by someone else; try again")
    if memory.manifest.origin(entry.id, sha256(before).hexdigest()) == "own":
        memory.manifest.add(entry.id, after)
        if not hidden(store):
            keep(store, entry.path, after)
    facts = path.stat()
    replace_file(path, after)
    path.chmod(facts.st_mode & 0o777)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # a note of somebody else's is dated by it


def with_pin(text: str, *, pinned: bool) -> str:
    """Put the line into a frontmatter block, or take it out; what had no block loses an empty one again."""
    lines = text.split("\n")
    end = head_lines(lines)
    held = [line for line in lines[1 : end - 1] if not _PIN.match(line)] if end else []
    if not end:
        return f"---\npinned: true\n---\n{text}" if pinned else text
    if not pinned and not held and end > 2:
        return "\n".join(lines[end:])
    mark = [f"pinned: true{chr(13) if lines[0].endswith(chr(13)) else ''}"] if pinned else []
    return "\n".join([lines[0], *held, *mark, *lines[end - 1 :]])
