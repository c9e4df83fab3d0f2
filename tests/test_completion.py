import contextlib
import io
import shutil
import subprocess
from pathlib import Path

import pytest

from ogcode.tui.arguments import parser
from ogcode.tui.commands.completion import show_completion
from ogcode.tui.entry import COMMANDS

OGCODE = Path(shutil.which("ogcode") or "ogcode")


def script(shell: str, tmp_path: Path) -> Path:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        show_completion(shell)
    (tmp_path / shell).write_text(said.getvalue(), "utf-8")
    return tmp_path / shell


def offered_by_bash(tmp_path: Path, *words: str) -> list[str]:
    line = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ogcode; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", line, script("bash", tmp_path), *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["--output-f"], ["--output-format"]),
        (["-p", "--output-format", "j"], ["json"]),
        (["mem"], ["memory"]),
        (["memory", "res"], ["rescribe"]),
        (["sessions", "ex"], ["export"]),
        (["memory", "forget", "--for"], ["--forgotten", "--for-good"]),
        (["sessions", "--"], ["--help", "--json", "--trust", "--format", "--yes"]),
        (["sessions", "show", "--format", "h"], ["html"]),
        (["init", "--memory", ""], ["commit", "ignore"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["--add-dir", "a"], ["a folder"]),
        (["--json-schema", "a"], ["a folder", "a file"]),
        (["--model", ""], [""]),
    ],
)
def test_bash_offers_what_fits(tmp_path: Path, words: list[str], offered: list[str]) -> None:
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a file").touch()
    assert sorted(offered_by_bash(tmp_path, "ogcode", *words)) == sorted(offered)


def test_bash_offers_every_flag_and_every_command(tmp_path: Path) -> None:
    flags = {name for action in parser()._actions for name in action.option_strings if name.startswith("--")}
    assert set(offered_by_bash(tmp_path, "ogcode", "--")) == flags
    assert offered_by_bash(tmp_path, "ogcode", "") == [*COMMANDS]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_offers_what_fits(tmp_path: Path) -> None:
    asked = ("--output-f", "memory res", "memory undo --dry", "sessions --output-f", "sessions show --fo")
    tries = "; ".join(f"complete -C 'ogcode {each}'" for each in asked)
    line = f"source {script('fish', tmp_path)}; {tries}"
    done = subprocess.run(["fish", "--no-config", "-c", line], cwd=tmp_path, capture_output=True, text=True)
    assert [each.partition("\t")[0] for each in done.stdout.splitlines()] == [
        "--output-format",
        "rescribe",
        "--format",
    ], done.stderr


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_can_read_its_script(tmp_path: Path) -> None:
    made = script("zsh", tmp_path)
    line = f"autoload -U compinit; compinit -D; source {made}; print $+functions[_ogcode] $_comps[ogcode]"
    done = subprocess.run(["zsh", "-f", "-c", line], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 _ogcode\n", "")
