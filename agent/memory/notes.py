"""The note of a turn: its name, its frontmatter, and reading any markdown file as one."""

import contextlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from ogcode.agent.memory.markdown import sections

LARGEST = 1_000_000
"""Bytes; a larger file in the memory folder is not a note."""

HEAD = 200
"""Lines in which a frontmatter block ends."""

LONGEST_HEAD = 20_000
"""Characters of a frontmatter block that a person may have written."""

SECTIONS = ("Request", "What was done", "Key files & symbols", "Decisions & why", "Outcome")
_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}Z)--([0-9a-z]+)(?:--(.*))?$")
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_OPENING = re.compile(r"---[^\S\n]*\n")
_CLOSING = re.compile(r"\n(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)")
_CONFLICT = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
_read_json = json.JSONDecoder().raw_decode
_ALIAS = re.compile(r"[\s\[{,:]\*\w")


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    """`<UTC start of the turn>--<session tag>`; of a file with another name, that name."""
    title: str
    text: str
    """The whole file."""
    body: str = ""
    """What stands below the frontmatter."""
    session_id: str = ""
    created_at: str = ""
    """ISO 8601, UTC; empty where neither the frontmatter nor the name tells."""
    turn: int = 0
    outcome: str = ""
    scribe: str = ""
    topics: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Paths and the start of their content hashes at the end of the turn."""
    malformed: str = ""
    """What is wrong with the file; it is a note all the same."""
    pinned: bool = False


def note_id(started: datetime, session_id: str) -> str:
    """Name the note of a turn that began at `started` (UTC)."""
    return f"{started.astimezone(UTC):%Y-%m-%dT%H%M%SZ}--{session_id[:8]}"


def slug(title: str) -> str:
    """Make a file name's last part of a title: letters of any script, at most 60 bytes, never empty."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", title).casefold())
    plain = "-".join(re.findall(r"[^\W_]+", folded)) or "untitled"
    while len(plain.encode()) > 60:
        shorter = plain.rpartition("-")[0]
        plain = shorter if len(shorter.encode()) >= 20 else plain[:-1]
    return f"{plain}-note" if plain in _RESERVED else plain


def frontmatter(facts: Mapping[str, object]) -> str:
    """Write a frontmatter block whose scalars are JSON, so that no title can break or forge a field."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in facts.items()]
    return "\n".join(["---", *lines, "---", ""])


def parse_note(name: str, content: bytes) -> Note:
    """Read a file of the memory folder. Never raises: what is wrong is said in `malformed`."""
    text = content.decode("utf-8", "replace").lstrip("\ufeff")
    if "\r" in text:  # a single letter is looked for many times faster than two
        text = text.replace("\r\n", "\n")
    faults = ["not UTF-8"] if "\ufffd" in text else []
    if "\x00" in text:
        faults.append("holds NUL bytes")
        text = text.replace("\x00", "\ufffd")
    if ("<" in text and "<<<<<<< " in text) or (">" in text and ">>>>>>> " in text):
        faults += ["holds merge conflict marks"] if _CONFLICT.search(text) else []
    head = _head(text)
    body = text[len(head) :]
    facts, fault = _facts(head) if head else ({}, "")
    if fault:
        faults.append(fault)
    if not text or text.isspace():
        faults.append("empty")
    stem = name.rpartition("/")[2].removesuffix(".md")
    named = _NAME.match(stem)
    files = facts.get("files")
    turn = facts.get("turn")
    return Note(
        id=f"{named[1]}--{named[2]}" if named else stem,
        title=_string(facts, "title") or _heading(text) or stem,
        text=text,
        body=body,
        session_id=_string(facts, "session_id") or (named[2] if named else ""),
        created_at=_string(facts, "created_at") or named_time(stem),
        turn=turn if isinstance(turn, int) and 0 <= turn < 2**31 else 0,
        outcome=_string(facts, "outcome"),
        scribe=_string(facts, "scribe"),
        topics=_topics(body),
        files={_whole(path): _whole(digest) for path, digest in files.items() if isinstance(path, str)}
        if isinstance(files, dict)
        else {},
        malformed="; ".join(faults),
        pinned=facts.get("pinned") is True,
    )


def named_time(name: str) -> str:
    """Give the time in the name or id of a note, as ISO 8601; empty where it has none."""
    named = _NAME.match(name)
    return f"{named[1][:13]}:{named[1][13:15]}:{named[1][15:17]}Z" if named else ""


def read_head(text: str) -> tuple[dict[str, object], str, str]:
    """Take a markdown file apart: its frontmatter, what stands below it, and what is wrong with it."""
    head = _head(text)
    facts, fault = _facts(head) if head else ({}, "")
    return facts, text[len(head) :], fault


def _heading(text: str) -> str:
    return next((section.title for section in sections(text) if section.level == 1 and section.title), "")


def _head(text: str) -> str:
    """Give the frontmatter block at the top, both fences included."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end() - 1) if opening else None
    return text[: closing.end()] if closing and text.count("\n", 0, closing.start()) < HEAD - 1 else ""


def _facts(head: str) -> tuple[dict[str, object], str]:
    """Read our own frontmatter quickly; anything else as YAML."""
    lines = [f'"{line}'.replace(": ", '": ', 1) for line in head.rstrip("\n").split("\n")[1:-1]]
    block = f"{{{','.join(lines)}}}"
    with contextlib.suppress(ValueError, RecursionError):
        facts, end = _read_json(block)  # at once: a call costs more than a value
        if end == len(block) and len(facts) == len(lines) and all(map(str.isidentifier, facts)):
            return facts, ""
    if len(head) > LONGEST_HEAD or len(_ALIAS.findall(head)) > 10:
        return {}, "frontmatter can't be read (too large, or YAML aliases)"
    import frontmatter as yaml_head  # costs a YAML parser: only for heads that people wrote

    try:
        return dict(yaml_head.loads(head).metadata), ""
    except Exception as error:  # PyYAML raises far more than YAMLError: RecursionError, ValueError, …
        return {}, f"frontmatter can't be read ({type(error).__name__})"


def _string(facts: Mapping[str, object], key: str) -> str:
    value = facts.get(key, "")
    if not isinstance(value, str) and isinstance(value, datetime):
        with contextlib.suppress(ValueError, OverflowError):
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _whole(value)


def _whole(value: object) -> str:
    """Give a scalar as text that can be stored: no lone surrogates, and nothing of a structure."""
    if isinstance(value, str) and value.isascii():
        return value
    return str(value).encode("utf-8", "replace").decode() if isinstance(value, str | int | float | date) else ""


def _topics(body: str) -> tuple[str, ...]:
    line = f"\n{body}".partition("\nTopics:")[2].partition("\n")[0]
    return tuple(dict.fromkeys(filter(None, map(str.strip, line.split(",")))))[:8]
