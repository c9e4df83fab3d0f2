import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ogcode.agent.files.root import find_root
from ogcode.agent.rights.trust import Trust, TrustBroken

NOW = datetime(2026, 9, 12, tzinfo=UTC)


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "src" / "deep").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_a_folder_below_a_repository_has_the_repository_as_its_root(repository: Path) -> None:
    root = find_root(repository / "src" / "deep", None)
    assert (root.path, root.top, root.sound, root.wide) == (repository, repository, True, False)


def test_a_worktree_shares_the_memory_of_its_repository(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "../tree")
    tree = repository.parent / "tree"
    root = find_root(tree, None)
    assert (root.store, root.top, root.sound) == (repository / ".ogcode", tree, True)


def test_a_worktree_that_was_moved_by_hand_is_not_sound(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "../tree")
    (repository.parent / "tree").rename(repository.parent / "moved")
    assert not find_root(repository.parent / "moved", None).sound


def forged(repository: Path) -> Path:
    """Make a folder whose `.git` file claims to be a worktree of a repository that has one elsewhere."""
    git(repository, "worktree", "add", "-q", "../tree")
    folder = repository.parent / "forged"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {repository}/.git/worktrees/tree\n")
    return folder


def test_a_forged_worktree_gets_a_memory_of_its_own(repository: Path) -> None:
    folder = forged(repository)
    root = find_root(folder, None)
    assert (root.path, root.sound) == (folder, False)


def test_a_forged_worktree_can_never_be_trusted(repository: Path, tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    root = find_root(forged(repository), None)
    with pytest.raises(TrustBroken, match="does not know this worktree"):
        trust.give(root, NOW)
    assert not trust.holds(root)


def test_a_gitdir_that_brings_its_own_commondir_is_not_sound(repository: Path) -> None:
    folder = repository.parent / "forged"
    admin = folder / "admin"
    admin.mkdir(parents=True)
    (folder / ".git").write_text("gitdir: admin\n")
    (admin / "gitdir").write_text(f"{folder}/.git\n")
    (admin / "commondir").write_text(f"{repository}/.git\n")
    root = find_root(folder, None)
    assert (root.path, root.sound) == (folder, False)


@pytest.mark.parametrize(
    "text", ["", "gitdir:", "gitdir: nowhere", "gitdir: a\0b", "\xff", "gitdir: loop/x", "x" * 9000]
)
def test_a_git_file_that_points_nowhere_is_no_obstacle(tmp_path: Path, text: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / ".git").write_text(text, "latin-1")
    assert find_root(tmp_path, None).path == tmp_path


def test_a_submodule_is_its_own_root(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "outer").mkdir()
    git(tmp_path / "outer", "init", "-q")
    git(tmp_path / "outer", "submodule", "--quiet", "add", str(repository), "inner")
    root = find_root(tmp_path / "outer" / "inner", None)
    assert (root.path, root.sound) == (tmp_path / "outer" / "inner", True)


def test_worktrees_of_a_bare_repository_keep_their_memory_beside_it(repository: Path) -> None:
    git(repository.parent, "clone", "-q", "--bare", "repo", "bare.git")
    bare = repository.parent / "bare.git"
    git(bare, "worktree", "add", "-q", "../tree")
    root = find_root(repository.parent / "tree", None)
    assert (root.store, root.sound) == (bare / ".ogcode", True)


def test_without_git_the_folder_is_the_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # no repository: it holds nothing
    (tmp_path / "sub").mkdir()
    assert find_root(tmp_path / "sub", None).path == tmp_path / "sub"


def test_the_home_folder_is_wide_and_a_folder_in_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    assert find_root(tmp_path, tmp_path).wide
    assert find_root(Path("/"), tmp_path).wide
    assert not find_root(tmp_path / "project", tmp_path).wide


def test_a_folder_that_holds_home_folders_is_wide_and_a_repository_with_one_is_not(repository: Path) -> None:
    assert find_root(repository.parent, repository / "home" / "ana").wide
    assert not find_root(repository, repository / "home" / "ana").wide


def test_the_home_folder_is_wide_as_a_worktree_too(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "ana"))
    root = find_root(tmp_path / "ana", tmp_path / "ana")
    assert (root.path, root.wide) == (repository, True)


def test_trust_lasts_beyond_the_run(repository: Path, tmp_path: Path) -> None:
    assert not Trust(tmp_path / "home").holds(find_root(repository, None))
    Trust(tmp_path / "home").give(find_root(repository, None), NOW)
    assert Trust(tmp_path / "home").holds(find_root(repository / "src", None))


def test_another_folder_in_the_place_of_a_trusted_one_is_not_trusted(repository: Path, tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    trust.give(find_root(repository, None), NOW)
    repository.rename(tmp_path / "away")
    repository.mkdir()
    assert not trust.holds(find_root(repository, None))
    assert not trust.holds(find_root(tmp_path / "away", None))


def test_a_folder_that_was_made_again_under_the_old_name_is_not_trusted(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    (tmp_path / "folder").mkdir()
    trust.give(find_root(tmp_path / "folder", None), NOW)
    if '"generation": 0' in (tmp_path / "home" / "trust.json").read_text():
        pytest.skip("this file system can't tell one use of an inode from the next")
    for _ in range(5):  # ext4 gives the new folder the old one's inode
        (tmp_path / "folder").rmdir()
        (tmp_path / "folder").mkdir()
        assert not trust.holds(find_root(tmp_path / "folder", None))


def test_a_link_in_the_place_of_a_trusted_folder_is_not_trusted(repository: Path, tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    trust.give(find_root(repository, None), NOW)
    repository.rename(tmp_path / "away")
    (tmp_path / "evil").mkdir()
    repository.symlink_to(tmp_path / "evil")
    assert not trust.holds(find_root(repository, None))


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"/x": 1}', b"\xff\xfe"])
def test_a_broken_trust_file_is_a_clear_error_and_stays(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "trust.json").write_bytes(content)
    with pytest.raises(TrustBroken, match=r"trust\.json: .*mend or remove it"):
        Trust(tmp_path).give(find_root(tmp_path, None), NOW)
    assert (tmp_path / "trust.json").read_bytes() == content


def test_trusting_one_folder_keeps_the_others(repository: Path, tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    trust.give(find_root(repository, None), NOW)
    trust.give(find_root(tmp_path, None), NOW)
    assert set(json.loads((tmp_path / "home" / "trust.json").read_text())) == {str(repository), str(tmp_path)}


def change_settings(repository: Path) -> str:
    (repository / ".ogcode").mkdir(exist_ok=True)
    (repository / ".ogcode" / "config.toml").write_text('model = "other/model"\n')
    return ".ogcode/config.toml"


def change_claude(repository: Path) -> str:
    (repository / ".claude").mkdir()
    (repository / ".claude" / "settings.local.json").write_text("{}")
    return ".claude/settings.local.json"


def change_git(repository: Path) -> str:
    git(repository, "config", "core.sshCommand", "touch canary")
    return ".git/config"


def change_alias(repository: Path) -> str:
    git(repository, "config", "alias.st", "!touch canary")
    return ".git/config"


def change_hook(repository: Path) -> str:
    (repository / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    return ".git/hooks/pre-commit"


@pytest.mark.parametrize("change", [change_settings, change_claude, change_git, change_alias, change_hook])
def test_trust_ends_where_what_runs_in_the_folder_changes(
    repository: Path, tmp_path: Path, change: Callable[[Path], str]
) -> None:
    trust, root = Trust(tmp_path / "home"), find_root(repository, None)
    trust.give(root, NOW)
    assert trust.holds(root)
    changed = change(repository)
    assert (trust.holds(root), trust.changed(root)) == (False, (changed,))
    trust.give(root, NOW)
    assert (trust.holds(root), trust.changed(root)) == (True, ())


def test_trust_outlives_ordinary_work(repository: Path, tmp_path: Path) -> None:
    trust, root = Trust(tmp_path / "home"), find_root(repository, None)
    change_settings(repository)
    trust.give(root, NOW)
    git(repository, "remote", "add", "origin", "https://example.invalid/a.git")
    git(repository, "checkout", "-q", "-b", "feature")
    git(repository, "config", "branch.feature.remote", "origin")
    (repository / ".git" / "hooks" / "pre-push.sample").write_text("x")
    (repository / "Makefile").write_text("all:\n")
    assert trust.holds(root)


def test_each_worktree_may_have_settings_of_its_own(repository: Path, tmp_path: Path) -> None:
    trust = Trust(tmp_path / "home")
    git(repository, "worktree", "add", "-q", "../tree")
    tree = repository.parent / "tree"
    change_settings(tree)
    trust.give(find_root(repository, None), NOW)
    assert not trust.holds(find_root(tree, None))
    trust.give(find_root(tree, None), NOW)
    assert trust.holds(find_root(tree, None))
    assert trust.holds(find_root(repository, None))


def test_what_changed_while_a_folder_was_not_trusted_is_no_news(repository: Path, tmp_path: Path) -> None:
    change_hook(repository)
    assert Trust(tmp_path / "home").changed(find_root(repository, None)) == ()
