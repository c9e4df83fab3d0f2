import tomllib
from pathlib import Path

import pytest

from ogcode.agent.files.durable import Lock
from ogcode.agent.settings.config import ConfigBroken, load_config
from ogcode.agent.settings.kept import keep_rule, with_rule

SETTINGS = '# mine\nmodel = "a/b"  # the good one\nallow = [ # ours\n  "Bash(make)",\n]\n\n[memory]\nswitch = "on"\n'


def test_a_rule_is_added_and_no_comment_is_lost(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(SETTINGS)
    keep_rule(tmp_path, 'Bash(echo "a" \\*)')
    keep_rule(tmp_path, 'Bash(echo "a" \\*)')
    text = (tmp_path / "config.toml").read_text()
    assert load_config(tmp_path, None)[0].rules.allow == ('Bash(echo "a" \\*)', "Bash(make)")
    assert text.replace('"Bash(echo \\"a\\" \\\\*)", ', "") == SETTINGS


def test_the_first_rule_makes_the_settings(tmp_path: Path) -> None:
    keep_rule(tmp_path / "home", "Bash(npm test)")
    assert load_config(tmp_path / "home", None)[0].rules.allow == ("Bash(npm test)",)


def test_settings_that_are_a_link_stay_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text('model = "a/b"\n')
    (tmp_path / "config.toml").symlink_to("dotfiles.toml")
    keep_rule(tmp_path, "Edit(src/**)")
    assert (tmp_path / "config.toml").is_symlink()
    assert tomllib.loads((tmp_path / "dotfiles.toml").read_text()) == {"model": "a/b", "allow": ["Edit(src/**)"]}


@pytest.mark.parametrize(
    "text",
    [
        'text = """\nallow = [\n"""\nallow = []\n',
        '[a]\nallow = ["x"]\n',
        "allow = []\n",
        'model = "x"\r\nallow = ["y"]\r\n',
        "",
        'allow = ["é"]',
    ],
)
def test_whatever_else_stands_there_stays(text: str) -> None:
    before, added = tomllib.loads(text), with_rule(text, "Bash(\u00e9 \x7f)")
    if added is not None:
        after = tomllib.loads(added)
        assert after.pop("allow") == ["Bash(\u00e9 \x7f)", *before.pop("allow", [])]
        assert after == before
    assert added is not None or "allow" in text


@pytest.mark.parametrize("text", ["allow = 3\n", "allow = [", "[[allow]]\nx = 1\n"])
def test_settings_that_make_no_sense_are_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigBroken, match="add it to 'allow' yourself"):
        keep_rule(tmp_path, "Bash(make)")
    assert (tmp_path / "config.toml").read_text() == text


def test_two_at_once_lose_nothing(tmp_path: Path) -> None:
    keep_rule(tmp_path, "Bash(a)")
    other = Lock.take(tmp_path / "config.lock")
    with pytest.raises(ConfigBroken, match="another ogcode"):
        keep_rule(tmp_path, "Bash(b)")
    assert other is not None
    other.release()
    keep_rule(tmp_path, "Bash(b)")
    assert load_config(tmp_path, None)[0].rules.allow == ("Bash(b)", "Bash(a)")
