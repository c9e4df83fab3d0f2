"""F14: notes as hands, editors, disks and other programs leave them."""

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from remembered import GOOD, a_job, a_memory, note_files, notes, scribe, spool, write_note

from ogcode.agent.memory.notes import LARGEST, parse_note
from ogcode.agent.model import Broken
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.tool import ToolError
from ogcode.librarian.library import Library
from ogcode.librarian.tools import librarian_tools

Change = Callable[[bytes, random.Random], bytes]
BATCH = 50


def lines(change: Callable[[list[bytes], random.Random], list[bytes]]) -> Change:
    return lambda content, chance: b"\n".join(change(content.split(b"\n"), chance))


def somewhere(inserted: Callable[[random.Random], bytes]) -> Change:
    def insert(content: bytes, chance: random.Random) -> bytes:
        place = chance.randrange(len(content) + 1)
        return content[:place] + inserted(chance) + content[place:]

    return insert


def line_deleted(kept: list[bytes], chance: random.Random) -> list[bytes]:
    place = chance.randrange(len(kept))
    return kept[:place] + kept[place + 1 :]


def line_doubled(kept: list[bytes], chance: random.Random) -> list[bytes]:
    place = chance.randrange(len(kept))
    return [*kept[:place], kept[place], *kept[place:]]


def lines_shuffled(kept: list[bytes], chance: random.Random) -> list[bytes]:
    return chance.sample(kept, len(kept))


def key_doubled(kept: list[bytes], chance: random.Random) -> list[bytes]:
    place = chance.randrange(1, 8)
    return [*kept[:place], chance.choice(kept[1:8]), b"turn: 99", *kept[place:]]


def head(change: Callable[[random.Random], bytes]) -> Change:
    """Put a line, or several, into the frontmatter."""
    return lines(lambda kept, chance: [kept[0], change(chance), *kept[1:]])


def value(change: Callable[[random.Random], bytes]) -> Change:
    """Give a key of the frontmatter another value."""

    def put(kept: list[bytes], chance: random.Random) -> list[bytes]:
        place = chance.randrange(1, 8)
        return [*kept[:place], kept[place].partition(b":")[0] + b": " + change(chance), *kept[place + 1 :]]

    return lines(put)


def flipped(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ (1 << chance.randrange(8))]) + content[place + 1 :]


ODD_VALUES = (
    b"2026-13-45T99:99:99Z",
    b"0000-00-00",
    b"9999-12-31T23:59:59+23:59",
    b"2026-09-12",
    b"-0001-01-01T00:00:00Z",
    b"!!python/object/apply:os.system [touch x]",
    b"*undefined",
    b"&a [*a, *a]",
    b"{" * 300,
    b"[" * 3_000,
    b'"unclosed',
    b"'unclosed",
    b"yes",
    b"~",
    b".nan",
    b".inf",
    b"1e999",
    b"0x" + b"f" * 400,
    b"9" * 5_000,
    b"-1",
    b'"\\ud800"',
    b'"\\u0000"',
    b'{"a": {"b": [1, null, {}]}}',
    b'["a", ["b"]]',
    b"|\n  many\n  lines",
    b"@at",
    b"%percent",
    b"a: b: c",
    b"\t tab",
    b'"' + b"x" * 30_000 + b'"',
)

CHANGES: dict[str, Change] = {
    "line deleted": lines(line_deleted),
    "line doubled": lines(line_doubled),
    "lines shuffled": lines(lines_shuffled),
    "key doubled": lines(key_doubled),
    "value": value(lambda chance: chance.choice(ODD_VALUES)),
    "deep YAML": head(lambda chance: b"deep: " + b"{a: " * chance.choice((50, 400, 2_000))),
    "deep lists": head(lambda chance: b"\n".join(b" " * n + b"-" for n in range(chance.choice((20, 150, 600))))),
    "many keys": head(lambda chance: b"\n".join(b"k%d: v" % n for n in range(chance.choice((10, 199, 5_000))))),
    "unended head": lines(lambda kept, chance: [line for line in kept if line != b"---" or chance.random() < 0.5]),
    "BOM": lambda content, chance: b"\xef\xbb\xbf" * chance.randint(1, 3) + content,
    "UTF-16": lambda content, chance: content.decode("utf-8", "replace").encode(
        chance.choice(("utf-16", "utf-16-le", "utf-32"))
    ),
    "CRLF": lambda content, chance: content.replace(b"\n", chance.choice((b"\r\n", b"\r", b"\n\r"))),
    "NUL": somewhere(lambda chance: b"\x00" * chance.choice((1, 7, 4_096))),
    "Latin-1": somewhere(lambda chance: chance.choice(("é", "ß", "ÿ\xa0")).encode("latin-1")),
    "control": somewhere(lambda chance: bytes([chance.randrange(32)]) * 3 + b"\x1b]8;;x\x07\xc2\x9b31m"),
    "bidirectional": somewhere(lambda chance: "\u202e\u2066\u200b\u2028\ufeff".encode()),
    "bytes": somewhere(lambda chance: chance.randbytes(chance.choice((1, 3, 200)))),
    "flipped bit": flipped,
    "cut": lambda content, chance: content[: chance.randrange(len(content))],
    "tail": lambda content, chance: content[chance.randrange(len(content)) :],
    "empty": lambda content, chance: chance.choice((b"", b"\n", b" " * 99, b"---\n", b"---\n---\n")),
    "ten megabytes": lambda content, chance: content + b"x" * (10_000_000 if chance.random() < 0.3 else 900_000),
    "one long line": lambda content, chance: content + b"# " + b"word " * 40_000,
    "headings": lambda content, chance: content + b"## H\nx\n" * chance.choice((100, 3_000)),
    "nested headings": lambda content, chance: content + b"".join(b"#" * (n % 7 + 1) + b" H\n" for n in range(1_500)),
    "fence": somewhere(lambda chance: chance.choice((b"\n```\n", b"\n~~~~\n", b"\n````x`\n"))),
    "conflict": lambda content, chance: b"<<<<<<< HEAD\n" + content + b"=======\n" + content + b">>>>>>> other\n",
    "twice": lambda content, chance: content + content,
    "binary": lambda content, chance: chance.randbytes(3_000),
    "other text": lambda content, chance: chance.choice((b"[1, 2]", b"<html>", b"#!/bin/sh\nls\n", b"# ", b"Topics:")),
}


async def originals(folder: Path) -> list[bytes]:
    """Have two notes written, by a model and without one."""
    memory = a_memory(folder)
    spool(memory, a_job(1), a_job(2))
    await scribe(memory, ScriptedModel(GOOD, Broken)).run()
    return [path.read_bytes() for path in note_files(memory)]


def mutations(originals: list[bytes], seeds: Iterable[int]) -> list[tuple[str, bytes]]:
    """Change a note in one way or several; the kinds come in turn."""
    made, kinds = list[tuple[str, bytes]](), list(CHANGES)
    for seed in seeds:
        chance = random.Random(seed)
        names = [kinds[seed % len(kinds)], *chance.choices(kinds[:-2], k=chance.choice((0, 0, 1, 2)))]
        content = chance.choice(originals)
        for name in names:
            content = CHANGES[name](content, chance) if len(content) > 200 or name == names[0] else content
        made.append((f"{seed} {', '.join(names)}", content))
    return made


def flaw(content: bytes) -> str:
    """Say what anybody would call wrong with a file."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    return "NUL" if "\x00" in text else "" if text.strip("\ufeff \n\r\t") else "empty"


async def check(folder: Path, batch: list[tuple[str, bytes]]) -> list[str]:
    """Put a batch into a memory; name what is neither read nor flagged. Whatever raises, raises."""
    memory = a_memory(folder)
    names = [f"2026-09-12T09{number // 60:02}{number % 60:02}Z--3f8c21aa--n.md" for number in range(len(batch))]
    for name, (_, content) in zip(names, batch, strict=True):
        write_note(memory, name, content)
    found = notes(memory)
    entries = {entry.name: entry for entry in found.entries()}
    library = Library(found, memory.root.sessions, memory.root.top, memory.seal)
    memory_map, file_map, read = [tool.function for tool in librarian_tools(library)]
    for query in ("", "dispatch retries", "word"):
        assert await memory_map(query=query)
    assert found.passages("dispatch retries", notes=50, characters=20_000) is not None
    wrong = list[str]()
    for name, (kind, content) in zip(names, batch, strict=True):
        note = parse_note(name, content)
        entry = entries.get(name)
        if (entry is None) != (len(content) > LARGEST):
            wrong.append(f"{kind}: {'not listed' if entry is None else 'huge and listed'}")
        if flaw(content) and not note.malformed:
            wrong.append(f"{kind}: {flaw(content)}, not flagged")
        if entry is None:
            continue
        if bool(note.malformed) != bool(entry.malformed) or not entry.title:
            wrong.append(f"{kind}: the index says {entry.malformed!r}, the file {note.malformed!r}")
        text = found.text(entry)
        if not flaw(content) and text.encode() != content.replace(b"\r\n", b"\n").lstrip("\ufeff".encode()):
            wrong.append(f"{kind}: read otherwise than it is")
        assert await file_map(name)
        try:
            assert await read(name)
            assert await read(name, "", 1, 5)
        except ToolError:
            wrong.append(f"{kind}: can't be read")
    return wrong


async def all_of(folder: Path, seeds: range) -> list[str]:
    made = mutations(await originals(folder / "originals"), seeds)
    wrong = list[str]()
    for start in range(0, len(made), BATCH):
        wrong += await check(folder / str(start), made[start : start + BATCH])
    return wrong


async def test_a_note_that_was_changed_in_any_way_is_read_or_flagged(fast: Path) -> None:
    assert await all_of(fast, range(150)) == []


@pytest.mark.torture
async def test_a_thousand_changed_notes_are_read_or_flagged(fast: Path) -> None:
    assert await all_of(fast, range(1_000, 2_000)) == []
