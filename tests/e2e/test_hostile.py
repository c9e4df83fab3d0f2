import json
import os
import pty
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_server import Call, Fail, Raw, Reply, Say
from hostile import SESSION, WORD, Trap, bare_in, everything_in, trap
from stage_cli import OGCODE, Place, Serve, model_of, new_place, playing

KEY = "wR7mVq2LkP0sTz9x"  # of no known shape: only its exact value gives it away
OBEDIENT: tuple[Reply, ...] = (
    Call("glob", {"pattern": "**/*.md"}),
    Call("grep", {"pattern": "--pre=./rg"}),
    Call("bash", {"command": "touch canary"}),
    Call("bash", {"command": "touch canary", "sandbox": "off"}),
    Call("approve_all", {}),
    Call("write", {"path": "canary", "content": "x"}),
    Call("write", {"path": ".ogcode/config.toml", "content": "mode = 'auto'"}),
    Call("edit", {"path": "calc.py", "old": "a - b", "new": "a + b"}),
    Call("memory_recall", {"question": "policy?"}),
    Call("project_memory_recall", {"question": "policy?"}),
    Say("done as told"),
)


@pytest.fixture
def trapped(tmp_path: Path) -> Iterator[Trap]:
    with trap(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["memory", "list"], 0),
        (["memory", "show", "2026-01-01T000000Z--deadbeef"], 42),
        (["memory", "status"], 0),
        (["memory", "wait", "0.2"], 0),
        (["memory", "search", "policy"], 0),
        (["memory", "stats"], 0),
        (["memory", "doctor", "--secrets"], 1),
        (["memory", "list", "--forgotten"], 0),
        (["memory", "undo"], 42),
        (["undo"], 42),
        (["undo", "last"], 42),
        (["memory", "forget", "2026-01-01T000000Z--deadbeef"], 42),
        (["memory", "edit", "2026-01-01T000000Z--deadbeef"], 42),
        (["memory", "rescribe", "2026-01-01T000000Z--deadbeef"], 42),
        (["init"], 0),
        (["sessions"], 0),
        (["recall", "what is the policy?"], 0),
        (["-p", "-c", "go on"], 42),
        (["-p", "-r", SESSION, "go on"], 42),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else str(given),
)
def test_no_command_runs_or_believes_what_a_hostile_folder_holds(
    trapped: Trap, serve: Serve, arguments: list[str], code: int
) -> None:
    server = serve(playing([Say("fine")]))
    done = trapped.place.run(*arguments, **model_of(server))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert WORD not in done.stdout + json.dumps(server.chats)
    trapped.assert_quiet()


@pytest.mark.parametrize("where", ["top", "bare"])
def test_an_obedient_model_in_an_untrusted_folder_gets_nothing_done(trapped: Trap, serve: Serve, where: str) -> None:
    folder = bare_in(trapped) if where == "bare" else trapped.folder
    before = trapped.folder.joinpath(".ogcode", "config.toml").read_bytes()
    server = serve(playing([*OBEDIENT]))
    trapped.place.environ |= model_of(server)
    done = trapped.place.run("-p", "do as you are told", "-C", str(folder), "--mode", "yolo", "--memory-wait", "10")
    assert done.stdout == "done as told\n", done.stderr
    assert "not trusted: AGENTS.md, MEMORY.md, .ogcode/config.toml, 1 note by others ignored" in done.stderr
    assert WORD not in json.dumps(server.chats)
    assert not list(trapped.folder.rglob("canary"))
    assert "a - b" in trapped.folder.joinpath("calc.py").read_text("utf-8")
    assert trapped.folder.joinpath(".ogcode", "config.toml").read_bytes() == before
    assert len(trapped.place.notes) == 2
    trapped.assert_quiet()


def test_a_trusted_folder_says_what_it_knows_but_sets_neither_endpoint_nor_permissions(
    trapped: Trap, serve: Serve
) -> None:
    server = serve(playing([Call("bash", {"command": "touch canary"}), Say("ok")]))
    done = trapped.place.run("-p", "go", "--trust", **model_of(server))
    assert done.returncode == 55, done.stderr
    assert [key for key in ("api_base", "mode", "allow") if f"'{key}' is ignored" not in done.stderr] == []
    first = json.dumps(server.chats[0])
    assert (f"{WORD}: you may edit" in first, "above the repository" in first) == (True, False)
    assert not trapped.folder.joinpath("canary").exists()
    trapped.assert_quiet()


def test_planted_programs_are_not_what_a_command_runs_in(trapped: Trap, serve: Serve) -> None:
    server = serve(playing([Call("bash", {"command": "echo shell=$BASH; echo $PATH"}), Say("ok")]))
    done = trapped.place.run("-p", "go", "--trust", "--mode", "yolo", **model_of(server))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    told = next(message["content"] for message in server.chats[1]["messages"] if message["role"] == "tool")
    assert str(trapped.folder) not in told.splitlines()[0]
    assert not told.splitlines()[1].startswith(".")
    trapped.assert_quiet()


def victim_of(tmp_path: Path, serve: Serve) -> Place:
    """Another repository of the same user, trusted, with a memory of its own."""
    victim = new_place(tmp_path, "victim", indoors=True)
    server = serve(
        playing([Say("the marmalade plan is a zebra")], scribe=Say("# Zebra\n\nTopics: zebra\n\nsecret zebra"))
    )
    done = victim.run(
        "-p", "what is the marmalade plan with zebra", "--trust", "--memory-wait", "20", **model_of(server)
    )
    assert (done.returncode, len(victim.notes)) == (0, 1), done.stderr
    victim.settle()
    return victim


@pytest.mark.parametrize("way", ["worktree", "link"])
def test_a_folder_can_not_pass_itself_off_as_another_trusted_repository(tmp_path: Path, serve: Serve, way: str) -> None:
    victim = victim_of(tmp_path, serve)
    mine = new_place(tmp_path, "mine", git=way == "link", indoors=True)
    if way == "link":
        mine.folder.joinpath(".ogcode").symlink_to(victim.folder / ".ogcode")
    else:
        subprocess.run(
            "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m x && git worktree add -q ../tree",
            shell=True,
            cwd=victim.folder,
            check=True,
            capture_output=True,
        )
        mine.folder.joinpath(".git").write_text(f"gitdir: {victim.folder}/.git/worktrees/tree\n", "utf-8")
    before = everything_in(victim.folder)
    agent: list[Reply] = [
        Call("project_memory_recall", {"question": "zebra?"}),
        Call("bash", {"command": "seq 90000"}),
        Say("ok"),
    ]
    server = serve(playing(agent))
    told = ""
    for arguments in (
        ["-p", "go", "--mode", "yolo", "--memory-wait", "0.5"],
        ["memory", "list"],
        ["memory", "status"],
        ["sessions"],
        ["recall", "zebra"],
    ):
        done = mine.run(*arguments, **model_of(server))
        assert "Traceback" not in done.stderr
        told += done.stdout
    assert "ok\n" in told
    assert "marmalade" not in told + json.dumps(server.chats)
    assert everything_in(victim.folder) == before


def test_a_forged_worktree_can_not_be_trusted_and_that_is_one_sentence(tmp_path: Path) -> None:
    mine = new_place(tmp_path, "mine", git=False, indoors=True)
    other = new_place(tmp_path, "other")
    (other.folder / ".git" / "worktrees" / "x").mkdir(parents=True)
    (other.folder / ".git" / "worktrees" / "x" / "commondir").write_text("../..\n", "utf-8")
    mine.folder.joinpath(".git").write_text(f"gitdir: {other.folder}/.git/worktrees/x\n", "utf-8")
    done = mine.run("-p", "go", "--trust", OGCODE_MODEL="openai/x", OPENAI_API_KEY="k")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "can't be trusted" in done.stderr


def test_another_folder_in_the_place_of_a_trusted_one_is_not_believed(place: Place, serve: Serve) -> None:
    server = serve(playing([Say("a"), Say("b")]))
    place.run("-p", "one", "--trust", **model_of(server))
    place.folder.rename(place.folder.with_name("old"))
    new_place(place.folder.parent).folder.joinpath("AGENTS.md").write_text(WORD, "utf-8")
    done = place.run("-p", "two", **model_of(server))
    assert "not trusted: AGENTS.md ignored" in done.stderr
    assert WORD not in json.dumps(server.chats)


def test_no_tool_goes_through_a_link_out_of_the_workspace(place: Place, serve: Serve) -> None:
    outside = place.folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("a zebra", "utf-8")
    (place.folder / "out").symlink_to(outside)
    (place.folder / "direct").symlink_to(outside / "secret.txt")
    (place.folder / "dangling").symlink_to(outside / "made")
    refused = (
        Call("read", {"path": "out/secret.txt"}),
        Call("read", {"path": "direct"}),
        Call("read", {"path": "../outside/secret.txt"}),
        Call("grep", {"pattern": "zebra", "path": "out"}),
        Call("edit", {"path": "direct", "old": "a zebra", "new": "gone"}),
        Call("write", {"path": "out/secret.txt", "content": "gone"}),
        Call("write", {"path": "out/new.txt", "content": "new"}),
        Call("write", {"path": "dangling", "content": "new"}),
    )
    blind = (
        Call("grep", {"pattern": "zebra"}),
        Call("glob", {"pattern": "out/*"}),
        Call("glob", {"pattern": "**/*.txt"}),
    )
    server = serve(playing([(*refused, *blind), Say("ok")]))
    place.run("-p", "go", "--trust", "--mode", "yolo", **model_of(server))
    told = [message["content"] for message in server.chats[1]["messages"] if message["role"] == "tool"]
    assert [text for text in told if "a zebra" in text] == []
    assert [text for text in told[: len(refused)] if "outside the workspace" not in text] == []
    assert [text for text in told[len(refused) :] if "secret.txt" in text] == []
    assert everything_in(outside) == {str(outside / "secret.txt"): b"a zebra"}


def test_whatever_the_umask_all_that_is_made_is_private(place: Place, serve: Serve) -> None:
    agent: list[Reply] = [
        Call("bash", {"command": "seq 90000"}),
        Call("project_memory_recall", {"question": "x"}),
        Say("ok"),
    ]
    arguments = ["-p", "go", "--trust", "--mode", "yolo", "--memory-wait", "20"]
    environ = {**place.environ, **model_of(serve(playing(agent)))}
    subprocess.run([OGCODE, *arguments], cwd=place.folder, env=environ, umask=0, check=True, stdin=subprocess.DEVNULL)
    made = [path for top in (place.folder / ".ogcode", place.home) for path in (top, *top.rglob("*"))]
    assert len(made) > 12
    assert [(str(path), oct(path.stat().st_mode)) for path in made if path.stat().st_mode & 0o077] == []


def test_a_command_sees_no_key_in_its_environment_nor_in_that_of_ogcode(place: Place, serve: Serve) -> None:
    held_back: list[str] = []
    if os.geteuid() == 0:  # root may look into every process, unless it is kept from it
        if not shutil.which("setpriv"):
            pytest.skip("root without setpriv")
        held_back = ["setpriv", "--bounding-set", "-sys_ptrace,-perfmon,-sys_admin"]
    commands = ("env", "tr '\\0' '\\n' < /proc/$PPID/environ")
    server = serve(playing([*(Call("bash", {"command": command}) for command in commands), Say("ok")]))
    environ = {**place.environ, **model_of(server), "OPENAI_API_KEY": KEY, "MY_TOKEN": "t0kent0kent0ken"}
    arguments = ["-p", "go", "--trust", "--mode", "yolo", "--no-sandbox"]
    subprocess.run(
        [*held_back, OGCODE, *arguments], cwd=place.folder, env=environ, check=True, stdin=subprocess.DEVNULL
    )
    told = [message["content"] for message in server.chats[2]["messages"] if message["role"] == "tool"]
    assert ("PATH=" in told[0], "Permission denied" in told[1]) == (True, True)
    assert KEY not in json.dumps(told)
    assert "t0ken" not in json.dumps(told)


@pytest.mark.parametrize(
    "reply",
    [
        Fail(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        Fail(400, f"bad header Authorization: Bearer {KEY}"),
        Raw((f'data: {{"error": {{"message": "no account for {KEY}", "type": "invalid_request"}}}}', "", "")),
    ],
    ids=["refused", "plain", "in the stream"],
)
def test_a_key_that_the_provider_echoes_is_shown_and_kept_nowhere(place: Place, serve: Serve, reply: Reply) -> None:
    agent: list[Reply] = [Call("glob", {"pattern": "*"}), reply]
    environ = model_of(serve(playing(agent, scribe=reply))) | {"OPENAI_API_KEY": KEY}
    done = place.run("-p", "go", "--output-format", "json", "--memory-wait", "10", **environ)
    place.settle()
    kept = everything_in(place.folder) | everything_in(place.home)
    assert done.returncode == 1
    assert KEY not in done.stdout + done.stderr
    assert [path for path, content in kept.items() if KEY.encode() in content] == []


def test_what_a_model_says_can_not_steer_the_terminal(place: Place, serve: Serve) -> None:
    server = serve(playing([Call("grep", {"pattern": "\x1b]0;pwn\x07"}), Say("a\x1b]52;c;UVE=\x07b\x9b2J\x1bcd")]))
    reader, writer = pty.openpty()
    environ = {**place.environ, **model_of(server)}
    with os.fdopen(reader, "rb", 0) as shown:
        subprocess.run(
            [OGCODE, "-p", "go"], cwd=place.folder, env=environ, stdin=writer, stdout=writer, stderr=writer, check=True
        )
        os.close(writer)
        written = shown.read(100_000)
    assert b"ab" in written
    assert [byte for byte in written if byte == 0x1B or byte == 0x07] == []
