import json
import os
import shutil
import time
from pathlib import Path

import pytest

from ogcode.agent.tool import ToolError
from ogcode.agent.tools.search import search_tools
from ogcode.agent.tools.walk import fits
from ogcode.agent.tools.workspace import Workspace

RIPGREP = shutil.which("rg")
PROGRAMS = [
    pytest.param(None, id="python"),
    pytest.param(Path(RIPGREP or ""), id="ripgrep", marks=pytest.mark.skipif(not RIPGREP, reason="no ripgrep here")),
]


class Search:
    def __init__(self, top: Path, ripgrep: Path | None = None, seconds: float = 20) -> None:
        self.top = top
        made = search_tools(Workspace(top), ripgrep=ripgrep, max_bytes=lambda: 12_000, seconds=seconds)
        self.tools = {tool.name: tool for tool in made}

    async def call(self, name: str, **arguments: object) -> str:
        return await self.tools[name].function(**self.tools[name].arguments(json.dumps(arguments)))


def put(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(params=PROGRAMS)
def search(request: pytest.FixtureRequest, tmp_path: Path) -> Search:
    top = tmp_path / "work"
    top.mkdir()
    return Search(top, request.param)


TREE = {
    "b.py": "import os\nTODO one\n",
    "a/x.py": "TODO two\n",
    "a/x.txt": "TODO three\n",
    ".github/ci.yml": "TODO four\n",
    ".git/config": "TODO hidden\n",
    ".ogcode/memory/n.md": "TODO hidden\n",
    "build/out.py": "TODO ignored\n",
    "a/gen.py": "TODO ignored\n",
    ".gitignore": "build/\n",
    "a/.gitignore": "gen.py\n",
}


async def test_lines_are_found_by_path_without_ignored_files(search: Search) -> None:
    put(search.top, TREE)
    assert await search.call("grep", pattern="TODO") == (
        ".github/ci.yml\n  1: TODO four\na/x.py\n  1: TODO two\na/x.txt\n  1: TODO three\nb.py\n  2: TODO one"
    )


@pytest.mark.parametrize(
    ("path", "glob", "found"),
    [
        ("", "*.py", ["a/x.py", "b.py"]),
        ("a", "", ["a/x.py", "a/x.txt"]),
        ("a", "*.{txt,md}", ["a/x.txt"]),
        ("", "a/**", ["a/x.py", "a/x.txt"]),
        ("", "/b.py", ["b.py"]),
        ("b.py", "", ["b.py"]),
        ("build", "", ["build/out.py"]),
    ],
)
async def test_a_search_is_narrowed_by_path_and_glob(search: Search, path: str, glob: str, found: list[str]) -> None:
    put(search.top, TREE)
    said = await search.call("grep", pattern="TODO", path=path, glob=glob)
    assert [line for line in said.split("\n") if not line.startswith("  ")] == found


async def test_nothing_found_is_said(search: Search) -> None:
    put(search.top, {"a": "x"})
    assert await search.call("grep", pattern="none") == "no matches"


async def test_a_broken_pattern_is_the_models_error(search: Search) -> None:
    put(search.top, {"a": "x"})
    with pytest.raises(ToolError, match="the pattern can't be used"):
        await search.call("grep", pattern="(")


@pytest.mark.parametrize("pattern", ["--pre=./x.sh", "-x;touch canary", "--", "-f/etc/passwd"])
async def test_a_pattern_is_never_an_option(search: Search, pattern: str) -> None:
    put(search.top, {"a.txt": f"has {pattern} in it\n", "x.sh": "#!/bin/sh\ntouch canary\n"})
    (search.top / "x.sh").chmod(0o755)
    assert f"has {pattern}" in await search.call("grep", pattern=pattern)
    assert "no files fit" in await search.call("glob", pattern=pattern)
    assert not (search.top / "canary").exists()


async def test_many_matches_are_bounded_and_counted(search: Search) -> None:
    put(search.top, {f"f{n}": "match\n" * 100 for n in range(10)})
    said = await search.call("grep", pattern="match")
    assert said.count("  ") == 200
    assert said.endswith("[800 more matches, 10 files in all; narrow with path, glob or pattern]")
    put(search.top, {"wide": ("match" + "y" * 250 + "\n") * 100})
    assert len((await search.call("grep", pattern="match", path="wide")).encode()) < 12_200


async def test_a_long_line_is_cut_and_a_huge_one_does_no_harm(search: Search) -> None:
    put(search.top, {"a": "match" + "x" * 1_000 + "\n", "b": "match" + "x" * 5_000_000})
    said = await search.call("grep", pattern="match")
    assert "… [705 more]" in said
    assert len(said) < 600


async def test_binary_files_and_links_are_left_out(search: Search) -> None:
    put(search.top.parent, {"outside/secret": "match\n"})
    put(search.top, {"a": "match\n"})
    (search.top / "blob").write_bytes(b"match\0\n" * 10)
    (search.top / "loop").symlink_to(".")
    (search.top / "out").symlink_to(search.top.parent / "outside")
    assert await search.call("grep", pattern="match") == "a\n  1: match"
    assert await search.call("glob", pattern="**/secret") == "no files fit **/secret"
    for name in ("grep", "glob"):
        with pytest.raises(ToolError, match="outside the workspace"):
            await search.call(name, pattern="x", path="out")


async def test_names_with_odd_characters_are_found(search: Search) -> None:
    put(search.top, {"-rf": "match\n", "a b:c": "match\n", "ü[/x]": "match\n", "b\x07l": "match\n"})
    said = await search.call("grep", pattern="match")
    assert [line for line in said.split("\n") if not line.startswith(" ")] == ["-rf", "a b:c", "b\ufffdl", "ü[/x]"]


async def test_a_pattern_that_never_ends_is_stopped(tmp_path: Path) -> None:
    put(tmp_path, {"a": "fine aaa!\n", "b": "a" * 60 + "!\n"})
    said = await Search(tmp_path, seconds=1).call("grep", pattern="(a+)+$|fine")
    assert "fine aaa!" in said
    assert "took too long" in said


async def test_the_fallback_does_not_import_from_the_workspace(tmp_path: Path) -> None:
    put(tmp_path, {"re.py": "open('canary','w')", "ogcode/__init__.py": "open('canary','w')", "a": "match\n"})
    assert await Search(tmp_path).call("grep", pattern="match", path="a") == "a\n  1: match"
    assert not (tmp_path / "canary").exists()


async def test_files_are_listed_newest_first(tmp_path: Path) -> None:
    put(tmp_path, TREE)
    for age, name in enumerate(("a/x.py", "b.py")):
        os.utime(tmp_path / name, (1_000 - age, 1_000 - age))
    search = Search(tmp_path)
    assert await search.call("glob", pattern="**/*.py") == "a/x.py\nb.py"
    assert await search.call("glob", pattern="*.txt") == "a/x.txt"
    assert await search.call("glob", pattern="*.py", path="a") == "a/x.py"


async def test_many_files_are_bounded_and_counted(tmp_path: Path) -> None:
    put(tmp_path, {f"f{n}.py": "" for n in range(300)})
    said = await Search(tmp_path).call("glob", pattern="*.py")
    assert said.count("\n") == 200
    assert said.endswith("[100 more files; narrow with path or a longer pattern]")


@pytest.mark.parametrize(
    ("path", "pattern", "fit"),
    [
        ("a/b.py", "*.py", True),
        ("a/b.py", "/*.py", False),
        ("a/b.py", "a/*", True),
        ("a/b/c.py", "a/*", False),
        ("a/b/c.py", "a/**/*.py", True),
        ("a/c.py", "a/**/*.py", True),
        ("a/b/c.py", "**/c.py", True),
        ("c.py", "**/c.py", True),
        ("a", "a/**", False),
        ("x.ts", "*.{js,ts}", True),
        ("x.ts", "*.{js,jsx}", False),
        ("a1", "a[0-9]", True),
        ("aB", "ab", False),
        (".env", "*", True),
        ("a" * 200, "*a" * 40 + "b", False),
        ("/".join("a" * 60), "**/a" * 30 + "/b", False),
    ],
)
def test_patterns_fit_paths(path: str, pattern: str, fit: bool) -> None:
    started = time.process_time()
    assert fits(tuple(path.split("/")), pattern) == fit
    assert time.process_time() - started < 1


@pytest.mark.skipif(not RIPGREP, reason="no ripgrep here")
@pytest.mark.parametrize(
    "pattern", ["match", r"^\s*\w+$", "(?i)MATCH", r"match(?=é)", "[à-ü]", r"\bmatch\b.*$", "tch\r?$"]
)
async def test_both_programs_give_the_same_answers(tmp_path: Path, pattern: str) -> None:
    put(tmp_path, TREE | {"odd.txt": "match\r\n  match é matché\n\tMatch\n", "-": "match\n", "a b/c[d]": "no\nmatch"})
    (tmp_path / "wide").write_bytes("match é\n".encode("utf-16"))
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfmatch\n")
    (tmp_path / "blob").write_bytes(b"match\0\nmatch\n")
    (tmp_path / "a/.gitignore").write_text("gen.py\n*.t[[:alpha:]]t\n!**/x.txt\nb/**\n")
    both = [await Search(tmp_path, program).call("grep", pattern=pattern) for program in (None, Path(RIPGREP or ""))]
    assert both[0] == both[1]


async def test_files_that_git_ignores_are_found_where_nothing_else_fits(tmp_path: Path) -> None:
    put(tmp_path, TREE)
    search = Search(tmp_path)
    assert await search.call("glob", pattern="build/*.py") == "build/out.py\n[git ignores these; no others fit]"
    assert await search.call("glob", pattern="**/.git/config") == "no files fit **/.git/config"


async def test_a_large_file_is_searched_only_where_it_is_named(search: Search) -> None:
    put(search.top, {"large": f"{'x' * 999}\n" * 5_100 + "match\n", "small": "match\n"})
    assert await search.call("grep", pattern="match") == "small\n  1: match"
    assert await search.call("grep", pattern="match", path="large") == "large\n  5101: match"


async def test_more_files_than_a_program_takes_at_once_are_all_searched(search: Search) -> None:
    put(search.top, {f"{'n' * 200}{number}": "match\n" for number in range(700)})
    assert "700 files in all" in await search.call("grep", pattern="match")


async def test_braces_that_stand_for_too_much_are_refused_and_not_half_looked_at(search: Search) -> None:
    put(search.top, TREE)
    many = "{" + ",".join(map(str, range(64))) + ",b}.py"
    for name, given in (("glob", {"pattern": many}), ("grep", {"pattern": "TODO", "glob": many})):
        with pytest.raises(ToolError, match="use fewer at a time"):
            await search.call(name, **given)
