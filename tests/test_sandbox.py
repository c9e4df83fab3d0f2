import os
import subprocess
from pathlib import Path

import pytest
from boxes import PATH, failing_bubblewrap

from ogcode.agent.sandbox.bwrap import bwrap_line
from ogcode.agent.sandbox.layout import Level, SandboxRefused, Site, layout
from ogcode.agent.sandbox.tiers import probe
from ogcode.agent.settings.config import ConfigBroken, load_config


class Ground:
    """A home and a workspace in it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.top, self.private = folder / "home", folder / "home" / "ws", folder / "private"
        self.top.mkdir(parents=True)
        self.environ = {"PATH": PATH, "HOME": str(self.home)}

    def kinds(self, level: Level = "ws") -> dict[str, str]:
        """Say how each place is seen; nearer to the top first."""
        laid = layout(Site.of(self.environ, self.top), level, self.private)
        return {mount.target: mount.kind for mount in laid}

    def line(self, level: Level = "ws", *, nested: bool = False) -> list[str]:
        mounts = layout(Site.of(self.environ, self.top), level, self.private)
        network = level == "ws+net"
        return bwrap_line(Path("/usr/bin/bwrap"), mounts, ["true"], cwd=self.top, network=network, nested=nested)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_the_line_of_bubblewrap_opens_only_what_is_meant(ground: Ground) -> None:
    (ground.home / ".ssh").mkdir()
    (ground.home / ".netrc").touch()
    subprocess.run(["git", "init", "-q", ground.top], check=True)
    top, private, git = str(ground.top), str(ground.private), str(ground.top / ".git")
    assert ground.line() == [
        "/usr/bin/bwrap",
        *"--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL".split(),
        *"--disable-userns --unshare-net --ro-bind / / --dev /dev --proc /proc --tmpfs /run".split(),
        *["--bind", f"{private}/tmp", "/tmp"],
        *["--ro-bind", f"{private}/blank", str(ground.home / ".netrc")],
        *["--tmpfs", str(ground.home / ".ssh")],
        *["--bind", top, top],
        *["--bind", git, git],
        *["--ro-bind", f"{git}/config", f"{git}/config"],
        *["--ro-bind", f"{git}/hooks", f"{git}/hooks"],
        *["--ro-bind", f"{top}/.ogcode", f"{top}/.ogcode"],
        *["--ro-bind", private, private],
        *["--chdir", top, "--", "true"],
    ]


def test_a_network_is_given_only_where_the_level_says_so(ground: Ground) -> None:
    assert "--unshare-net" in ground.line("ro")
    assert "--unshare-net" not in ground.line("ws+net")


def test_nothing_of_the_workspace_is_writable_where_it_is_only_read(ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", ground.top], check=True)
    writable = [target for target, kind in ground.kinds("ro").items() if kind == "write"]
    assert writable == ["/tmp"]


def test_what_the_last_command_made_is_protected_from_the_next(ground: Ground) -> None:
    before = ground.kinds()
    subprocess.run(["git", "init", "-q", ground.top], check=True)
    (ground.home / ".aws").mkdir()
    after = ground.kinds()
    assert not {str(ground.top / ".git" / "config"), str(ground.home / ".aws")} & before.keys()
    assert after[str(ground.top / ".git" / "config")] == "read"
    assert after[str(ground.home / ".aws")] == "empty"


def test_hooks_that_are_missing_can_not_be_made(ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", "--template=", ground.top], check=True)
    assert ground.kinds()[str(ground.top / ".git" / "hooks")] == "read"


def test_a_repository_with_a_link_for_its_hooks_is_read_only_as_a_whole(ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", "--template=", ground.top], check=True)
    (ground.top / ".git" / "hooks").symlink_to(ground.home)
    assert ground.kinds()[str(ground.top / ".git")] == "read"


def test_the_repositories_of_submodules_are_protected_too(ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", ground.top], check=True)
    inner = ground.top / ".git" / "modules" / "a" / "modules" / "b"
    for folder in (inner.parent.parent, inner):
        subprocess.run(["git", "init", "-q", "--bare", folder], check=True)
    kinds = ground.kinds()
    assert (
        kinds[str(inner.parent.parent / "config")]
        == kinds[str(inner / "config")]
        == kinds[str(inner / "hooks")]
        == "read"
    )


def test_a_worktree_may_commit_but_not_point_elsewhere(ground: Ground) -> None:
    main = ground.home / "main"
    git = ["git", "-C", str(main), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", main], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    ground.top.rmdir()
    subprocess.run([*git, "worktree", "add", "-q", ground.top], check=True, stderr=subprocess.DEVNULL)
    kinds, common = ground.kinds(), main / ".git"
    own = common / "worktrees" / "ws"
    assert kinds[str(common)] == kinds[str(own)] == "write"
    guarded = (common / "config", common / "hooks", common / "worktrees", own / "commondir", ground.top / ".git")
    assert {kinds[str(place)] for place in guarded} == {"read"}
    (own / "gitdir").write_text("/elsewhere/.git\n")
    assert str(common) not in ground.kinds()


@pytest.mark.parametrize("name", [".git", ".ogcode"])
def test_a_link_where_something_must_be_protected_is_refused(ground: Ground, name: str) -> None:
    (ground.top / name).symlink_to(ground.home)
    with pytest.raises(SandboxRefused, match=f"{name} is a link"):
        ground.kinds()


@pytest.mark.parametrize(("top", "why"), [("/", "more than one"), ("home", "more than one"), (".", "more than one")])
def test_a_folder_that_holds_more_than_a_project_is_no_workspace(ground: Ground, top: str, why: str) -> None:
    sandbox = probe(ground.environ, ground.home.parent / top)
    assert (sandbox.tier, sandbox.strong) == ("none", False)
    assert why in sandbox.report()


def test_settings_that_a_command_could_make_are_no_settings(ground: Ground) -> None:
    assert "OGCODE_HOME" in probe(ground.environ | {"OGCODE_HOME": str(ground.top / "h")}, ground.top).why


def test_a_bubblewrap_that_is_refused_leads_to_the_next_tier_and_is_told(ground: Ground, tmp_path: Path) -> None:
    ground.environ["PATH"] = f"{failing_bubblewrap(tmp_path)}:{PATH}"
    sandbox = probe(ground.environ, ground.top)
    assert sandbox.tier != "bubblewrap"
    assert "uid map: Permission denied" in sandbox.why


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_bubblewrap_that_others_may_have_made_never_runs(ground: Ground, tmp_path: Path, mode: int) -> None:
    folder = failing_bubblewrap(tmp_path)
    (folder / "bwrap").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    folder.chmod(mode)
    ground.environ["PATH"] = f"{folder}:{PATH}"
    probe(ground.environ, ground.top)
    assert not (tmp_path / "ran").exists()


def test_a_bubblewrap_of_the_workspace_never_runs(ground: Ground) -> None:
    program = ground.top / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {ground.home}/ran\n")
    program.chmod(0o755)
    ground.environ["PATH"] = f"{program.parent}:{PATH}"
    probe(ground.environ, ground.top)
    assert not (ground.home / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_workspace_of_another_user_has_no_sandbox(ground: Ground) -> None:
    os.chown(ground.top, 65534, 65534)
    assert "another user" in probe(ground.environ, ground.top).why


@pytest.mark.parametrize(
    ("user", "project", "level"),
    [
        (None, None, None),
        ("ws+net", None, "ws+net"),
        ("off", None, "off"),
        (None, "off", None),
        (None, "ws+net", None),
        (None, "ro", "ro"),
        ("ws+net", "ws", "ws"),
        ("ro", "off", "ro"),
    ],
)
def test_a_project_can_only_narrow_the_sandbox(
    tmp_path: Path, user: str | None, project: str | None, level: str | None
) -> None:
    for name, value in (("user", user), ("project", project)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_text(f'sandbox = "{value}"\n' if value else "")
    config, ignored = load_config(tmp_path / "user", tmp_path / "project")
    assert (config.sandbox, ignored) == (level, ())


def test_a_level_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('sandbox = "on"\n')
    with pytest.raises(ConfigBroken, match="sandbox must be ro, ws, ws\\+net, off, not 'on'"):
        load_config(tmp_path, None)
