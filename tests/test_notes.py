import random
from datetime import datetime, timedelta, timezone

import pytest

from ogcode.agent.memory.markdown import sections
from ogcode.agent.memory.notes import frontmatter, note_id, parse_note, slug

TITLES = (
    'fix: a #42 "x" — *y',
    "no",
    "@x",
    "2026-01-01",
    "- a",
    "",
    "[a]: {b}",
    "---",
    "a\nb: c\n---\n",
    "back\\slash \\u0041",
    "&anchor *alias",
    "日本語 \U0001f600 \u2028 \x85 \x7f",
    "x" * 10_000,
)


@pytest.mark.parametrize("title", TITLES)
def test_a_title_comes_back_as_it_was_written(title: str) -> None:
    note = parse_note("a.md", (frontmatter({"title": title, "turn": 3}) + "\n# Other\n").encode())
    assert (note.title, note.turn, note.malformed) == (title or "Other", 3, "")


@pytest.mark.parametrize("title", [*TITLES, "../../etc/x", "CON", "a/b", "....", "\U0001f600", "漢" * 300, "com1"])
def test_a_slug_is_a_safe_file_name(title: str) -> None:
    made = slug(title)
    assert 0 < len(made.encode()) <= 65
    assert not set(made) & set('/\\:*?"<>|. \0\n')
    assert made not in ("con", "com1")


def test_a_slug_keeps_the_letters_of_every_script_and_folds_case() -> None:
    assert slug("Größe ändern: Retry-Backoff") == "grösse-ändern-retry-backoff"
    assert slug("修复 重试") == "修复-重试"
    assert slug("Ame\u0301lie") == slug("Am\u00e9lie") == "am\u00e9lie"


def test_an_id_is_the_start_in_utc_and_the_tag_of_the_session() -> None:
    started = datetime(2026, 9, 12, 11, 14, 12, tzinfo=timezone(timedelta(hours=2)))
    assert note_id(started, "3f8c21aa0011") == "2026-09-12T091412Z--3f8c21aa"


def test_a_file_without_frontmatter_takes_its_facts_from_name_and_heading() -> None:
    note = parse_note("sub/2026-09-12T091412Z--3f8c21aa--what-ever.md", b"intro\n\n# By hand #\n\nTopics: a, b\n")
    assert (note.id, note.title, note.session_id) == ("2026-09-12T091412Z--3f8c21aa", "By hand", "3f8c21aa")
    assert (note.created_at, note.topics, note.malformed) == ("2026-09-12T09:14:12Z", ("a", "b"), "")


def test_frontmatter_that_a_person_wrote_is_read_as_yaml() -> None:
    note = parse_note("a.md", b"---\ntitle: By hand\ncreated_at: 2026-09-12 09:14:12Z\nfiles:\n  a.py: 12\n---\n# x\n")
    assert (note.title, note.created_at, note.files) == ("By hand", "2026-09-12T09:14:12Z", {"a.py": "12"})


ALIASES = "---\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
BROKEN = {
    "yaml": b"---\ntitle: [a\n---\n# T\nWORD\n",
    "duplicate": b'---\ntitle: "a"\ntitle: "b"\n---\nWORD\n',
    "aliases": f"{ALIASES}files: {{x: *i}}\n---\nWORD\n".encode(),
    "brackets": b"---\na: " + b"[" * 3_000 + b"\n---\nWORD\n",
    "nested json": b"---\nfiles: " + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"\n---\nWORD\n",
    "surrogates": b'---\ntitle: "\\ud800"\nfiles: {"\\ud800": "\\udfff"}\n---\nWORD\n',
    "long head": b"---\na: [" + b"x, " * 200_000 + b"]\n---\nWORD\n",
    "huge number": b"---\nturn: " + b"9" * 40 + b"\n---\nWORD\n",
    "year one": b"---\ncreated_at: 0001-01-01 00:00:00\n---\nWORD\n",
    "nul": b"# T\n\x00WORD\n",
    "bom, crlf": b'\xef\xbb\xbf---\r\ntitle: "T"\r\n---\r\n# T\r\nWORD\r\n',
    "latin-1": b"# caf\xe9\nWORD\n",
    "unclosed": b"---\ntitle: a\nWORD\n",
    "conflict": b"# T\n<<<<<<< ours\nWORD\n=======\nTHEIRS\n>>>>>>> theirs\n",
    "one long word": b"WORD " + b"a" * 900_000,
    "headings only": b"WORD\n" + b"# a\n" * 100_000,
    "spaces": b"WORD\n# " + b" " * 300_000 + b"x # # #",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_a_note_all_the_same(kind: str) -> None:
    note = parse_note("2026-09-12T091412Z--3f8c21aa--x.md", BROKEN[kind])
    assert "WORD" in note.text
    assert note.id == "2026-09-12T091412Z--3f8c21aa"
    "".join([note.title, note.created_at, *note.topics, *note.files, *note.files.values()]).encode()
    assert note.turn < 2**31


@pytest.mark.parametrize("kind", ["yaml", "aliases", "brackets", "long head", "nul", "latin-1", "conflict"])
def test_a_broken_file_says_what_is_wrong(kind: str) -> None:
    assert parse_note("a.md", BROKEN[kind]).malformed


def test_an_empty_file_is_flagged() -> None:
    assert parse_note("a.md", b"").malformed == "empty"


def test_no_mutation_of_a_note_raises() -> None:
    whole = frontmatter({"title": "T", "turn": 1, "files": {"a": "b"}}) + "\n# T\n\nTopics: a\n\n## Request\nx\n"
    chance = random.Random(7)
    for _ in range(1_000):
        content = bytearray(whole.encode())
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(content))
            junk = [
                b"\n---\n",
                b"\0",
                b"\xff",
                b'"',
                b"{",
                b": ",
                b"\r",
                b"&a *a",
                b"```",
                bytes([chance.randrange(256)]),
            ]
            content[place : place + chance.randrange(4)] = chance.choice(junk)
        parse_note("a.md", bytes(content))


def outline(text: str) -> list[tuple[str, int, int, int]]:
    return [(part.title, part.level, part.start, part.end) for part in sections(text)]


def test_a_section_ends_at_the_next_heading_of_the_same_or_a_higher_level() -> None:
    text = "# A\n## B\nx\n### C\nx\n## D\n# E\nx\n"
    assert outline(text) == [("A", 1, 1, 6), ("B", 2, 2, 5), ("C", 3, 4, 5), ("D", 2, 6, 6), ("E", 1, 7, 8)]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# a", "a"),
        ("   # a", "a"),
        ("#\ta", "a"),
        ("# a #", "a"),
        ("# a ##  ", "a"),
        ("# a#", "a#"),
        ("# C #b", "C #b"),
        ("#", ""),
        ("## ##", ""),
        ("#a", None),
        ("    # a", None),
        ("####### a", None),
        ("\\# a", None),
    ],
)
def test_what_is_a_heading_is_what_commonmark_says(line: str, title: str | None) -> None:
    assert [part.title for part in sections(line)] == ([] if title is None else [title])


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("```\n# no\n```\n# yes", ["yes"]),
        ("~~~ py\n# no\n```\n# no\n~~~\n# yes", ["yes"]),
        ("````\n```\n# no\n`````\n# yes", ["yes"]),
        ("``` not `closed` here\n# yes", ["yes"]),
        ("```\n# never closed", []),
        ("---\n# no\n---\n# yes", ["yes"]),
        ("\ufeff---\n# no\n...\n# yes", ["yes"]),
        ("text\n---\n# yes\n---", ["yes"]),
    ],
)
def test_fences_and_frontmatter_hold_no_headings(text: str, titles: list[str]) -> None:
    assert [part.title for part in sections(text)] == titles
