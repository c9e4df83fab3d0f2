"""Files found by a few of their letters."""

import time
from pathlib import Path

import pytest

from ogcode.tui.desks.prompt import Found
from ogcode.tui.message.file_index import FileIndex, _ranked
from ogcode.tui.message.mentions import half_typed, mentions, written


def never() -> bool:
    return False


def tree(top: Path, *names: str) -> FileIndex:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("", "utf-8")
    return FileIndex(top, tuple, "/nowhere")


def found(index: FileIndex, word: str) -> tuple[str, ...]:
    """Look until all files are known."""
    end = time.monotonic() + 20
    while not (result := index.find(word, never)).whole:
        assert time.monotonic() < end
    return result.paths


def test_what_git_ignores_is_found_only_where_its_folder_is_typed(tmp_path: Path) -> None:
    index = tree(tmp_path, "src/main.py", "build/main.o", ".git/HEAD", ".ogcode/x")
    (tmp_path / ".gitignore").write_text("build/\n", "utf-8")
    assert found(index, "main") == ("src/main.py",)
    assert found(index, "build/m") == ("build/main.o",)
    assert found(index, "build") == ("build/",)
    assert found(index, "") == ("src/", ".gitignore")
    assert found(index, ".g") == (".git/", ".gitignore")


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("main", "main.go"),
        ("screen", "tui/screen/"),
        ("memscr", "tui/screen/memory_screen.py"),
        ("ms", "tui/screen/memory_screen.py"),
        ("tui/scr/app", "tui/screen/app.py"),
        ("SCREEN.py", None),
        ("appq", None),
        ("readme", "README.md"),
        ("a+b", "docs/a+b].txt"),
        ("+b]", "docs/a+b].txt"),
    ],
)
def test_the_best_comes_first(tmp_path: Path, word: str, first: str | None) -> None:
    names = ("main.go", "cmd/domain.go", "tui/screen/memory_screen.py", "tui/screen/app.py", "README.md")
    paths = found(tree(tmp_path, *names, "docs/a+b].txt"), word)
    assert (paths[0] if paths else None) == first


def test_a_longer_word_and_a_shorter_one_are_looked_up_anew(tmp_path: Path) -> None:
    index = tree(tmp_path, "one.py", "two.py", "only.txt")
    assert [found(index, word) for word in ("on", "onl", "o", "two")] == [
        ("one.py", "only.txt"),
        ("only.txt",),
        ("one.py", "only.txt", "two.py"),
        ("two.py",),
    ]


def test_places_outside_are_listed_as_they_are_typed(tmp_path: Path) -> None:
    tree(tmp_path / "home", "notes/today.md")
    index = FileIndex(tmp_path / "home", tuple, str(tmp_path / "home"))
    assert found(index, "~/no") == ("~/notes/",)
    assert found(index, "../") == ("../home/",)
    assert found(index, f"{tmp_path}/home/notes/t") == (f"{tmp_path}/home/notes/today.md",)


def test_a_list_that_is_full_says_so_and_finds_the_rest_by_its_folder(tmp_path: Path) -> None:
    tree(tmp_path, "a/one.py", "a/two.py", "b/three.py")
    index = FileIndex(tmp_path, tuple, most=2)
    assert found(index, "one") == ("a/one.py",)
    assert index.find("three", never) == Found(
        (), left_out="only the first 2 files are searched: type the folder of another"
    )
    assert found(index, "b/t") == ("b/three.py",)


def test_a_search_that_nobody_waits_for_is_given_up(tmp_path: Path) -> None:
    index = tree(tmp_path, *(f"file{number}.py" for number in range(20)))
    assert found(index, "file1")
    assert index.find("file2", lambda: True).paths == ()


@pytest.mark.parametrize("name", ["-" * 250, "a-" * 125, "aaaa/" * 50, "ab" * 125])
def test_no_name_makes_a_search_slow(name: str) -> None:
    began = time.process_time()
    for word in ("a" * 12 + "z", "ababababababz", "--------z", "aaaa/aaaaz"):
        _ranked(word, [name] * 20, never)
    assert time.process_time() - began < 10  # exponential would be years


@pytest.mark.parametrize(
    "path", ["a.py", "my notes.txt", 'q"uote.txt', '"q" b.txt', "it's a\\b.md", 'a "b\\"', "日本 語", "a,b"]
)
def test_any_name_can_be_written_into_a_message_and_is_found_there(path: str) -> None:
    message = f"see {written(path)}and more"
    assert [word for word, _ in mentions(message)] == [path]
    typed = written(path).rstrip(" ").removesuffix('"') if written(path)[1] == '"' else written(path).rstrip(" ")
    assert half_typed(f"see {typed}") == (4, path)
