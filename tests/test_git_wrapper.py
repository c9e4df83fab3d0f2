import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ogcode.agent.commands.ground import Ground
from ogcode.agent.rights.permissions import Rules, decide
from ogcode.agent.tools.shell import shell_tool
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import ToolCall

COMMANDS = (
    "git status",
    "git diff",
    "git diff HEAD",
    "git log -p -1",
    "git show",
    "git blame a.txt",
    "git ls-files -m",
)
ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]
    home = {"HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *settings, *arguments], cwd=folder, env=ENVIRON | home, check=True, capture_output=True)


def repository(top: Path) -> Path:
    top.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    (top / "a.txt").write_text("one\n")
    (top / ".gitattributes").write_text("* filter=x diff=x\n")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    (top / "a.txt").write_text("two\n")
    return top


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def arm(config: Path, settings: str) -> Path:
    """Let settings run a program that leaves a canary."""
    canary = config.resolve().parents[1] / "canary"
    with config.open("a") as file:
        file.write(settings.replace("RUN", f"touch {canary}"))
    return canary


def allowed(command: str, top: Path) -> bool:
    call = ToolCall("1", "bash", json.dumps({"command": command}))
    ground = Ground(top, ENVIRON["PATH"])
    return decide(call, "run", mode="ask", rules=Rules(), trusted=True, ground=ground).kind == "allow"


async def obeyed(command: str, top: Path) -> bool:
    """Do what a session does with a command that needs no question; tell whether it needed none."""
    if not allowed(command, top):
        return False
    shell = shell_tool(Workspace(top), environ=ENVIRON | {"HOME": str(top.parent)}, output_folder=None, trusted=True)
    await shell.function(command=command)
    return True


@pytest.mark.parametrize(
    ("settings", "goes"),
    [
        ('[core]\n\tfsmonitor = "RUN"\n', False),
        ('[CORE]\n\tFsMonitor="RUN"\n', False),
        ('[core]fsmonitor="RUN"\n', False),
        ('[core]\r\tfsmonitor = "RUN"\n', False),
        ('[filter "x"]\n\tclean = "RUN; cat"\n', False),
        ('[filter "x"]\n\tprocess = "RUN"\n', False),
        ('[diff]\n\texternal = "RUN"\n', False),
        ('[diff "x"]\n\ttextconv = "RUN; cat"\n', False),
        ('[diff "x"]\n\tcommand = "RUN"\n', False),
        ('[log]\n\tshowSignature = true\n[gpg]\n\tprogram = "RUN"\n', False),
        ("[include]\n\tpath = other\n", False),
        ('[includeIf "gitdir:**"]\n\tpath = other\n', False),
        ("[core]\n\tworktree = /\n", False),
        ("[extensions]\n\tpartialClone = origin\n", False),
        ('[core]\n\thooksPath = hooks\n\tpager = "RUN"\n\teditor = "RUN"\n[pager]\n\tlog = "RUN"\n', True),
        ('[alias]\n\tstatus = "!RUN"\n\tlog = "!RUN"\n', True),
        ("[core]\n\tfsmonitor = true\n", True),
        ('[remote "origin"]\n\turl = ext::RUN\n[branch "main"]\n\tremote = origin\n', True),
    ],
)
async def test_what_a_repository_sets_for_git_never_runs_unasked(top: Path, settings: str, goes: bool) -> None:
    (top / "hooks").mkdir()
    for folder in (top / "hooks", top / ".git" / "hooks"):
        (folder / "post-index-change").write_text(f"#!/bin/sh\ntouch {top}/canary\n")
        (folder / "post-index-change").chmod(0o755)
    (top / ".git" / "other").write_text(f'[core]\n\tfsmonitor = "touch {top}/canary"\n')
    canary = arm(top / ".git" / "config", settings)
    went = [await obeyed(command, top) for command in COMMANDS]
    assert set(went) == {goes}
    assert not canary.exists()


async def test_the_canary_sings_where_nothing_protects_git(top: Path) -> None:
    canary = arm(top / ".git" / "config", '[core]\n\tfsmonitor = "RUN"\n')
    git(top, "status")
    assert canary.exists()


def bare_in(top: Path) -> Path:
    bare = top / "vendor" / "bare"
    git(top, "init", "-q", "--bare", str(bare))
    git(bare, "config", "core.bare", "false")
    git(bare, "config", "core.worktree", str(bare))
    return bare


async def test_a_bare_repository_in_a_folder_is_not_entered(top: Path) -> None:
    bare = bare_in(top)
    canary = arm(bare / "config", '[core]\n\tfsmonitor = "RUN"\n')
    assert await obeyed("cd vendor/bare && git status", top)
    assert await obeyed("git -C vendor/bare status", top)
    assert not canary.exists()
    git(bare, "status")
    assert canary.exists()


def submodule_in(top: Path) -> Path:
    repository(top.parent / "inner")
    git(top, "submodule", "--quiet", "add", str(top.parent / "inner"), "sub")
    git(top, "commit", "-q", "-m", "with a submodule")
    return top / ".git" / "modules" / "sub"


async def test_a_submodule_is_looked_at_as_the_repository_itself_is(top: Path) -> None:
    modules = submodule_in(top)
    assert await obeyed("git status", top)
    assert await obeyed("cd sub && git log", top)
    canary = arm(modules / "config", '[core]\n\tfsmonitor = "RUN"\n')
    assert not await obeyed("git status", top)
    assert not await obeyed("cd sub && git status", top)
    assert not canary.exists()
    git(top, "status")
    assert canary.exists()


async def test_a_worktree_is_read_where_its_repository_knows_it(top: Path) -> None:
    git(top, "worktree", "add", "-q", "../tree")
    tree = top.parent / "tree"
    assert await obeyed("git status", tree)
    arm(top / ".git" / "config", '[core]\n\tfsmonitor = "RUN"\n')
    assert not await obeyed("git status", tree)
    forged = top.parent / "forged"
    forged.mkdir()
    (forged / ".git").write_text((tree / ".git").read_text())
    assert not await obeyed("git status", forged)


async def test_settings_of_a_worktree_count_too(top: Path) -> None:
    git(top, "config", "extensions.worktreeConfig", "true")
    canary = arm(top / ".git" / "config.worktree", '[core]\n\tfsmonitor = "RUN"\n')
    assert not await obeyed("git status", top)
    assert not canary.exists()


def linked(top: Path) -> None:
    (top / ".git").rename(top.parent / "elsewhere")
    (top / ".git").symlink_to(top.parent / "elsewhere")


def shared(top: Path) -> None:
    (top / ".git" / "commondir").write_text("../../other/.git\n")


def pointing(top: Path) -> None:
    (top / ".git").rename(top.parent / "elsewhere")
    (top / ".git").write_text(f"gitdir: {top.parent}/elsewhere\n")


def unreadable(top: Path) -> None:
    (top / ".git" / "config").unlink()
    os.mkfifo(top / ".git" / "config")


def huge(top: Path) -> None:
    arm(top / ".git" / "config", "# " + "x" * 300_000 + '\n[core]\n\tfsmonitor = "RUN"\n')


def damaged(top: Path) -> None:
    (top / ".git" / "index").write_bytes(b"DIRC" + b"\xff" * 100)


def gone(top: Path) -> None:
    (top / ".git").rename(top.parent / "elsewhere")


HARMS = (linked, shared, pointing, unreadable, huge, damaged, gone)


@pytest.mark.parametrize("harm", HARMS)
def test_a_repository_that_is_not_as_git_makes_it_is_asked_about(top: Path, harm: Callable[[Path], None]) -> None:
    assert allowed("git log", top)
    harm(top)
    assert not allowed("git log", top)


def test_the_repository_of_a_folder_above_is_none_of_ours(top: Path) -> None:
    (top / "inner").mkdir()
    assert not allowed("git log", top / "inner")


async def test_names_that_look_like_commands_or_flags_stay_names(top: Path) -> None:
    git(top, "branch", "$(touch${IFS}canary)")
    git(top, "config", "user.email", "$(touch canary)")
    git(top, "update-ref", "refs/heads/--upload-pack=touch", "HEAD")
    assert all([await obeyed(command, top) for command in ("git branch -a", "git log --all", "git config --list")])
    assert not (top / "canary").exists()
