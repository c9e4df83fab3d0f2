import json
import os
from pathlib import Path

import pytest

from ogcode.agent.rights.permissions import Rules
from ogcode.agent.settings.config import ConfigBroken, load_config
from ogcode.tui.place import look_around, utc_now

PERMISSIONS = {
    "allow": ["Bash(npm run test:*)", "Edit(src/**)", "WebFetch(domain:example.invalid)", "mcp__db__query"],
    "deny": ["Read(./.env)", "Read(//etc/**)", "Read(~/.ssh/**)", "Bash(curl:*)"],
    "ask": ["Bash(git push:*)", "MultiEdit(docs/**)"],
}


def written(folder: Path, permissions: object, name: str = "settings.json") -> None:
    (folder / ".claude").mkdir(parents=True, exist_ok=True)
    (folder / ".claude" / name).write_text(json.dumps({"permissions": permissions, "model": "x"}))


def rules(tmp_path: Path, *, trust: bool) -> Rules:
    environ = {"HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home")}
    return look_around(tmp_path / "repo", environ, utc_now, trust=trust).config.rules


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


def test_the_users_own_permissions_are_understood(tmp_path: Path, repo: Path) -> None:
    written(tmp_path, PERMISSIONS)
    assert rules(tmp_path, trust=False) == Rules(
        ("Bash(npm run test:*)", "Edit(src/**)"),
        ("Read(./.env)", "Read(/etc/**)", f"Read({tmp_path}/.ssh/**)", "Bash(curl:*)"),
        ("Bash(git push:*)", "Edit(docs/**)"),
    )


def test_a_trusted_project_can_deny_and_ask_but_never_allow(tmp_path: Path, repo: Path) -> None:
    written(repo, {"allow": ["Bash"], "deny": ["Read(.env)"]})
    written(repo, {"allow": ["Edit"], "ask": ["Bash(make:*)"]}, "settings.local.json")
    assert rules(tmp_path, trust=False) == Rules()
    assert rules(tmp_path, trust=True) == Rules((), ("Read(.env)",), ("Bash(make:*)",))


@pytest.mark.parametrize(
    "content", ["{", '{"permissions": {"deny": "Read"}}', '{"permissions": {"deny": [3]}}', "\xff"]
)
def test_a_file_that_may_deny_something_is_not_passed_over(tmp_path: Path, repo: Path, content: str) -> None:
    written(tmp_path, {})
    (tmp_path / ".claude" / "settings.json").write_text(content, "latin-1")
    with pytest.raises(ConfigBroken, match=r"\.claude/settings\.json"):
        rules(tmp_path, trust=False)


@pytest.mark.parametrize("content", ["[]", "{}", '{"permissions": null}', '{"permissions": {"deny": []}}'])
def test_a_file_without_permissions_says_nothing(tmp_path: Path, repo: Path, content: str) -> None:
    written(tmp_path, {})
    (tmp_path / ".claude" / "settings.json").write_text(content)
    assert rules(tmp_path, trust=False) == Rules()


def test_our_own_settings_can_ask_too(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "config.toml").write_text('allow = ["Bash"]\nask = ["Bash(git push*)"]\n')
    (project / "config.toml").write_text('ask = ["Edit(Makefile)"]\ndeny = ["Bash(rm *)"]\n')
    config, ignored = load_config(tmp_path, project)
    assert config.rules == Rules(("Bash",), ("Bash(rm *)",), ("Bash(git push*)", "Edit(Makefile)"))
    assert ignored == ()
    (project / "config.toml").write_text('ask = ["not a rule)"]\n')
    with pytest.raises(ConfigBroken, match="is not a rule"):
        load_config(tmp_path, project)


def test_settings_that_are_no_file_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigBroken, match="it is no file"):
        load_config(tmp_path, None)


def test_a_rule_that_could_not_be_kept_to_is_told_with_its_file(tmp_path: Path, repo: Path) -> None:
    many = ",".join(map(str, range(65)))
    written(tmp_path, {"deny": [f"Edit({{{many}}})"]})
    with pytest.raises(ConfigBroken, match=r"settings\.json: 'Edit.*is not a rule"):
        rules(tmp_path, trust=False)
