"""Memories of other systems taken in once, and facts given out and taken in again: nothing twice, nothing lost."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from knowing import look
from saying import Say, Told, say_in
from stage_cli import Place, new_place

from ogcode.agent.facts.fact import Fact
from ogcode.tui.desks.facts import listed

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1z2A"

CLAUDE = """# My notes

Answer in short sentences.

## Build
- Use ninja, not make.
  It is twice as fast.
* [ ] Ask before a release.

Always run, in this order:
- lint
- tests

```sh
# not a heading
- not an item
```

@docs/more.md
<!-- a comment -->
"""

VAULT = {
    "memory/people/Ana.md": "---\ntitle: Ana Ruiz\naliases: [Ana, A. Ruiz]\nupdated: 2026-03-01\nmood: fine\n---\n\n"
    "# Compiled truth\n\nLeads the [[Search]] team.\n\n# Timeline\n\n- 2026-03-01: met [Source: [[chat:17]]]\n",
    "memory/search.md": "Owned by [[people/Ana|Ana]].\n\n# Open\n\nWho reviews?\n\n# Timeline\n- 2026-02-01: began\n",
    "memory/重试.md": "# 重试次数\n\n五次。\n",
    "memory/other/search.md": f"The other search. The key is {TOKEN}, sorry.\n",
    ".obsidian/workspace.json": "{}",
    "picture.png": "no text",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path)


def facts(place: Place) -> list[Fact]:
    return list(listed(look(place.folder, place.home, trust=False)))


def fates(told: Told) -> list[object]:
    return [row["fate"] for row in told.rows]


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def coworker(path: Path, *, summaries: bool = True, workspace: str = "/old/repo") -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "create table memories (id integer primary key autoincrement, scope text, key text, content text not null,"
            f"{' summary text,' if summaries else ''} workspace text, session_id text,"
            " created_at text default current_timestamp)"
        )
        rows = [
            ("global", "Prefers tabs.", None, "likes tabs"),
            ("workspace", "The port is 8080.", workspace, None),
            ("workspace", "Elsewhere it is 9090.", "/another/repo", None),
            ("global", f"Uses {TOKEN} at home.", None, None),
        ]
        for scope, content, folder, summary in rows:
            columns = "scope, content, workspace, created_at" + (", summary" if summaries else "")
            values = [scope, content, folder, "2026-01-02 03:04:05", *([summary] if summaries else [])]
            database.execute(f"insert into memories ({columns}) values ({', '.join('?' * len(values))})", values)
        database.commit()
    return path


def test_an_import_is_first_told_and_then_done_and_done_once(place: Place, say: Say, tmp_path: Path) -> None:
    source = written(tmp_path / "claude", {"CLAUDE.md": CLAUDE}) / "CLAUDE.md"
    before = sorted(place.folder.rglob("*"))
    told = say("memory", "import", str(source), "--json")
    assert fates(told) == ["new"] * 4
    assert "nothing was changed; --apply takes in what is new" in told.err
    assert (sorted(place.folder.rglob("*")), facts(place)) == (before, [])
    say("memory", "import", str(source), "--apply")
    assert fates(say("memory", "import", str(source), "--apply", "--json")) == ["known"] * 4
    assert len(facts(place)) == 4


def test_a_file_of_rules_becomes_a_fact_for_each_item_and_paragraph_under_its_heading(
    place: Place, say: Say, tmp_path: Path
) -> None:
    source = written(tmp_path / "claude", {"CLAUDE.md": CLAUDE}) / "CLAUDE.md"
    told = say("memory", "import", str(source), "--apply")
    assert [fact.text for fact in reversed(facts(place))] == [
        "Answer in short sentences.",
        "Build: Use ninja, not make.\nIt is twice as fast.",
        "Build: Ask before a release.",
        "Build: Always run, in this order:\n- lint\n- tests\n\n```sh\n# not a heading\n- not an item\n```",
    ]
    assert "@docs/more.md" in told.err


def test_what_is_read_with_every_request_anyway_is_not_taken_in(place: Place, say: Say) -> None:
    for name in ("CLAUDE.md", "MEMORY.md"):
        (place.folder / name).write_text("- x\n")
        told = say("memory", "import", name)
        assert (told.code, "with every request already" in told.err) == (42, True)


def test_an_auto_memory_folder_gives_topic_notes_and_what_stands_in_its_index_alone(
    place: Place, say: Say, tmp_path: Path
) -> None:
    folder = written(
        tmp_path / "memory",
        {
            "MEMORY.md": "# Memory Index\n\n- [Deploys](deploys.md) — when they go out\n- CI is slow on Mondays.\n",
            "deploys.md": "---\nname: Deploys\ndescription: when they go out\ntype: project\n---\n\nOn Tuesdays.\n",
        },
    )
    told = say("memory", "import", str(folder), "--apply")
    assert sorted((fact.title, fact.text) for fact in facts(place)) == [
        ("", "CI is slow on Mondays."),
        ("Deploys", "On Tuesdays."),
    ]
    assert "only points to a file that is taken in itself" in told.err


def test_a_vault_keeps_its_titles_aliases_links_histories_and_unknown_keys(
    place: Place, say: Say, tmp_path: Path
) -> None:
    vault = written(tmp_path / "vault", VAULT)
    told = say("memory", "import", str(vault), "--apply")
    assert (told.code, "picture.png: not markdown" in told.err) == (0, True)
    notes = {path.name: path.read_text("utf-8") for path in (place.folder / ".ogcode" / "facts").glob("*.md")}
    assert sorted(notes) == ["ana.md", "search-2.md", "search.md", "重试.md"]
    ana = notes["ana.md"]
    for kept in (
        'aliases: ["Ana", "A. Ruiz"]',
        'mood: "fine"',
        "[[Search]]",
        "- 2026-03-01: met [Source: [[chat:17]]]",
    ):
        assert kept in ana
    both = notes["search.md"] + notes["search-2.md"]
    for kept in ("[[people/Ana|Ana]]", "## Open\n\nWho reviews?", "- 2026-02-01: began", "The other search."):
        assert kept in both
    assert fates(say("memory", "import", str(vault), "--apply", "--json")) == ["known"] * 4
    by_title = {fact.title: fact for fact in facts(place)}
    assert (by_title["Ana Ruiz"].text, by_title["Ana Ruiz"].updated) == ("Leads the [[Search]] team.", "2026-03-01")
    assert by_title["重试次数"].text == "五次。"


@pytest.mark.parametrize("summaries", [True, False])
def test_a_coworker_database_gives_what_is_about_the_user_and_this_folder_and_is_only_read(
    place: Place, say: Say, tmp_path: Path, *, summaries: bool
) -> None:
    path = coworker(tmp_path / "coworker.db", summaries=summaries)
    path.with_name("memory-settings.json").write_text('{"enabled": true, "user_rules": "Be brief."}')
    path.chmod(0o400)
    before = (path.read_bytes(), sorted(tmp_path.iterdir()))
    told = say("memory", "import", str(path), "--workspace", "/old/repo", "--apply")
    assert "1 of another folder: /another/repo" in told.err
    assert "memory-settings.json: rules that you wrote" in told.err
    assert sorted((fact.scope, fact.text) for fact in facts(place)) == [
        ("global", "Prefers tabs."),
        ("global", "Uses [secret: github token] at home."),
        ("project", "The port is 8080."),
    ]
    tabs = next(fact for fact in facts(place) if "tabs" in fact.text)
    assert (tabs.updated, tabs.source) == ("2026-01-02T03:04:05Z", "OpenWorker 1")
    assert tabs.summary == ("likes tabs" if summaries else "Prefers tabs.")
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before


def test_no_secret_of_another_memory_gets_into_this_one(place: Place, say: Say, tmp_path: Path) -> None:
    vault = written(tmp_path / "vault", VAULT | {"a.md": f"---\nowner: {TOKEN}\n---\nx\n\n# Timeline\n- {TOKEN}\n"})
    coworker(tmp_path / "coworker.db")
    for source in (vault, tmp_path / "coworker.db"):
        told = say("memory", "import", str(source), "--apply")
        assert TOKEN not in told.out + told.err
        assert "without a secret (github token)" in told.out
    files = [path for folder in (place.folder, place.home) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("not.db", "no database at all", "can't be read as a database"),
        ("bad.jsonl", '{"id": "m-1"}', "not a line of an export"),
        ("odd.txt", "x", "no markdown"),
        ("gone.md", None, "there is no"),
    ],
)
def test_what_is_no_memory_is_refused(say: Say, tmp_path: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    told = say("memory", "import", str(tmp_path / name), "--apply")
    assert (told.code, said in told.err) == (42, True)


def test_what_was_forgotten_or_changed_here_does_not_come_back_with_another_import(
    place: Place, say: Say, tmp_path: Path
) -> None:
    source = tmp_path / "notes.md"
    source.write_text("- The port is 8080.\n- Tabs are four wide.\n")
    say("memory", "import", str(source), "--apply")
    port, tabs = (next(fact for fact in facts(place) if word in fact.text) for word in ("port", "Tabs"))
    say("memory", "forget", port.id)
    say("memory", "update", tabs.id, "Tabs are two wide.")
    told = say("memory", "import", str(source), "--apply", "--json")
    assert fates(told) == ["forgotten", "known"]
    assert "--again brings it back" in told.err
    assert [fact.text for fact in facts(place)] == ["Tabs are two wide."]
    assert fates(say("memory", "import", str(source), "--apply", "--again", "--json")) == ["new", "known"]
    assert sorted(fact.text for fact in facts(place)) == ["Tabs are two wide.", "The port is 8080."]


def test_what_was_taken_in_at_once_is_taken_back_at_once_or_one_by_one(place: Place, say: Say, tmp_path: Path) -> None:
    say("memory", "remember", "Before.")
    source = tmp_path / "notes.md"
    source.write_text("- One.\n- Two.\n- Three.\n")
    say("memory", "import", str(source), "--apply")
    one = next(fact for fact in facts(place) if fact.text == "One.")
    say("memory", "undo", one.id)
    say("memory", "undo")
    assert [fact.text for fact in facts(place)] == ["Before."]


def known(place: Place) -> set[Fact]:
    return set(facts(place))


@pytest.mark.parametrize("name", ["out.jsonl", "out"])
def test_an_export_that_is_taken_in_elsewhere_gives_the_same_facts(
    place: Place,
    say: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
) -> None:
    (place.folder / "MEMORY.md").write_text("# Memory\n\nBy hand: the office is in Graz.\n")
    say("memory", "facts", "--trust")
    say("memory", "remember", "Two lines,\n\n  the second indented: naïve 日本", "--summary", "lines")
    say("memory", "remember", "-g", "Prefers tabs.")
    say("memory", "remember", "# Deploys\nOn Tuesdays.\n\n## Who\nAna.")
    say("memory", "remember", "-g", "# Me\nWorks in Graz.")
    topic = next(fact for fact in facts(place) if fact.title == "Deploys")
    say("memory", "update", topic.id, "On Wednesdays.")
    exported = tmp_path / name
    assert say("memory", "export", str(exported)).out == f"4 facts in {exported}\n"
    assert say("memory", "export", str(exported)).code == 42
    (tmp_path / "b").mkdir()
    other = new_place(tmp_path / "b")
    say_there = say_in(other, monkeypatch, capfd)
    say_there("memory", "facts", "--trust")
    assert fates(say_there("memory", "import", str(exported), "--apply", "--json")) == ["new"] * 4
    assert known(other) == known(place)
    assert "By hand: the office is in Graz." in (other.folder / "MEMORY.md").read_text()
    notes = ".ogcode/facts/deploys.md"
    assert (other.folder / notes).read_bytes() == (place.folder / notes).read_bytes()
    again = say_there("memory", "import", str(exported), "--apply", "--json")
    assert (fates(again), "by hand" in again.err) == (["known"] * 4, False)
    told = say_there("memory", "export", str(tmp_path / f"again-{name}"), "--json")
    assert json.loads(told.out)["facts"] == 4


@pytest.mark.parametrize("name", ["out.jsonl", "out"])
def test_no_secret_that_people_wrote_into_a_file_of_facts_is_given_out(
    place: Place, say: Say, tmp_path: Path, name: str
) -> None:
    (place.folder / "MEMORY.md").write_text(f"The key is {TOKEN}.\n\n- [m-aaaa] Also {TOKEN}.\n")
    written(place.folder / ".ogcode" / "facts", {"keys.md": f"# Keys\n\n{TOKEN}\n"})
    say("memory", "facts", "--trust")
    assert say("memory", "export", str(tmp_path / name)).out.startswith("2 facts")
    files = [path for path in (tmp_path / name, *(tmp_path / name).rglob("*")) if path.is_file()]
    assert files
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_an_export_of_one_scope_holds_nothing_of_the_other(say: Say, tmp_path: Path) -> None:
    say("memory", "remember", "The port is 8080.")
    say("memory", "remember", "-g", "Prefers tabs.")
    say("memory", "export", str(tmp_path / "mine.jsonl"), "--scope", "global")
    [row] = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text().splitlines()]
    assert row["text"] == "Prefers tabs."


def test_a_thousand_memories_are_taken_in_by_one_write(place: Place, say: Say, tmp_path: Path) -> None:
    source = tmp_path / "many.md"
    source.write_text("".join(f"- Fact {number} of a thousand.\n" for number in range(1_000)))
    assert say("memory", "import", str(source), "--apply").err.startswith("1,000 new")
    assert len(facts(place)) == 1_000
    assert fates(say("memory", "import", str(source), "--json")) == ["known"] * 1_000


def test_nothing_is_followed_out_of_a_folder_and_what_is_left_there_is_named(
    place: Place, say: Say, tmp_path: Path
) -> None:
    written(tmp_path / "elsewhere", {"secret.md": "OUTSIDE\n"})
    vault = written(tmp_path / "vault", {"a.md": "inside\n", "odd.md": "", ".hidden.md": "x\n"})
    (vault / "odd.md").write_bytes(b"\xff\xfe")
    (vault / "file.md").symlink_to(tmp_path / "elsewhere" / "secret.md")
    (vault / "folder").symlink_to(tmp_path / "elsewhere")
    told = say("memory", "import", str(vault), "--apply")
    assert [fact.text for fact in facts(place)] == ["inside"]
    for left in ("file.md: a link", "folder: a link", "odd.md: not UTF-8", ".hidden.md: hidden"):
        assert f"left out: {left}" in told.err


def test_more_topic_notes_than_are_known_are_refused_before_anything_is_written(
    place: Place, say: Say, tmp_path: Path
) -> None:
    vault = written(tmp_path / "vault", {f"{number}.md": f"note {number}\n" for number in range(501)})
    told = say("memory", "import", str(vault), "--apply")
    assert (told.code, "501 topic notes" in told.err) == (42, True)
    assert facts(place) == []
