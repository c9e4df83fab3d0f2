"""The second pass through gitleaks: a small program stands for it."""

import json
import sys
from pathlib import Path

import pytest

from ogcode.agent.sensitive.gitleaks import GitleaksFailed, second_pass
from ogcode.agent.sensitive.secrets import scrub

PROGRAM = """\
#!{python} -I
import json, os, pathlib, sys
seen = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.listdir(), "text": sys.stdin.read()}}
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(seen))
{does}
"""
REPORT = [
    {"RuleID": "acme-api-token-2", "Secret": "opensesame", "Match": "say opensesame", "StartLine": 1},
    {"RuleID": "acme-door", "Secret": "opensesame now", "Match": "opensesame now", "StartLine": 2},
    {"RuleID": "acme-nothing", "Secret": ""},
]


def gitleaks(folder: Path, does: str) -> Path:
    path = folder / "gitleaks"
    path.write_text(PROGRAM.format(python=sys.executable, does=does))
    path.chmod(0o700)
    return path


def test_what_gitleaks_finds_is_replaced_by_its_kind(tmp_path: Path) -> None:
    program = gitleaks(tmp_path, f"print({json.dumps(json.dumps(REPORT))})")
    clean = second_pass("say opensesame\nopensesame now\nä", program)
    assert clean == "say [secret: acme api token]\n[secret: acme door]\nä"
    assert scrub(clean) == clean


def test_gitleaks_obeys_neither_the_repository_nor_the_environment_nor_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitleaks.toml").write_text("[allowlist]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITLEAKS_CONFIG", str(tmp_path / ".gitleaks.toml"))
    second_pass("x # gitleaks:allow", gitleaks(tmp_path, "print('[]')"))
    seen = json.loads((tmp_path / "gitleaks.json").read_text())
    assert seen["text"] == "x # gitleaks:allow"
    assert seen["folder"] == []
    assert not [name for name in seen["environment"] if name.startswith("GITLEAKS")]
    assert seen["arguments"][0] == "stdin"
    assert {"--ignore-gitleaks-allow", "--report-format=json", "--report-path=-"} < set(seen["arguments"])


def test_a_replacement_is_not_replaced_again(tmp_path: Path) -> None:
    report = json.dumps([{"RuleID": "acme", "Secret": "github token"}])
    text = "[secret: github token] is a github token"
    assert second_pass(text, gitleaks(tmp_path, f"print({report!r})")) == "[secret: github token] is a [secret: acme]"


def test_a_report_that_an_older_version_writes_to_a_file_is_read(tmp_path: Path) -> None:
    program = gitleaks(tmp_path, f"pathlib.Path('-').write_text({json.dumps(json.dumps(REPORT))})")
    assert second_pass("opensesame!", program) == "[secret: acme api token]!"


@pytest.mark.parametrize("report", ["[]", "null", '{"a": 1}', '[1, {"Secret": 2, "RuleID": "x"}]'])
def test_a_report_of_nothing_changes_nothing(tmp_path: Path, report: str) -> None:
    assert second_pass("a text", gitleaks(tmp_path, f"print({report!r})")) == "a text"


def test_without_gitleaks_the_text_is_as_it_was() -> None:
    assert second_pass("a text", None) == "a text"


@pytest.mark.parametrize(
    ("does", "seconds", "why"),
    [
        ("print('no report')", 60, "no report that can be read"),
        ("sys.exit(126)", 60, "ended with 126"),
        ("import signal; signal.pause()", 0.2, "no answer in 0.2 s"),
    ],
)
def test_a_gitleaks_that_fails_is_told_of(tmp_path: Path, does: str, seconds: float, why: str) -> None:
    with pytest.raises(GitleaksFailed, match=why):
        second_pass("a text", gitleaks(tmp_path, does), seconds=seconds)


def test_a_gitleaks_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(GitleaksFailed, match="No such file"):
        second_pass("a text", tmp_path / "gone")
