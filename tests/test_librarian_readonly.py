"""Whatever the librarian's model asks for: nothing is written, nothing out of scope comes back."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from reading import facts, tree
from remembered import GOOD, SESSION, START, a_job, a_memory, scribe, spool, write_note

from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.notes import frontmatter
from ogcode.agent.memory.spool import add_job
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.rights.seal import Seal
from ogcode.agent.transcript import Transcript

PARENT = "aaaa1111" + "2" * 24
OTHER = "3f8c21ab" + "1" * 24
SWAPPED = "bbbb2222" + "3" * 24
CONVERSATION = {SESSION: 4, PARENT: 1}

MINE, LATER, ELSEWHERE, THEIRS, NEVER = "KOALA", "WALRUS", "LYNX", "MAGPIE", "HORNET"
"""Stand in: this conversation; its parent after the fork; another one; what others wrote; what is no memory at all."""
FACT = "PANDA"
"""Stands in the facts of the project."""


@dataclass(frozen=True)
class Given:
    told: str
    refused: int
    writes: list[str]
    same: bool
    control: int


def transcript(memory: Memory, session: str, word: str, turns: int) -> None:
    kept = Transcript.begin(memory.root.sessions, session, top=memory.root.top, seal=memory.seal, now=START, parents={})
    for turn in range(1, turns + 1):
        said = word if session != PARENT or turn == 1 else LATER
        kept.turn_started(turn, f"{said} was asked", START, "m", 1)
        kept._append({"type": "tool_finished", "id": "1", "name": "bash", "output": f"{NEVER} out", "failed": False})
        kept._append({"type": "turn_finished", "turn": turn, "answer": f"{said} was answered"})


async def a_crowded_memory(tmp_path: Path) -> tuple[Memory, dict[str, str]]:
    """Make a memory of four conversations, of others' notes, of traps; and say what is to be swapped for what."""
    memory = a_memory(tmp_path)
    store, home = memory.root.store, memory.home

    def job(number: int, session: str, word: str) -> None:
        spool(memory, a_job(number, session=session, request=f"dispatch {word} tries", answer=f"{word} it is"))

    for number, session, word in [
        (1, SESSION, MINE),
        (2, SESSION, MINE),
        (1, PARENT, MINE),
        (2, PARENT, LATER),
        (3, PARENT, LATER),
        (1, OTHER, ELSEWHERE),
        (1, SWAPPED, ELSEWHERE),
        (2, SWAPPED, ELSEWHERE),
        (3, SWAPPED, ELSEWHERE),
    ]:
        job(number, session, word)
        await scribe(memory, ScriptedModel(GOOD.replace("five", word))).run()
    job(3, SESSION, MINE)
    job(4, PARENT, LATER)
    job(2, OTHER, ELSEWHERE)
    for session, word in ((SESSION, MINE), (PARENT, MINE), (OTHER, ELSEWHERE)):
        transcript(memory, session, word, 3)

    head = frontmatter(
        {"title": f"{THEIRS} policy", "session_id": SESSION, "turn": 1, "scribe": "m", "outcome": "done"}
    )
    for name in ("2026-09-12T091500Z--3f8c21aa--dispatch.md", "deep/er/dispatch tries.md"):
        write_note(
            memory, name, f"{head}\n# {THEIRS}\n\nTopics: dispatch, tries\n\n## Outcome\n{THEIRS} dispatch tries\n"
        )
    add_job(store, a_job(2, request=f"{THEIRS} dispatch", answer=THEIRS), Seal(tmp_path / "other-home"))
    forged = memory.root.sessions / ("cccc3333" * 4 + ".jsonl")
    forged.write_text(json.dumps({"type": "turn_started", "turn": 1, "request": NEVER}) + "\n")

    kept = facts(memory, trusted=True)
    kept.remember(f"dispatch {FACT} was answered", "project")
    kept.remember(f"# Dispatch facts\n{FACT} was answered", "project")
    kept.remember(f"{NEVER} is about the user: dispatch tries", "global")

    outside = tmp_path / "outside"
    outside.mkdir()
    for place in (outside / "note.md", memory.root.path / "secret.md", store / "config.toml", store / "scribe.log"):
        place.write_text(f"# {NEVER} dispatch tries\n\n## Outcome\n{NEVER}\n")
    for folder in ("trash", "outputs", "facts"):
        write_note(memory, f"../{folder}/{folder}.md", f"# {NEVER}\n\n## Outcome\n{NEVER} dispatch\n")
    links = {"link.md": outside / "note.md", "folder": outside, "zero.md": Path("/dev/zero"), "up.md": Path("../../x")}
    for name, target in links.items():
        (memory.root.memory / name).symlink_to(target)
    os.mkfifo(memory.root.memory / "pipe.md")
    os.mkfifo(memory.root.spool / "2026-09-12T090000Z--3f8c21aa.json")
    for place in (memory.root.memory / "huge.md", memory.root.sessions / f"{SWAPPED}.jsonl", memory.root.top / "huge"):
        with place.open("wb") as file:
            file.truncate(1 << 30)
    with contextlib.suppress(PermissionError):  # only root makes devices
        os.mknod(memory.root.memory / "device.md", 0o020644, os.makedev(1, 5))

    # a note that becomes a link, one that becomes a pipe, a folder that becomes a link to one with the same names
    notes = sorted(memory.root.memory.glob("*--bbbb2222--*.md"))
    (memory.root.memory / "moved").mkdir()
    notes[2] = notes[2].rename(memory.root.memory / "moved" / notes[2].name)
    (outside / "moved").mkdir()
    (outside / "moved" / notes[2].name).write_text(f"# {NEVER}\n\n## Outcome\n{NEVER}\n")
    (home / "a-link").symlink_to(outside / "note.md")
    os.mkfifo(home / "a-pipe")
    (home / "a-folder").symlink_to(outside / "moved")
    swaps = {notes[0]: "a-link", notes[1]: "a-pipe", notes[2].parent: "a-folder"}
    return memory, {str(victim.relative_to(store)): instead for victim, instead in swaps.items()}


async def given(tmp_path: Path, scope: dict[str, int] | None, *, trusted: bool) -> Given:
    memory, swaps = await a_crowded_memory(tmp_path)
    program = str(Path(__file__).with_name("reading.py"))
    arguments = [str(memory.root.path), str(memory.home), *map(json.dumps, (scope, trusted, swaps))]
    done = subprocess.run([sys.executable, "-B", program, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2_000:]
    result = json.loads(done.stdout)
    assert max(len(each.encode("utf-8", "replace")) for each in result["told"]) < 6_000
    return Given("\n".join(result.pop("told")), **result)


SCOPES = {
    "conversation": (CONVERSATION, True, {MINE}, {LATER, ELSEWHERE, THEIRS, NEVER, FACT}),
    "project": (None, False, {MINE, LATER, ELSEWHERE}, {THEIRS, NEVER, FACT}),
    "trusted project": (None, True, {MINE, LATER, ELSEWHERE, THEIRS, FACT}, {NEVER}),
}


@pytest.mark.parametrize("name", SCOPES)
async def test_a_thousand_hostile_calls_change_nothing_and_get_nothing_out_of_scope(tmp_path: Path, name: str) -> None:
    scope, trusted, wanted, forbidden = SCOPES[name]
    found = await given(tmp_path, scope, trusted=trusted)
    assert {word for word in forbidden if word in found.told} == set()
    assert {word for word in wanted if f"{word} was answered" in found.told or word == THEIRS} == wanted
    assert "root:" not in found.told
    assert found.same
    assert (found.writes, found.control) == ([], 1)
    assert 100 < found.refused < 900


def test_the_hash_of_the_tree_sees_what_a_writer_would_do(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()
    file.write_text("one")
    seen = [tree(tmp_path)]
    for change in (
        lambda: file.write_text("two"),
        lambda: file.chmod(0o600),
        lambda: os.utime(file, (1, 1)),
        lambda: file.rename(file.with_name("other")),
        lambda: file.symlink_to("other"),
        lambda: file.parent.chmod(0o700),
    ):
        change()
        seen.append(tree(tmp_path))
    assert len(set(seen)) == len(seen)
