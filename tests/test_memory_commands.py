import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest
from fake_server import Body, Fail, Reply, Say
from hostile import WORD, everything_in, trap
from remembered import GOOD, SESSION, START, a_job, by_hand, note_files, scribe, spool, waiting, write_note
from saying import Told, say_in
from stage_cli import OGCODE, Place, Serve, model_of, new_place

from ogcode.agent.files.root import find_root
from ogcode.agent.index.cache import Memory
from ogcode.agent.models.scripted import ScriptedModel
from ogcode.agent.prompt import Previous
from ogcode.agent.transcript import Transcript
from ogcode.agent.turn import Turn

OTHER = "5e551047" + "0" * 24
FIRST, SECOND = "2026-09-12T091512Z--3f8c21aa", "2026-09-12T091612Z--5e551047"
FOREIGN = "2026-09-12T091403Z--3f8c21aa"
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1z2A"


@dataclass(frozen=True, slots=True)
class Stage:
    """A repository with a memory, and the command line in this process."""

    place: Place
    memory: Memory
    say: Callable[..., Told]

    @property
    def store(self) -> Path:
        return self.memory.root.store


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Stage:
    place = new_place(tmp_path)
    memory = Memory.of(find_root(place.folder, tmp_path), place.home)
    return Stage(place, memory, say_in(place, monkeypatch, capfd))


@pytest.fixture
async def full(stage: Stage) -> Stage:
    """Two turns of two conversations with notes, one by hand, and one turn that waits."""
    spool(stage.memory, a_job(1), a_job(2, session=OTHER))
    other = GOOD.replace("Dispatch retry", "Zebra stripes")
    await scribe(stage.memory, ScriptedModel(GOOD, other)).run()
    write_note(stage.memory, *by_hand(3, "the zebra was made by hand"))
    spool(stage.memory, a_job(4))
    return stage


def test_notes_are_listed_newest_first_and_of_one_conversation_by_the_start_of_its_tag(full: Stage) -> None:
    told = full.say("memory", "list", "--trust")
    assert [line[:28] for line in told.out.splitlines()] == ["2026-09-12T091812Z--3f8c21aa", SECOND, FIRST, FOREIGN]
    assert ("(pending)" in told.out.splitlines()[0], "(foreign)" in told.out.splitlines()[3]) == (True, True)
    assert [row["id"] for row in full.say("memory", "list", "5e55/", "--json").rows] == [SECOND]
    assert len(full.say("memory", "list", "--limit", "2").out.splitlines()) == 2


def test_what_others_wrote_is_left_out_until_the_folder_is_trusted_and_that_is_said(full: Stage) -> None:
    for command in (["list"], ["search", "zebra"], ["status"], ["stats"]):
        told = full.say("memory", *command)
        assert (told.code, "made by hand" in told.out, FOREIGN in told.out) == (0, False, False), command
        assert told.err == "left out: 1 note by others; this folder is not trusted (--trust trusts it)\n"
    assert full.say("memory", "forget", FOREIGN).code == 42


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "2026-09-12"], "could be"),
        (["show", "nothing"], "'nothing' is no note here"),
        (["show", FIRST, "Nowhere"], "has no section 'Nowhere'; it has Dispatch retry fix, Request, What was done"),
        (["show", FIRST, "Verbatim"], "the transcript of"),
        (["list", "0000"], "'0000' is no conversation here"),
        (["search", "zebra", "--conversation", "0000"], "'0000' is no conversation here"),
        (["undo", "nothing"], "'nothing' is not in the trash"),
        (["undo"], "nothing was forgotten or edited"),
    ],
    ids=" ".join,
)
def test_a_name_that_means_nothing_or_several_is_refused_in_one_sentence(
    full: Stage, words: list[str], said: str
) -> None:
    told = full.say("memory", *words)
    assert (told.code, told.out) == (42, "")
    [sentence] = [line for line in told.err.splitlines() if not line.startswith("left out")]
    assert said in sentence


def test_a_note_is_shown_whole_by_section_and_by_the_link_that_a_search_prints(full: Stage) -> None:
    whole = full.say("memory", "show", FIRST).out
    assert whole == note_files(full.memory)[1].read_text("utf-8")
    write_note(
        full.memory, "2026-09-12T091400Z--3f8c21aa--long.md", f"# L\n\n## Outcome\nxylo.\n\n## More\n{'more. ' * 200}\n"
    )
    [link] = [row["link"] for row in full.say("memory", "search", "xylo", "--limit", "1", "--json", "--trust").rows]
    assert link == "[[2026-09-12T091400Z--3f8c21aa#Outcome]]"
    assert full.say("memory", "show", str(link)).out == "## Outcome\nxylo.\n"
    assert full.say("memory", "show", FIRST, "what was", "--json").rows[0]["text"] == (
        "## What was done\n- Set the limit of tries to five.\n"
    )


def test_a_turn_is_shown_word_for_word_from_its_own_transcript(full: Stage) -> None:
    sessions, top = full.memory.root.sessions, full.place.folder
    transcript = Transcript.begin(sessions, SESSION, top=top, seal=full.memory.seal, now=START, parents={})
    transcript.turn_started(1, "Fix it, please", START, "scripted/test", 8192)
    transcript.turn_finished(Turn("Fix it, please", "Done", (), "done"), Previous(1, "Done", "done", FIRST, ()), 9)
    told = full.say("memory", "show", FIRST, "verbatim")
    assert (told.code, told.out) == (0, "Request:\nFix it, please\n\nAnswer:\nDone\n")
    full.say("memory", "forget", FIRST)
    assert full.say("memory", "show", FIRST, "verbatim").code == 42


def test_a_search_prints_sections_with_where_they_are_from_and_lists_notes_if_asked(full: Stage) -> None:
    told = full.say("memory", "search", "zebra", "stripes", "--trust")
    heads = [line for line in told.out.splitlines() if line.startswith("[[")]
    assert (heads[0].startswith(f"[[{SECOND}"), heads[0].endswith("]]  Zebra stripes fix  2026-09-12")) == (True, True)
    assert [line.rpartition("]]")[2] for line in heads if FOREIGN in line] == ["  Note 3  2026-09-12  (foreign)"]
    assert "the zebra was made by hand" in told.out
    [first, *_] = full.say("memory", "search", "--notes", "zebra stripes", "--json").rows
    assert (first["id"], "text" in first) == (SECOND, False)
    only = full.say("memory", "search", "tries", "--conversation", "5e551047", "--json").rows
    assert {row["id"] for row in only} == {SECOND}
    assert full.say("memory", "search", "xylophone").err == "nothing matches 'xylophone'\n"


def test_forgetting_says_where_the_words_still_are_and_is_undone(full: Stage) -> None:
    full.memory.root.sessions.joinpath(f"{SESSION}.jsonl").write_text("{}\n", "utf-8")
    before = everything_in(full.memory.root.memory)
    told = full.say("memory", "forget", FIRST)
    assert (told.code, told.out) == (0, f"forgotten: {FIRST}\n")
    assert f"what was said is still in .ogcode/sessions/{SESSION}.jsonl" in told.err
    assert full.say("memory", "show", FIRST).code == 42
    assert f"{FIRST}  forgotten" in full.say("memory", "list", "--forgotten").out
    assert full.say("memory", "undo").code == 0
    assert everything_in(full.memory.root.memory) == before


def test_a_conversation_is_forgotten_with_what_waits_of_it_and_undone_as_one(full: Stage) -> None:
    before = (note_files(full.memory), waiting(full.memory))
    told = full.say("memory", "forget", "--conversation", "3f8c", "--trust", "--json")
    assert len(list(told.rows[0]["forgotten"])) == 2  # type: ignore[call-overload]  # JSON
    assert (len(note_files(full.memory)), waiting(full.memory)) == (2, [])
    assert full.say("memory", "undo").code == 0
    assert (note_files(full.memory), waiting(full.memory)) == before


def test_forgetting_for_good_asks_first_and_then_nothing_holds_the_words(full: Stage) -> None:
    told = full.say("memory", "forget", "--for-good", SECOND)
    assert (told.code, "say --yes" in told.err, len(note_files(full.memory))) == (1, True, 3)
    full.say("memory", "forget", SECOND)
    assert full.say("memory", "forget", "--for-good", "--yes", SECOND).code == 0
    assert [path for path in full.store.rglob("*") if path.is_file() and b"Zebra" in path.read_bytes()] == []
    assert full.say("memory", "undo").code == 42


def edited(full: Stage, script: str, *, path: str = "") -> tuple[int, str]:
    """Edit the first note in a terminal, with a script in the place of the editor."""
    editor = full.place.folder.parent / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    editor.chmod(0o755)
    child = pexpect.spawn(
        str(OGCODE),
        ["memory", "edit", FIRST],
        cwd=str(full.place.folder),
        env={**full.place.environ, "EDITOR": path or f"'{editor}' -n"},
        dimensions=(30, 300),
        encoding="utf-8",
        timeout=20,
    )
    said = child.read()
    child.close()
    return int(child.exitstatus or 0), said


def test_an_edited_note_is_put_in_place_counts_as_edited_and_the_edit_is_undone(full: Stage) -> None:
    before = note_files(full.memory)[1].read_bytes()
    code, said = edited(full, '[ "$1" = -n ] && echo "By hand, zzyzx." >> "$2"')
    assert (code, "it counts as edited" in said, "not trusted" in said) == (0, True, True)
    [row] = full.say("memory", "search", "zzyzx", "--json", "--trust").rows
    assert (row["id"], row["origin"]) == (FIRST, "edited")
    full.say("memory", "undo")
    assert note_files(full.memory)[1].read_bytes() == before


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "the editor ended with 3"),
        ("printf -- '---\\ntitle: [x\\n---\\n# X\\n' > \"$2\"", "would not be a sound note (frontmatter"),
        ('echo more >> "$2"; for note in .ogcode/memory/*; do echo x >> "$NOTES/$note"; done', "changed meanwhile"),
    ],
)
def test_an_edit_that_can_not_be_kept_leaves_the_note_and_the_text(full: Stage, script: str, said: str) -> None:
    before = note_files(full.memory)[1].read_bytes()
    script = script.replace(".ogcode", f"{full.place.folder}/.ogcode").replace("$NOTES/", "")
    code, told = edited(full, script)
    assert (code, said in told) == (1, True), told
    text = Path(told.rpartition("your text is in ")[2].strip())
    assert text.is_file()
    assert note_files(full.memory)[1].read_bytes().startswith(before)
    assert full.say("memory", "list", "--forgotten").out == ""


def test_an_editor_is_never_a_program_of_a_folder_that_is_not_trusted(full: Stage) -> None:
    evil = full.place.folder / "vi"
    evil.write_text(f"#!/bin/sh\ntouch {full.place.folder.parent}/sprung\n", "utf-8")
    evil.chmod(0o755)
    full.place.environ["PATH"] = f"{full.place.folder}:."
    for name in ("vi", str(evil)):
        code, said = edited(full, "", path=name)
        assert (code, "there is no editor" in said) == (1, True), said
    assert not full.place.folder.parent.joinpath("sprung").exists()
    assert "there is no terminal for an editor; the note is /" in full.say("memory", "edit", FIRST).err


def test_the_status_says_why_a_note_has_no_better_one_and_rescribe_forces_it(full: Stage, serve: Serve) -> None:
    replies: list[Reply] = [Fail(401, {"error": {"message": "no such key"}})]

    def script(_: Body) -> Reply:
        return replies[-1]

    for name, value in model_of(serve(script)).items():
        os.environ[name] = value
    spool(full.memory, a_job(5))
    for path in full.memory.root.spool.glob("*.json"):
        job = json.loads(path.read_bytes())["job"]
        path.unlink()
        spool(full.memory, a_job(job["turn"]).__class__(**{**job, "model": "openai/fake"}))
    assert full.say("memory", "wait", "20").code == 0
    [status] = full.say("memory", "status", "--json").rows
    waits = list(status["to_upgrade"])  # type: ignore[call-overload]  # JSON
    assert (len(waits), "401" in waits[0]["why"] or "no such key" in waits[0]["why"]) == (2, True), waits
    assert status["next"] == ["ogcode memory rescribe --all tries again with a model"]
    assert "written without a model: 2026-09-12T091912Z--3f8c21aa: " in full.say("memory", "status").out

    replies.append(Say(GOOD))
    told = full.say("memory", "rescribe", "--all", "--wait", "20", "--json")
    assert [(row["written"], row["said"]) for row in told.rows] == [(True, "written by openai/fake")] * 2
    assert (told.code, full.say("memory", "rescribe", FIRST).code) == (0, 1)


def test_the_numbers_tell_what_there_is_and_what_replay_would_have_sent(full: Stage) -> None:
    def request(role: str, turn: int, sent: int, unsent: int = 0) -> str:
        usage = {"input_tokens": sent, "output_tokens": 90, "cache_read_input_tokens": 0, "cost": 0.25}
        return json.dumps({"role": role, "session_id": SESSION, "turn": turn, "unsent_tokens": unsent, **usage})

    lines = [request("agent", 1, 1000), request("agent", 1, 1500), request("agent", 2, 1050, 500)]
    full.store.joinpath("usage.jsonl").write_text("\n".join([*lines, request("scribe", 1, 400), "{torn"]), "utf-8")
    [stats] = full.say("memory", "stats", "--json", "--trust").rows
    assert (stats["notes"], stats["pending"], stats["conversations"]) == (3, 1, 3)
    assert stats["origins"] == {"own": 2, "foreign": 1}
    assert stats["spent"]["scribe"]["requests"] == 1  # type: ignore[index]  # JSON
    assert (stats["sent_tokens"], stats["replay_tokens"]) == (3550, 3550 + 500)
    assert (
        "sent 3,550 tokens; with every turn replayed it would have been about 4,050" in full.say("memory", "stats").out
    )


def test_a_healthy_memory_has_no_trouble_and_the_doctor_changes_nothing(full: Stage) -> None:
    full.say("memory", "list", "--trust")
    before = everything_in(full.place.folder)
    told = full.say("memory", "doctor", "--secrets")
    assert (told.code, told.out) == (0, "3 notes (2 own, 1 foreign); 0 troubles\n")
    assert everything_in(full.place.folder) == before


def test_the_doctor_finds_what_is_wrong_by_its_kind_and_place(full: Stage) -> None:
    memory, store = full.memory.root.memory, full.store
    for name, content in {
        f"memory/{FIRST}--again.md": "# Again\n",
        "memory/x.txt": "x",
        "memory/big.md": "x" * 1_000_001,
        "memory/conflict.md": "# C\n<<<<<<< ours\n",
        "spool/2026-09-12T101010Z--3f8c21aa.json": "{torn",
        "memory/.tmp-1": "",
    }.items():
        store.joinpath(name).write_text(content, "utf-8")
    os.utime(memory / ".tmp-1", (1, 1))
    memory.joinpath("link.md").symlink_to(full.place.folder / "calc.py")
    store.joinpath(".gitignore").unlink()
    stamp = (hand := memory / by_hand(3)[0]).stat()
    full.say("memory", "list", "--trust")
    hand.write_bytes(hand.read_bytes().replace(b"zebra", b"zebro"))
    os.utime(hand, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    store.joinpath(".gitignore").unlink(missing_ok=True)
    [told] = full.say("memory", "doctor", "--json").rows
    found = {(row["kind"], row["path"]) for row in told["troubles"]}  # type: ignore[attr-defined]  # JSON
    assert found == {
        ("duplicate", f"memory/{FIRST}--again.md"),
        ("skipped", "memory/x.txt"),
        ("skipped", "memory/big.md"),
        ("skipped", "memory/link.md"),
        ("malformed", "memory/conflict.md"),
        ("spool", "spool/2026-09-12T101010Z--3f8c21aa.json"),
        ("stray", "memory/.tmp-1"),
        ("index", f"memory/{by_hand(3)[0]}"),
        ("gitignore", ".gitignore"),
    }


def test_the_doctor_tells_secrets_by_kind_and_line_and_never_by_value(full: Stage) -> None:
    write_note(full.memory, "2026-09-12T091409Z--3f8c21aa--k.md", f"# Keys\n\nThe token is {TOKEN}.\n")
    full.store.joinpath("scribe.log").write_text(f"fine\nfine\nAuthorization: Bearer {TOKEN}\n", "utf-8")
    assert full.say("memory", "doctor").code == 0
    told = full.say("memory", "doctor", "--secrets", "--json")
    lines = {(row["path"], row["line"]) for row in told.rows[0]["troubles"]}  # type: ignore[attr-defined]  # JSON
    assert (told.code, TOKEN in told.out + told.err) == (1, False)
    assert {("memory/2026-09-12T091409Z--3f8c21aa--k.md", 3), ("scribe.log", 3)} <= lines


def test_the_doctor_asks_gitleaks_where_it_is_installed_outside_of_the_folder(full: Stage) -> None:
    report = json.dumps([{"Secret": "odd-value", "RuleID": "odd-key"}])
    for folder in (full.place.folder, full.place.folder.parent):
        folder.joinpath("gitleaks").write_text(f"#!/bin/sh\ncat > /dev/null\necho '{report}'\n", "utf-8")
        folder.joinpath("gitleaks").chmod(0o755)
    write_note(full.memory, "2026-09-12T091409Z--3f8c21aa--k.md", f"# Keys\n\n{TOKEN}\nodd-value\n")
    kinds = {str(full.place.folder): [3], f"{full.place.folder}:{full.place.folder.parent}": [3, 4]}
    for path, lines in kinds.items():
        os.environ["PATH"] = path
        told = full.say("memory", "doctor", "--secrets", "--json", "--trust").rows[0]
        assert [row["line"] for row in told["troubles"]] == lines  # type: ignore[attr-defined]  # JSON


def git(stage: Stage, *words: str) -> list[str]:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
    return subprocess.run(command, cwd=stage.place.folder, check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )


def test_memory_is_committed_or_ignored_as_init_was_told(full: Stage) -> None:
    def seen() -> list[str]:
        return sorted(line[3:] for line in git(full, "status", "--porcelain", "-uall") if line)

    full.say("memory", "list")
    assert (full.say("init", "--json").rows[0]["memory"], seen()) == ("ignore", ["calc.py"])
    full.store.joinpath("config.toml").write_text("", "utf-8")
    full.store.joinpath("usage.jsonl").write_text("", "utf-8")
    memory = full.memory.root.memory
    (memory / "sub").mkdir()
    (memory / "sub" / "fact.md").write_text("# Fact\n", "utf-8")
    (memory / ".tmp-1").write_text("", "utf-8")

    told = full.say("init", "--memory", "commit")
    notes = [str(path.relative_to(full.place.folder)) for path in note_files(full.memory)]
    assert told.code == 0
    assert seen() == sorted([".ogcode/.gitignore", ".ogcode/config.toml", *notes, "calc.py"])
    git(full, "add", "-A")
    spool(full.memory, a_job(7))
    assert [line for line in git(full, "status", "--porcelain", "-uall") if line.startswith("??")] == []
    assert full.say("init", "--json").rows[0]["memory"] == "commit"

    assert full.say("init", "--memory", "ignore").code == 0
    assert full.store.joinpath(".gitignore").read_text("utf-8") == "*\n"


def test_what_git_took_before_it_was_committed_is_told_counted_listed_and_brought_back_by_its_name(full: Stage) -> None:
    told = full.say("init", "--memory", "commit")
    assert "git clean and git stash -u take a note that is not committed" in told.err
    before = {path: path.read_bytes() for path in note_files(full.memory)[1:]}
    for _ in range(2):
        git(full, "clean", "-fdq")
    names = [f"memory/{path.name}" for path in before]
    [found] = full.say("memory", "doctor", "--json").rows
    gone = [row for row in found["troubles"] if row["kind"] == "gone"]  # type: ignore[attr-defined]  # JSON
    assert [row["path"] for row in gone] == names
    assert f"ogcode memory undo {FIRST} brings it back" in gone[0]["said"]
    assert full.say("memory", "status", "--json").rows[0]["gone"] == 2
    assert "notes: 0 (2 gone)\n" in full.say("memory", "status").out
    assert full.say("memory", "list", "--forgotten").out.splitlines()[0] == f"{FIRST}  gone  {names[0]}"

    assert full.say("memory", "undo").code == 42  # by itself nothing that somebody may have removed comes back
    assert full.say("memory", "undo", "2026-09-12").code == 42
    assert full.say("memory", "undo", FIRST).out == f"back again: {full.store / names[0]}\n"
    assert full.say("memory", "undo", names[1], "--json").rows[0]["act"] == "gone"
    assert {path: path.read_bytes() for path in note_files(full.memory)} == before
    assert [row["origin"] for row in full.say("memory", "list", "--json").rows if not row["pending"]] == ["own"] * 2
    assert (full.say("memory", "status", "--json").rows[0]["gone"], full.say("memory", "doctor").code) == (0, 0)
    assert len(waiting(full.memory)) == 1


def test_a_note_that_was_removed_by_hand_is_given_up_for_good(full: Stage) -> None:
    full.say("init", "--memory", "commit")
    note_files(full.memory)[1].unlink()
    assert full.say("memory", "forget", FIRST).code == 42
    assert full.say("memory", "forget", "--for-good", "--yes", FIRST).out == f"forgotten for good: {FIRST}\n"
    assert (full.say("memory", "doctor").code, full.say("memory", "undo", FIRST).code) == (0, 42)
    assert [path for path in full.store.rglob("*") if path.is_file() and b"# Dispatch" in path.read_bytes()] == []


def test_a_note_of_which_nothing_is_kept_is_told_to_be_lost(full: Stage) -> None:
    note_files(full.memory)[1].unlink()
    assert "its bytes are kept nowhere" in full.say("memory", "doctor").out
    assert full.say("memory", "undo", FIRST).err == f"ogcode: {FIRST} is gone, and its bytes are kept nowhere\n"
    assert full.say("memory", "list", "--forgotten").out == ""


def test_a_gitignore_that_was_written_by_hand_is_not_written_over(full: Stage) -> None:
    full.store.joinpath(".gitignore").write_text("*\n!memory/\n", "utf-8")
    assert "written by hand" in full.say("init").out
    told = full.say("init", "--memory", "commit")
    assert (told.code, "was written by hand" in told.err) == (1, True)
    assert full.store.joinpath(".gitignore").read_text("utf-8") == "*\n!memory/\n"


@pytest.mark.parametrize("options", [[], ["--object-format=sha256"]], ids=["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_doctor_knows_what_git_tracks_though_no_git_is_run(full: Stage, version: str, options: list[str]) -> None:
    subprocess.run(["rm", "-rf", ".git"], check=True)
    git(full, "init", "-q", *options)
    git(full, "config", "index.version", version)
    write_note(full.memory, "2026-09-12T091409Z--3f8c21aa--k.md", f"# Keys\n\nThe token is {TOKEN}.\n")
    for name in ("usage.jsonl", "memory/longer" + "x" * 200 + ".md"):
        full.store.joinpath(name).write_text("# x\n", "utf-8")
    git(full, "add", "-f", ".ogcode/memory", ".ogcode/usage.jsonl", "calc.py")
    if version == "3":
        full.place.folder.joinpath("later.py").write_text("", "utf-8")
        git(full, "add", "-N", "later.py")
    full.place.environ["PATH"] = os.environ["PATH"] = "/nowhere"
    told = full.say("memory", "doctor", "--json", "--trust")
    found = [(row["kind"], row["path"], row["line"]) for row in told.rows[0]["troubles"]]  # type: ignore[attr-defined]  # JSON
    assert found == [("git", "usage.jsonl", 0), ("secret", "memory/2026-09-12T091409Z--3f8c21aa--k.md", 3)]


def test_looking_at_a_folder_without_memory_leaves_nothing_behind(stage: Stage) -> None:
    before = everything_in(stage.place.folder)
    for command in ("list", "status", "stats", "doctor", "path", "wait"):
        assert stage.say("memory", command).code == 0
        assert stage.say("memory", command, "--json").code == 0
    assert stage.say("init").code == 0
    assert everything_in(stage.place.folder) == before
    assert not stage.store.exists()


def test_no_command_runs_believes_or_spoils_what_a_hostile_folder_holds(tmp_path: Path) -> None:
    with trap(tmp_path) as made:
        made.folder.joinpath(".ogcode", "trash").mkdir()
        stone = {"act": "forgotten", "note": WORD, "at": "2026", "became": "", "of": "", "files": []}
        row = {**stone, "files": [{"path": "memory/../../calc.py", "sha256": "0" * 64, "mtime": 0}]}
        made.folder.joinpath(".ogcode", "trash", "tombstones.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        made.folder.joinpath(".ogcode", "usage.jsonl").symlink_to(made.folder / "MEMORY.md")
        before = everything_in(made.folder)
        for words in ("search policy", "stats", "doctor --secrets", "undo"):
            done = made.place.run("memory", *words.split())
            assert "Traceback" not in done.stderr
            assert (done.returncode in (0, 1, 42), WORD in done.stdout) == (True, False), words
        after = everything_in(made.folder)
        made.assert_quiet()
    assert {name for name in before if ".ogcode/index.db" not in name and after.get(name) != before[name]} == set()
