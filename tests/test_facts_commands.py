"""Facts on the command line: listed, read, kept, changed, forgotten and brought back."""

import json
from pathlib import Path

import pytest
from remembered import GOOD, a_job, note_files, scribe, spool
from saying import Say, Told, say_in
from stage_cli import Place, new_place

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory
from ogcode.agent.models.scripted import ScriptedModel

EMPTY = {"updated": "", "source": "", "summary": ""}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return new_place(tmp_path)


def ids(told: Told) -> list[str]:
    return [str(row["id"]) for row in told.rows]


def kept(say: Say, *words: str) -> str:
    return ids(say("memory", "remember", "--json", *words))[0]


def test_m38_a_fact_is_kept_listed_read_changed_forgotten_and_brought_back(say: Say) -> None:
    name = kept(say, "Tests run with make test.", "--summary", "how tests run")
    assert [row["summary"] for row in say("memory", "facts", "--json").rows] == ["how tests run"]
    say("memory", "update", name, "Tests run with make check.")
    [row] = say("memory", "read", name[:4], "--json").rows
    assert (row["text"], row["summary"]) == ("Tests run with make check.", "Tests run with make check.")
    say("memory", "forget", name)
    assert say("memory", "facts", "--json").rows == []
    assert say("memory", "undo", name).code == 0
    say("memory", "undo", name)
    assert [row["summary"] for row in say("memory", "facts", "--json").rows] == ["how tests run"]


def test_facts_are_listed_by_scope_the_last_changed_first_with_where_they_are_from(place: Place, say: Say) -> None:
    first, about_me = kept(say, "The port is 8080."), kept(say, "-g", "Prefers short answers.")
    (place.folder / "MEMORY.md").write_text(
        f"# Memory\n\nBy hand.\n\n- [m-aaaa] Older. \n  <!-- 2020-01-01T00:00:00Z [[2020-01-01T000000Z--abc]] -->\n"
        f"{(place.folder / 'MEMORY.md').read_text().partition('# Memory')[2]}"
    )
    say("memory", "facts", "--trust")
    assert ids(say("memory", "facts", "--json", "--scope", "project")) == [first, "m-aaaa"]
    assert ids(say("memory", "facts", "--json", "--scope", "global")) == [about_me]
    told = say("memory", "facts")
    assert "written by hand, and known as it stands: MEMORY.md" in told.err
    assert [line.split()[:3] for line in told.out.splitlines()][-1] == ["m-aaaa", "project", "2020-01-01"]
    assert "from 2020-01-01T000000Z--abc" in say("memory", "read", "m-aaaa").out


def test_facts_are_read_by_the_words_they_hold(say: Say) -> None:
    kept(say, "Deploys go out on Tuesdays.")
    port = kept(say, "The staging port is 8080.")
    assert ids(say("memory", "read", "--json", "which", "port", "staging")) == [port]
    assert say("memory", "read", "zebra").code == 42


def test_the_same_words_are_kept_once_and_what_is_like_them_is_named(say: Say) -> None:
    name = kept(say, "The port is 8080 here.")
    [again] = say("memory", "remember", "--json", "the port is 8080 here").rows
    assert (again["id"], again["new"]) == (name, False)
    assert f"alike: {name}" in say("memory", "remember", "The port is 9090 here.").err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("remember", " "), 1, "empty"),
        (("remember", "the key is ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1z2A"), 1, "secret"),
        (("update", "m-ffff", "x"), 42, "no fact here"),
        (("forget", "m-ffff"), 42, "no fact here"),
        (("forget", "settings"), 42, "no note here"),
        (("read", "settings"), 42, "no fact speaks of"),
        (("undo", "m-ffff"), 42, "nothing can be taken back"),
        (("facts", "--scope", "session"), 2, "invalid choice"),
        (("remember",), 2, "TEXT"),
    ],
)
def test_m39_what_can_not_be_is_refused_in_one_sentence(say: Say, words: tuple[str, ...], code: int, said: str) -> None:
    told = say("memory", *words)
    assert told.code == code
    assert said in told.err


def test_an_untrusted_folder_keeps_no_facts_of_the_project_and_those_about_the_user(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    say = say_in(place, monkeypatch, capfd)
    refused = say("memory", "remember", "The port is 8080.")
    assert (refused.code, "not trusted" in refused.err) == (1, True)
    assert not (place.folder / "MEMORY.md").exists()
    assert say("memory", "remember", "-g", "Prefers tabs.").code == 0


def test_what_is_forgotten_for_good_is_nowhere_and_its_tombstone_stays(place: Place, say: Say) -> None:
    name = kept(say, "The aardvark sleeps.")
    say("memory", "update", name, "The aardvark wakes.")
    assert say("memory", "forget", "--for-good", name).code == 1
    assert say("memory", "forget", "--for-good", "--yes", name).out.startswith("forgotten for good: ")
    files = [path for folder in (place.folder, place.home) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if b"aardvark" in path.read_bytes()]
    assert say("memory", "undo", name).code == 42
    (place.folder / "old.jsonl").write_text(
        json.dumps({"id": "m-abcd", "scope": "project", "text": "The aardvark sleeps.", **EMPTY})
    )
    assert [row["fate"] for row in say("memory", "import", "old.jsonl", "--json").rows] == ["forgotten"]


async def test_forget_and_undo_take_notes_and_facts_by_their_names_and_undo_alone_takes_what_was_last(
    place: Place, say: Say
) -> None:
    memory = Memory.of(find_root(place.folder, place.folder.parent), place.home)
    spool(memory, a_job(1))
    await scribe(memory, ScriptedModel(GOOD)).run()
    [note] = note_files(memory)
    name = kept(say, "The port is 8080.")
    told = say("memory", "forget", name, note.stem[:20])
    assert (told.code, [line.split()[0] for line in told.out.splitlines()]) == (0, ["forgotten:", "forgotten:"])
    assert not note.exists()
    say("memory", "undo")
    assert note.exists()
    say("memory", "undo")
    assert ids(say("memory", "facts", "--json")) == [name]
