"""A memory from elsewhere that means harm: it costs nothing, leads nowhere, and brings no secret along."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from knowing import facts_of, look
from saying import Say
from stage_cli import Place, new_place

from ogcode.tui.exchange.openworker import MOST

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1z2A"
TABLE = "create table memories (id integer primary key, scope text, content, created_at text)"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path)


def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as opened:
        for statement in statements:
            opened.execute(statement)
        opened.commit()
    return path


def rows(*contents: str) -> str:
    return "insert into memories (scope, content) values " + ", ".join(f"('global', {each})" for each in contents)


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (
            ["create view memories as with recursive c(x) as (select 1 union all select x + 1 from c)"
             " select x as id, 'global' as scope, 'c' as content from c"],
            "there is no table of memories",
        ),
        ([TABLE, rows("hex(zeroblob(2000000))")], "too big"),
        (["create table memories (id, scope, content)", "drop table memories"], "there is no table of memories"),
    ],
    ids=["a view without end", "a huge row", "nothing"],
)  # fmt: skip
def test_a_database_that_would_cost_too_much_is_refused(
    say: Say, tmp_path: Path, statements: list[str], why: str
) -> None:
    told = say("memory", "import", str(database(tmp_path / "x.db", *statements)))
    assert (told.code, told.out) == (42, "")
    assert why in told.err


def test_one_row_that_is_no_text_costs_itself_alone(say: Say, tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", TABLE, rows("x'ff00'", "7", "cast(x'61ff62' as text)", "'plain'"))
    told = say("memory", "import", str(path), "--json")
    assert [row["text"] for row in told.rows] == ["a\ufffdb", "plain"]
    assert told.err.count("not text") == 2


def test_more_rows_than_are_looked_at_are_told(say: Say, tmp_path: Path) -> None:
    many = f"with recursive c(x) as (select 1 union all select x + 1 from c where x <= {MOST})"
    path = database(tmp_path / "x.db", TABLE, f"{many} insert into memories select x, 'project', 'same', '' from c")
    assert f"left out: what lies beyond the first {MOST:,} memories" in say("memory", "import", str(path)).err


def test_nothing_is_made_beside_a_database_that_is_read(say: Say, tmp_path: Path) -> None:
    (tmp_path / "worker").mkdir()
    path = database(tmp_path / "worker" / "coworker.db", "pragma journal_mode = wal", TABLE, rows("'plain'"))
    assert len(say("memory", "import", str(path.parent), "--json").rows) == 1
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x.db", "x.md", "x.jsonl"])
@pytest.mark.parametrize("made", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_what_is_no_file_is_neither_waited_for_nor_read(
    say: Say, tmp_path: Path, name: str, made: Callable[[Path], None]
) -> None:
    made(tmp_path / name)
    told = say("memory", "import", str(tmp_path / name))
    assert (told.code, told.out) == (42, "")
    assert "name a file or a folder" in told.err


def test_a_pipe_beside_a_database_is_not_waited_for(say: Say, tmp_path: Path) -> None:
    (tmp_path / "worker").mkdir()
    database(tmp_path / "worker" / "coworker.db", TABLE, rows("'plain'"))
    os.mkfifo(tmp_path / "worker" / "memory-settings.json")
    assert len(say("memory", "import", str(tmp_path / "worker"), "--json").rows) == 1


def test_an_export_whose_folders_are_links_gives_nothing_of_where_they_lead(say: Say, tmp_path: Path) -> None:
    (tmp_path / "diary" / "facts").mkdir(parents=True)
    (tmp_path / "diary" / "MEMORY.md").write_text("# Memory\n\nA diary.\n", "utf-8")
    (tmp_path / "diary" / "facts" / "a.md").write_text("# A\n\nA diary.\n", "utf-8")
    export = tmp_path / "export"
    (export / "project" / "facts").mkdir(parents=True)
    (export / "ogcode-facts.json").write_text('{"version": 1}', "utf-8")
    (export / "global").symlink_to(tmp_path / "diary")
    os.mkfifo(export / "project" / "MEMORY.md")
    (export / "project" / "facts" / "a.md").symlink_to(tmp_path / "diary" / "facts" / "a.md")
    told = say("memory", "import", str(export), "--apply")
    assert (told.code, told.out) == (0, "")
    assert "diary" not in told.err
    assert told.err.count("a link, no file, or not to be read") == 4


def test_no_field_brings_a_secret_along_and_twice_is_once(place: Place, say: Say, tmp_path: Path) -> None:
    given = {"scope": "project", "updated": "2026-01-01"}
    lines = [
        {**given, "id": "x", "text": f"one {TOKEN}", "source": TOKEN, "summary": f"sum {TOKEN}"},
        {**given, "file": f"{TOKEN}.md", "note": f"---\ntitle: t {TOKEN}\ntags: [{TOKEN}]\n---\n\ntwo {TOKEN}\n"},
        {**given, "by_hand": f"by hand {TOKEN}"},
    ]
    source = tmp_path / "x.jsonl"
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    told = [say("memory", "import", str(source), "--apply") for _ in range(2)]
    assert TOKEN not in "".join(each.out + each.err for each in told)
    kept = [path for top in (place.folder, place.home) for path in top.rglob("*") if path.is_file()]
    assert not [path for path in kept if TOKEN.encode() in path.read_bytes() or "ghp" in path.name]
    assert (place.folder / "MEMORY.md").read_text("utf-8").count("by hand") == 1


def test_what_nobody_has_accepted_is_not_given_out(place: Place, say: Say) -> None:
    say("memory", "remember", "# Deploys\n\nOn Tuesdays.")
    with (place.folder / ".ogcode" / "facts" / "deploys.md").open("a", encoding="utf-8") as file:
        file.write("\nA STRANGER'S LINE\n")
    assert say("memory", "export", "out").code == 0
    assert "STRANGER" not in (place.folder / "out" / "project" / "facts" / "deploys.md").read_text("utf-8")


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("made", [a_link, os.mkfifo, Path.mkdir], ids=["link", "pipe", "folder"])
def test_what_stands_in_a_facts_place_stops_no_session(place: Place, say: Say, made: Callable[[Path], None]) -> None:
    say("memory", "remember", "# Deploys\n\nOn Tuesdays.")
    made(place.folder / ".ogcode" / "facts" / "a.md")
    made(place.folder / "MEMORY.md")
    told = say("memory", "facts", "--json")
    assert [row["title"] for row in told.rows] == ["Deploys"]
    known = facts_of(look(place.folder, place.home, trust=False)).known()
    assert known.notices == (".ogcode/facts/a.md is a link, or no file: it is not read",)
    refused = say("memory", "remember", "A fact.")
    assert refused.code == 1
    assert "MEMORY.md" in refused.err
