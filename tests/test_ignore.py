import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from ogcode.agent.tools.ignore import ignore_files
from ogcode.agent.tools.walk import walk

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="no git here")

TREES = 1_000 if os.environ.get("OGCODE_TORTURE") else 40
NAMES = ["a", "b", "ab", "abc", "b.c", "a b", "a ", "A", "#a", "!a", "é", "a]", "a-b", "a\\b", "a*"]
PIECES = [
    *(name.replace(" ", "\\ ") for name in NAMES),
    *(
        "*",
        "**",
        "***",
        "?",
        "a*",
        "*b",
        "a*c",
        "**b",
        "a**",
        "[ab]",
        "[!a]",
        "[^a]*",
        "[a-c]",
        "[c-a]",
        "[]a]*",
        "a[]]",
    ),
    *(
        "[[:alpha:]]",
        "[![:upper:]]*",
        "[[:nope:]]",
        "[a",
        "a\\*",
        "\\a",
        "a\\",
        "?*",
        "*?*",
        "[a/b]",
        "[\\]]*",
        "[b-]*",
    ),
]


def git(folder: Path, home: Path, *words: str) -> list[str]:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    made = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env=environ)
    return sorted(os.fsdecode(name) for name in made.stdout.split(b"\0") if name)


def pattern(chance: random.Random) -> str:
    parts = [chance.choice(PIECES) for _ in range(chance.choice([1, 1, 1, 2, 2, 3, 4]))]
    text = chance.choice(["", "", "", "/"]) + "/".join(parts) + chance.choice(["", "", "", "/", " ", "  ", "\r"])
    return chance.choice(["", "", "!"]) + text


def rules(chance: random.Random, least: int = 0) -> str:
    lines = [pattern(chance) for _ in range(chance.randrange(least, 5))]
    return "".join(f"{line}\n" for line in [*lines, *chance.sample(["", "# a", "\\!a", "\\#a", "/", "!"], 1)])


def plant(top: Path, chance: random.Random) -> None:
    """Make a tree of files with rules at every place where git looks for them."""
    for _ in range(40):
        path = top.joinpath(*(chance.choice(NAMES) for _ in range(chance.randrange(1, 5))))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        except OSError:  # a file is in the place of a folder, or the other way round
            continue
        if chance.random() < 0.2:
            path.with_name(".gitignore").write_text(rules(chance), "utf-8")
    (top / ".gitignore").write_text(chance.choice(["", "\ufeff"]) + rules(chance, 1), "utf-8")
    (top / ".git/info/exclude").write_text(rules(chance), "utf-8")


@pytest.mark.parametrize("seed", range(0, TREES, 10))
def test_what_is_left_out_of_generated_trees_is_what_git_ignores(tmp_path: Path, seed: int) -> None:
    git(tmp_path, tmp_path, "init", "-q", "top")
    pristine = tmp_path / "pristine"
    (tmp_path / "top").rename(pristine)
    for number in range(seed, seed + 10):
        chance, top, home = random.Random(number), tmp_path / f"t{number}", tmp_path / f"h{number}"
        shutil.copytree(pristine, top)
        plant(top, chance)
        (home / ".config/git").mkdir(parents=True)
        (home / ".config/git/ignore").write_text(rules(chance), "utf-8")
        wanted = git(top, home, "ls-files", "-z", "--others", "--exclude-standard")
        found = [os.fspath(path.relative_to(top)) for path in walk(top, top, ignoring=ignore_files(top, home))]
        assert sorted(found) == wanted, f"tree {number}"


def test_the_users_own_file_is_found_where_git_finds_it(tmp_path: Path) -> None:
    top, home = tmp_path / "top", tmp_path / "home"
    git(tmp_path, tmp_path, "init", "-q", "top")
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = x\n[core]\n\tpager = cat\n\texcludesFile = ~/mine # yes\n")
    (home / "mine").write_text("*.mine\n")
    (top / "a.mine").write_text("")
    (top / "b").write_text("")
    assert git(top, home, "ls-files", "-z", "--others", "--exclude-standard") == ["b"]
    assert list(walk(top, top, ignoring=ignore_files(top, home))) == [top / "b"]


def test_rules_do_not_reach_into_a_repository_within(tmp_path: Path) -> None:
    git(tmp_path, tmp_path, "init", "-q", "sub")
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("a.log", "sub/b.log"):
        (tmp_path / name).write_text("")
    assert list(walk(tmp_path, tmp_path)) == [tmp_path / ".gitignore", tmp_path / "sub/b.log"]


@pytest.mark.parametrize("line", ["*a" * 60 + "b", "**/a" * 40 + "/b", "a/**/" * 40 + "b", "[a-z]*" * 40 + "!"])
def test_a_hostile_line_takes_no_time(tmp_path: Path, line: str) -> None:
    (tmp_path / ".gitignore").write_text(f"{line}\n")
    deep = tmp_path.joinpath(*"a" * 60)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("")
    started = time.process_time()
    assert len(list(walk(tmp_path, tmp_path))) == 2
    assert time.process_time() - started < 5
