"""Commands that want out, in every sandbox that this machine has."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from boxes import KINDS, SOON, Box, box_of
from hostile import everything_in
from waiting import alive, until

from ogcode.agent.tool import ToolError

STRONG = KINDS[:2]
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
PYTHON = Path(sys.executable).resolve()
"""Not that of a virtual environment, which may lie in `/tmp`: commands have one of their own."""

CONNECT = (
    "import socket, sys; s = socket.socket(socket.AF_INET, socket.SOCK_{kind}); s.settimeout(2); "
    "s.connect(('{host}', 9)); s.send(b'x')"
)
Boxed = Callable[[str], Box]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is not beneath `/tmp`, which a command has for itself."""
    with tempfile.TemporaryDirectory(prefix="ogcode-", dir="/var/tmp") as made:
        yield Path(made)


@pytest.fixture
def boxed(folder: Path) -> Boxed:
    def make(kind: str) -> Box:
        box = box_of(kind, folder)
        subprocess.run(["git", "init", "-q", box.top], check=True)
        (box.top / "a.txt").write_text("a\n")
        (box.top / ".ogcode").mkdir()
        (box.top / ".ogcode" / "config.toml").write_text('memory = "off"\n')
        return box

    return make


@pytest.mark.parametrize("kind", KINDS)
async def test_ordinary_work_succeeds(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    assert await box.run("echo new > b.txt; mkdir -p d && mv b.txt d/ && cat d/b.txt") == "new"
    assert await box.run(f"{' '.join(GIT)} add a.txt d && {' '.join(GIT)} commit -qm x && git log --format=%s") == "x"
    assert (
        await box.run("f=$(mktemp); echo t > $f; cat $f <(echo sub); test -e /dev/null && echo ok >/dev/null")
        == "t\nsub"
    )
    assert (box.top / "d" / "b.txt").read_text() == "new\n"


OUTSIDE = (
    "echo x > {home}/x",
    "echo x >> {home}/.bashrc",
    "ln -s {home} out; echo x > out/x",
    "ln {home}/.netrc hard; echo x > hard",
    "cp a.txt {home}/.ogcode/config.toml",
    "rm -rf {home}",
    "mv {home}/.netrc .",
    "truncate -s 0 {folder}/beside",
    "python3 -c \"import os; os.unlink('{folder}/beside')\"",
    "cd ..; echo x > beside",
    "sh -c 'setsid sh -c \"sleep 0.05; echo x > {folder}/beside\" &'; sleep 0.2",
)


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_outside_is_written(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    (box.folder / "beside").write_text("beside")
    before = everything_in(box.home) | everything_in(box.folder.joinpath("refused"))
    for command in OUTSIDE:
        await box.run(command.format(home=box.home, folder=box.folder))
        assert everything_in(box.home) | everything_in(box.folder.joinpath("refused")) == before, command
        assert (box.folder / "beside").read_text() == "beside", command


@pytest.mark.parametrize("kind", STRONG)
async def test_no_mode_or_time_outside_is_changed(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    beside = box.folder / "beside"
    beside.touch(mode=0o600)
    before = beside.stat()
    await box.run(f"chmod 777 {beside}; touch -d 2000-01-01 {beside}")
    assert beside.stat() == before


PERSISTENT = (
    "echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "git config core.fsmonitor ./evil",
    "echo '[core] fsmonitor = ./evil' >> .git/config",
    "rm -rf .git/hooks; mkdir .git/hooks; echo x > .git/hooks/pre-push",
    "rm .git/config; cp a.txt .git/config",
    "echo ../evil > .git/commondir",
    "cp a.txt .git/config.worktree",
    "mv .git/hooks .git/h; mkdir .git/hooks; echo x > .git/hooks/post-checkout",
    "ln -sfn /bin .git/hooks",
)


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_that_makes_git_run_programs_stays(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    git = box.top / ".git"
    before = {path: path.read_bytes() for path in (*(git / "hooks").glob("*"), git / "config")}
    for command in PERSISTENT:
        said = await box.run(command)
        assert not (git / "hooks").is_symlink(), command
        assert {path: path.read_bytes() for path in (*(git / "hooks").glob("*"), git / "config")} == before, command
        assert not [name for name in ("commondir", "config.worktree") if (git / name).exists()], command
        assert "Read-only" in said or "busy" in said or "by this command" in said, command


@pytest.mark.parametrize("command", ["mv .git .git_ && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_repository_that_is_moved_away_is_kept_or_told(boxed: Boxed, kind: str, command: str) -> None:
    said = await boxed(kind).run(command)
    assert "Device or resource busy" in said or "look first" in said


OURS = (
    "echo 'allow = [\"Bash\"]' >> .ogcode/config.toml",
    "cd .ogcode && mkdir memory && echo x > memory/n.md",
    "mv .ogcode o",
    "rm -rf .ogcode",
    "umount .ogcode; umount -l .ogcode; mount -o remount,rw .ogcode; echo x > .ogcode/x",
    "unshare -Urm sh -c 'umount -l .ogcode; echo x > .ogcode/x'",
)


@pytest.mark.parametrize("kind", STRONG)
async def test_nothing_of_ogcode_is_changed(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    before = everything_in(box.top / ".ogcode")
    for command in OURS:
        await box.run(command)
        assert everything_in(box.top / ".ogcode") == before, command


@pytest.mark.parametrize("kind", STRONG)
async def test_memory_that_was_not_there_can_not_be_planted(folder: Path, kind: str) -> None:
    box = box_of(kind, folder)
    await box.run("mkdir -p .ogcode/memory && echo x > .ogcode/memory/n.md")
    assert everything_in(box.top) == {}


@pytest.mark.parametrize("kind", KINDS)
async def test_no_secret_is_read(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    said = await box.run(f"cat {box.home}/.ssh/id {box.home}/.netrc {box.home}/.ogcode/seal; env; ls -R {box.home}")
    assert "SECRET" not in said
    assert "SSH_AUTH_SOCK" not in said


@pytest.mark.parametrize("kind", KINDS)
async def test_what_others_keep_in_shared_folders_is_not_seen(boxed: Boxed, kind: str, tmp_path: Path) -> None:
    (tmp_path / "beside").write_text("SECRET")
    assert "SECRET" not in await boxed(kind).run(f"cat {tmp_path}/beside; ls /run && ls /tmp")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_temporary_folder_lasts_for_the_session_and_is_nobody_elses(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    await box.run("echo kept > $TMPDIR/x")
    assert await box.run("cat $TMPDIR/x") == "kept"
    assert (box.folder / "private" / "tmp" / "x").read_text() == "kept\n"
    assert (box.folder / "private" / "tmp").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", KINDS)
async def test_no_connection_is_made(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    said = await box.run(f'{PYTHON} -c "{CONNECT.format(kind="STREAM", host="198.51.100.1")}"')
    assert "unreachable" in said or "Permission denied" in said


@pytest.mark.parametrize("kind", STRONG)
async def test_no_datagram_is_sent_and_the_inner_loopback_works(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    said = await box.run(f'{PYTHON} -c "{CONNECT.format(kind="DGRAM", host="198.51.100.1")}"')
    assert "unreachable" in said
    serve = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
    assert await box.run(f'{PYTHON} -c "{serve}"') == "(no output)"


@pytest.mark.parametrize("kind", KINDS)
async def test_no_process_outside_is_reached(boxed: Boxed, kind: str) -> None:
    me = os.getpid()
    said = await boxed(kind).run(f"kill -0 {me} && echo reached; grep -qs . /proc/{me}/environ && echo read")
    assert "reached" not in said
    assert "read" not in said


@pytest.mark.parametrize("kind", KINDS)
async def test_no_privilege_is_gained(boxed: Boxed, kind: str) -> None:
    status = dict(
        line.split(":\t", 1) for line in (await boxed(kind).run("cat /proc/self/status")).split("\n") if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) == 0


@pytest.mark.parametrize("kind", STRONG)
async def test_a_command_has_only_so_many_processes(boxed: Boxed, kind: str) -> None:
    assert int(await boxed(kind).run("ulimit -u")) <= 2_048


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_is_written_where_the_level_is_to_read(folder: Path, kind: str) -> None:
    box = box_of(kind, folder, "ro")
    assert await box.run("echo x > x; echo x > $TMPDIR/x && cat $TMPDIR/x") != "x"
    assert everything_in(box.top) == {}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_link_that_can_not_be_protected_stops_every_command(folder: Path, kind: str) -> None:
    box = box_of(kind, folder)
    (box.top / ".ogcode").symlink_to(box.home)
    with pytest.raises(ToolError, match=r"\.ogcode is a link .*nothing was run"):
        await box.run("touch ran")
    assert not (box.top / "ran").exists()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_left_in_the_background_is_ended_and_counted(boxed: Boxed, kind: str) -> None:
    said = await boxed(kind).run("setsid sleep 31.81 & sleep 31.81 & echo late > >(sleep 0.02; cat); echo done")
    assert sorted(said.split("\n")) == ["[2 still running in the background: ended]", "done", "late"]
    await until(lambda: not alive("31.81"))


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("trap 'echo cleaned; exit' TERM; while :; do sleep 0.02; done", "cleaned"),
        ("echo before; trap '' TERM; setsid sleep 31.82 & while :; do sleep 0.1; : 31.82; done", "before"),
    ],
)
async def test_a_timeout_asks_first_and_then_ends_everything(boxed: Boxed, command: str, printed: str) -> None:
    with pytest.raises(ToolError, match=rf"timed out after 1 s .* job=.*\n(Terminated\n)?{printed}"):
        await boxed("bubblewrap").run(command, timeout=1)
    await until(lambda: not alive("31.82"))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancelled_command_is_gone_with_its_children_and_what_it_did_to_git(boxed: Boxed, kind: str) -> None:
    box = boxed(kind)
    doing = "echo x > .git/hooks/pre-commit; touch began; setsid sleep 31.83 & sleep 31.83"
    task = asyncio.create_task(box.run(doing))
    await until(lambda: (box.top / "began").exists() and len(alive("31.83")) > 1)
    task.cancel()
    await asyncio.wait([task], timeout=SOON)
    assert task.cancelled()
    await until(lambda: not alive("sleep\x0031.83"))
    assert not (box.top / ".git" / "hooks" / "pre-commit").exists()
