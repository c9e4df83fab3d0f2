import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from remembered import GOOD, SESSION, START, a_job, a_memory, note_files, notes, scribe, spool, waiting, write_note

from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.job import Job, JobBroken
from ogcode.agent.memory.spool import add_job, is_ours, jobs, later_than, prepare_store
from ogcode.agent.models.scripted import ScriptedModel


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return a_memory(tmp_path)


def test_turns_of_one_second_get_names_of_their_own(memory: Memory) -> None:
    added = spool(memory, *[a_job() for _ in range(5)])
    assert [job.id for job in added] == [f"2026-09-12T09151{second}Z--3f8c21aa" for second in range(2, 7)]
    assert waiting(memory) == [job.id for job in added]


async def test_a_turn_of_the_second_of_a_written_note_gets_another_name(memory: Memory) -> None:
    spool(memory, a_job())
    await scribe(memory, ScriptedModel(GOOD)).run()
    (added,) = spool(memory, a_job(request="A second turn in the same second"))
    await scribe(memory, ScriptedModel(GOOD.replace("Dispatch", "Other"))).run()
    assert added.id == "2026-09-12T091513Z--3f8c21aa"
    assert len(note_files(memory)) == 2


@pytest.mark.parametrize("back", [0, 1, 86_400])
def test_a_turn_begins_after_the_one_before_it_even_when_the_clock_went_back(back: int) -> None:
    previous = f"{START:%Y-%m-%dT%H%M%SZ}--3f8c21aa"
    assert later_than(previous, START - timedelta(seconds=back)) == START + timedelta(seconds=1)


@pytest.mark.parametrize("previous", ["", "nonsense", "2026-99-99T999999Z--x"])
def test_a_turn_without_one_before_it_begins_when_it_does(previous: str) -> None:
    assert later_than(previous, START) == START


def test_a_job_comes_back_as_it_was_spooled_and_is_known_as_ours(memory: Memory) -> None:
    (added,) = spool(memory, replace(a_job(), request="NUL \x00, \u2028, 漢字, \U0001f600", reason="why"))
    ((_, job, mark),) = jobs(memory.root.store)
    assert job == added
    assert is_ours(added, mark, memory.seal)


def test_a_job_that_was_changed_is_not_ours_any_more(memory: Memory) -> None:
    (added,) = spool(memory, a_job())
    path = memory.root.spool / f"{added.id}.json"
    path.write_text(path.read_text().replace("five times", "six times"))
    ((_, job, mark),) = jobs(memory.root.store)
    assert isinstance(job, Job)
    assert not is_ours(job, mark, memory.seal)


def plant(
    memory: Memory, change: Callable[[dict[str, object]], object] = lambda inner: inner, seal: object = "x"
) -> Path:
    """Put a job where a repository would bring it."""
    prepare_store(memory.root.store)
    planted = replace(a_job(9, session="e" * 32, request="PLANTED"), id="2026-09-12T101010Z--eeeeeeee")
    path = memory.root.spool / f"{planted.id}.json"
    inner = json.loads(planted.to_json())
    change(inner)
    path.write_text(json.dumps({"job": inner, "seal": seal}))
    return path


@pytest.mark.parametrize("seal", ["", "0" * 64, "ü", None, 7, ["x"], "\ud800"])
async def test_a_planted_job_is_left_alone_in_an_untrusted_folder(memory: Memory, seal: object) -> None:
    path = plant(memory, seal=seal)
    log = list[str]()
    assert await scribe(memory, ScriptedModel(), log=log).run() == 0
    assert (path.exists(), note_files(memory)) == (True, [])
    assert "not spooled by this user's ogcode" in log[0]
    assert notes(memory, trusted=False).entries() == []


async def test_a_planted_job_becomes_a_foreign_note_in_a_trusted_folder(memory: Memory) -> None:
    plant(memory)
    assert [entry.origin for entry in notes(memory).entries()] == ["foreign"]
    assert await scribe(memory, ScriptedModel(GOOD), trusted=True).run() == 1
    assert [(entry.origin, entry.pending) for entry in notes(memory).entries()] == [("foreign", False)]
    assert notes(memory, trusted=False).entries() == []


async def test_own_turns_are_written_beside_planted_ones(memory: Memory) -> None:
    plant(memory)
    spool(memory, a_job())
    assert await scribe(memory, ScriptedModel(GOOD)).run() == 1
    assert [entry.title for entry in notes(memory, trusted=False).entries()] == ["Dispatch retry fix"]


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


CHANGES: dict[str, Callable[[dict[str, object]], object]] = {
    "id": lambda job: job.update(id="2026-09-12T101010Z--ffffffff"),
    "path in id": lambda job: job.update(id="../../x"),
    "outcome": lambda job: job.update(outcome="great"),
    "huge turn": lambda job: job.update(turn=10**30),
    "text for a number": lambda job: job.update(tries="1"),
    "number for a text": lambda job: job.update(model=7),
    "files": lambda job: job.update(files=["a"]),
    "steps": lambda job: job.update(steps=7),
    "surrogate": lambda job: job.update(answer="\ud800"),
    "missing": lambda job: job.pop("request"),
    "nested": lambda job: job.update(symbols=nested(400)),
}


@pytest.mark.parametrize("kind", CHANGES)
async def test_a_broken_job_is_reported_and_blocks_nothing(memory: Memory, kind: str) -> None:
    path = plant(memory, CHANGES[kind])
    spool(memory, a_job())
    found = {place: job for place, job, _ in jobs(memory.root.store)}
    assert isinstance(found[path], JobBroken)
    assert path.stem in str(found[path])
    assert await scribe(memory, ScriptedModel(GOOD), trusted=True).run() == 1
    assert [entry.title for entry in notes(memory).entries()] == ["Dispatch retry fix"]


CONTENTS = [b"", b"{", b"[]", b"null", b'{"job": []}', b"\xff\xfe", b"[" * 100_000, b'{"job": ' + b'{"a":' * 100_000]


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: content[:9].decode("latin-1"))
def test_a_file_that_is_no_job_is_reported_not_raised(memory: Memory, content: bytes) -> None:
    prepare_store(memory.root.store)
    (memory.root.spool / "x.json").write_bytes(content)
    ((_, job, _),) = jobs(memory.root.store)
    assert isinstance(job, JobBroken)
    assert notes(memory).entries() == []


def test_a_link_in_the_spool_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    path = plant(memory)
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    ((_, job, _),) = jobs(memory.root.store)
    assert isinstance(job, JobBroken)
    assert notes(memory).entries() == []


@pytest.mark.parametrize("name", ["", "memory", "spool", "sessions", "locks"])
def test_a_linked_folder_is_refused_and_nothing_is_written_there(tmp_path: Path, memory: Memory, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = memory.root.store / name if name else memory.root.store
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link"):
        add_job(memory.root.store, a_job(), memory.seal)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_without_a_writable_home_turns_are_spooled_all_the_same(tmp_path: Path, memory: Memory) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    spool(memory, a_job())
    ((_, job, mark),) = jobs(memory.root.store)
    assert isinstance(job, Job)
    assert not is_ours(job, mark, memory.seal)


def test_an_emptied_ignore_file_is_written_again_and_a_users_own_is_kept(memory: Memory) -> None:
    ignore = memory.root.store / ".gitignore"
    prepare_store(memory.root.store)
    ignore.write_text("")
    prepare_store(memory.root.store)
    assert ignore.read_text() == "*\n"
    ignore.write_text("*\n!memory/\n")
    prepare_store(memory.root.store)
    assert ignore.read_text() == "*\n!memory/\n"


@pytest.mark.parametrize("command", [["clean", "-fd"], ["stash", "-u"]])
async def test_git_run_twice_takes_no_note_away(memory: Memory, command: list[str]) -> None:
    def git(*arguments: str) -> None:
        settings = ["-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run(["git", *settings, *arguments], cwd=memory.root.path, check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    spool(memory, a_job(1))
    await scribe(memory, ScriptedModel(GOOD)).run()
    spool(memory, a_job(2))
    write_note(memory, "moved/by-hand.md", "# By hand\n")
    before = sorted(path for path in memory.root.store.rglob("*") if path.is_file())
    for _ in range(2):
        (memory.root.path / "untracked.txt").write_text("x")
        git(*command)
        assert not (memory.root.path / "untracked.txt").exists()
    assert sorted(path for path in memory.root.store.rglob("*") if path.is_file()) == before


def test_the_session_names_the_job(memory: Memory) -> None:
    assert spool(memory, a_job())[0].id.endswith(SESSION[:8])
