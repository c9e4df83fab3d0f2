import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ogcode.agent.tools.process import program
from ogcode.tui.batch.worktrees import Diff, GitFailed, Worktrees


@dataclass
class Repository:
    top: Path
    environ: dict[str, str]
    worktrees: Worktrees

    def git(self, *words: str, at: Path | None = None) -> str:
        ours = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
        return subprocess.run(
            ours, cwd=at or self.top, env=self.environ, check=True, capture_output=True, text=True
        ).stdout

    async def worktree(self, task: str = "a") -> Path:
        await self.worktrees.make(task, await self.worktrees.head(), settings=None)
        return self.worktrees.path(task)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    top = tmp_path / "repo"
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["git", "init", "-q", top], check=True)
    git = program("git", environ["PATH"], outside=top)
    assert git
    with (tmp_path / "lock").open("w") as lock:
        trees = Worktrees(top, tmp_path / "trees" / "b", "b", git=git, environ=environ, lock=lock.fileno())
        found = Repository(top, environ, trees)
        (top / "f.txt").write_text("1\n2\n")
        (top / ".gitignore").write_text("*.log\n")
        found.git("add", "-A")
        found.git("commit", "-qm", "first")
        yield found


async def test_what_was_worked_is_on_the_branch_in_the_name_of_ogcode_where_the_user_has_none(
    repository: Repository,
) -> None:
    path = await repository.worktree()
    (path / "f.txt").write_text("1\n3\n4\n")
    (path / "new.txt").write_text("new\n")
    commit = await repository.worktrees.keep("a", "ogcode: a")
    assert repository.git("log", "-1", "--format=%H %an <%ae> %s", "ogcode/b/a").strip() == (
        f"{commit} ogcode <ogcode@localhost> ogcode: a"
    )
    assert await repository.worktrees.diff(await repository.worktrees.head(), commit) == Diff(2, 3, 1)


async def test_keeping_twice_makes_one_commit(repository: Repository) -> None:
    path = await repository.worktree()
    (path / "new.txt").touch()
    assert await repository.worktrees.keep("a", "x") == await repository.worktrees.keep("a", "y")


@pytest.mark.parametrize(
    "moved", [("checkout", "-q", "--detach"), ("checkout", "-qb", "other"), ("checkout", "-q", "--orphan", "bare")]
)
async def test_work_is_kept_wherever_the_agent_has_gone_in_its_worktree(
    repository: Repository, moved: tuple[str, ...]
) -> None:
    path = await repository.worktree()
    (path / "first.txt").write_text("x")
    repository.git("add", "-A", at=path)
    repository.git("commit", "-qm", "of the agent", at=path)
    repository.git(*moved, at=path)
    (path / "second.txt").write_text("y")
    if "--orphan" in moved:
        repository.git("commit", "-qm", "without a past", at=path)
    await repository.worktrees.keep("a", "kept")
    await repository.worktrees.remove("a")
    assert repository.git("ls-tree", "--name-only", "ogcode/b/a").split() == [
        *(".gitignore", "f.txt", "first.txt", "second.txt")
    ]
    assert "of the agent" in repository.git("log", "--format=%s", "ogcode/b/a")


async def test_a_git_that_was_killed_there_is_no_hindrance(repository: Repository) -> None:
    path = await repository.worktree()
    (path / "new.txt").touch()
    (repository.top / ".git" / "worktrees" / "repo" / "index.lock").touch()
    await repository.worktrees.keep("a", "kept")
    assert "new.txt" in repository.git("ls-tree", "--name-only", "ogcode/b/a")


async def test_no_hook_of_the_repository_runs(repository: Repository, tmp_path: Path) -> None:
    for name in ("post-checkout", "pre-commit", "reference-transaction"):
        hook = repository.top / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\nexit 1\n")
        hook.chmod(0o755)
    path = await repository.worktree()
    (path / "new.txt").touch()
    await repository.worktrees.keep("a", "kept")
    assert not (tmp_path / "canary").exists()


async def test_git_is_not_run_once_its_settings_name_another_program(repository: Repository, tmp_path: Path) -> None:
    path = await repository.worktree()
    repository.git("config", "filter.x.clean", f"touch {tmp_path}/canary; cat")
    (path / ".gitattributes").write_text("* filter=x\n")
    with pytest.raises(GitFailed, match="names other programs"):
        await repository.worktrees.keep("a", "kept")
    assert not (tmp_path / "canary").exists()


async def test_a_worktree_that_points_elsewhere_is_left_as_it_is(repository: Repository, tmp_path: Path) -> None:
    path = await repository.worktree()
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", other], check=True)
    (path / ".git").write_text(f"gitdir: {other}/.git\n")
    with pytest.raises(GitFailed, match="not a worktree that this repository knows"):
        await repository.worktrees.keep("a", "kept")
    assert path.exists()


async def test_a_repository_inside_a_worktree_is_seen(repository: Repository) -> None:
    path = await repository.worktree()
    repository.git("clone", "-q", str(repository.top), "inner", at=path)
    await repository.worktrees.keep("a", "kept")
    assert await repository.worktrees.holds_repositories("a") == "inner"


async def test_an_earlier_branch_gets_another_name_where_it_holds_something(repository: Repository) -> None:
    path = await repository.worktree()
    await repository.worktrees.remove("a")
    assert await repository.worktrees.set_aside("a") == ""
    for number in (1, 2):
        path = await repository.worktree()
        (path / f"{number}.txt").touch()
        await repository.worktrees.keep("a", "kept")
        await repository.worktrees.remove("a")
        assert await repository.worktrees.set_aside("a") == f"ogcode/b/a.attempt-{number}"


@pytest.mark.parametrize("left", ["repo", ".going"])
async def test_a_removal_that_was_cut_off_is_finished(repository: Repository, left: str) -> None:
    path = await repository.worktree()
    (path / ".git").unlink()
    path.rename(path.with_name(left))
    await repository.worktrees.remove("a")
    assert not path.parent.parent.exists()
    assert len(repository.git("worktree", "list").splitlines()) == 1
