"""Putting back what the file tools changed, through the tools, the account and the bytes that are kept."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from remembered import START

from ogcode.agent.rights.seal import Seal
from ogcode.agent.tools.files import file_tools
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.undo import kept as kept_files
from ogcode.agent.undo.back import Undo
from ogcode.agent.undo.plan import NothingToUndo, Plan

SESSION = "3f8c21aa" + "0" * 24


class Bench:
    """A workspace, its tools, and their way back; `turn` is the one that runs."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "work"
        self.top.mkdir(parents=True)
        self.turn = 1
        self.folder = self.top / ".ogcode" / "undo"
        self.undo = Undo(
            Workspace(self.top), lambda: self.folder, lambda: SESSION, Seal(folder / "home"), lambda: START
        )

        def keep(path: Path, before: bytes | None, after: bytes) -> str:
            return self.undo.keep(self.turn, path, before, after)

        self._tools = {each.name: each for each in file_tools(self.undo.workspace, max_bytes=lambda: 24_000, keep=keep)}

    async def call(self, tool: str, **arguments: object) -> str:
        each = self._tools[tool]
        return await each.function(**each.arguments(json.dumps(arguments)))

    async def write(self, path: str, content: str) -> None:
        if (self.top / path).exists():
            await self.call("read", path=path)
        await self.call("write", path=path, content=content)

    def back(self) -> dict[str, str]:
        return self.told(self.undo.do(self.undo.last()))

    def again(self) -> dict[str, str]:
        return self.told(self.undo.do(self.undo.again()))

    def told(self, plan: Plan) -> dict[str, str]:
        return {Path(step.change.path).name: step.does for step in plan.steps}

    @property
    def files(self) -> dict[str, str]:
        found = (path for path in self.top.rglob("*") if ".ogcode" not in path.parts)
        return {str(path.relative_to(self.top)): path.read_text() if path.is_file() else "/" for path in found}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_an_edit_is_put_back_byte_for_byte_and_done_again(bench: Bench) -> None:
    (bench.top / "a.py").write_bytes(before := "x = 1\r\ny = 'é'\n".encode())
    (bench.top / "a.py").chmod(0o751)
    await bench.call("edit", path="a.py", old="x = 1", new="x = 2")
    await bench.call("edit", path="a.py", old="x = 2", new="x = 3")
    after = (bench.top / "a.py").read_bytes()
    assert bench.back() == {"a.py": "put back"}
    assert ((bench.top / "a.py").read_bytes(), (bench.top / "a.py").stat().st_mode & 0o777) == (before, 0o751)
    assert bench.again() == {"a.py": "put back"}
    assert (bench.top / "a.py").read_bytes() == after


async def test_a_file_that_was_made_goes_with_the_folders_made_for_it(bench: Bench) -> None:
    (bench.top / "src").mkdir()
    await bench.write("src/new/deep/one.py", "1")
    await bench.write("src/new/two.py", "2")
    assert bench.back() == {"two.py": "removed", "one.py": "removed"}
    assert bench.files == {"src": "/"}
    bench.again()
    assert bench.files["src/new/deep/one.py"] == "1"


async def test_a_folder_in_which_somebody_has_put_a_file_stays(bench: Bench) -> None:
    await bench.write("new/one.py", "1")
    (bench.top / "new" / "theirs").write_text("mine")
    bench.back()
    assert bench.files == {"new": "/", "new/theirs": "mine"}


async def test_each_undo_takes_one_turn_and_redo_brings_them_back_in_turn(bench: Bench) -> None:
    for bench.turn in (1, 2, 3):
        await bench.write("a.py", f"turn {bench.turn}")
    seen = [bench.files["a.py"] for _ in range(2) if bench.back()]
    assert (seen, bench.back(), bench.files) == (["turn 2", "turn 1"], {"a.py": "removed"}, {})
    with pytest.raises(NothingToUndo):
        bench.undo.last()
    assert [bench.files["a.py"] for _ in range(3) if bench.again()] == ["turn 1", "turn 2", "turn 3"]
    with pytest.raises(NothingToUndo):
        bench.undo.again()


async def test_going_back_to_before_a_turn_takes_all_that_came_after(bench: Bench) -> None:
    for bench.turn in (1, 2, 3):
        await bench.write("a.py", f"turn {bench.turn}")
        await bench.write(f"{bench.turn}.py", "x")
    bench.undo.do(bench.undo.before(2))
    assert bench.files == {"a.py": "turn 1", "1.py": "x"}
    bench.again()
    assert (bench.files["a.py"], len(bench.files)) == ("turn 3", 4)


async def test_what_changes_after_an_undo_can_be_undone_and_the_undone_is_not_done_again(bench: Bench) -> None:
    await bench.write("a.py", "one")
    bench.back()
    bench.turn = 2
    await bench.write("b.py", "two")
    with pytest.raises(NothingToUndo, match="changed since"):
        bench.undo.again()
    assert bench.back() == {"b.py": "removed"}


@pytest.mark.parametrize("theirs", ["mine", ""])
async def test_a_file_that_was_changed_since_is_left_and_it_is_said_how_to_see_the_difference(
    bench: Bench, theirs: str
) -> None:
    (bench.top / "a b.py").write_text("before")
    await bench.write("a b.py", "after")
    await bench.write("other.py", "x")
    (bench.top / "a b.py").write_text(theirs)
    plan = bench.undo.do(bench.undo.last())
    [left] = [step for step in plan.steps if step.why]
    assert (bench.files, left.does) == ({"a b.py": theirs}, "left as it is")
    assert os.popen(left.see).read().splitlines()[1:2] == ["< before"]
    with pytest.raises(NothingToUndo):
        bench.undo.last()  # it does not stand in the way of the turns before
    assert [step.why for step in bench.undo.before(1).steps] == [left.why]


async def test_a_file_that_was_changed_between_two_edits_is_left(bench: Bench) -> None:
    (bench.top / "a.py").write_text("one\n")
    await bench.call("edit", path="a.py", old="one", new="two")
    (bench.top / "a.py").write_text("two\nmine\n")
    await bench.call("edit", path="a.py", old="two", new="three")
    assert (bench.back(), bench.files) == ({"a.py": "left as it is"}, {"a.py": "three\nmine\n"})


async def test_a_file_that_was_deleted_or_moved_since_is_made_again_with_its_mode(bench: Bench) -> None:
    (bench.top / "src").mkdir()
    (bench.top / "src" / "run").write_text("one")
    (bench.top / "src" / "run").chmod(0o750)
    await bench.write("src/run", "two")
    (bench.top / "src" / "run").rename(bench.top / "moved")
    (bench.top / "src").rmdir()
    assert bench.back() == {"run": "made again"}
    assert ((bench.top / "src" / "run").stat().st_mode & 0o777, bench.files["src/run"]) == (0o750, "one")
    assert (bench.again(), bench.files) == ({"run": "removed"}, {"moved": "two"})


async def test_a_file_that_was_made_and_deleted_since_is_no_trouble(bench: Bench) -> None:
    await bench.write("a.py", "one")
    (bench.top / "a.py").unlink()
    assert (bench.back(), bench.files) == ({"a.py": "already so"}, {})


async def test_nothing_is_put_back_through_a_link_or_over_a_folder(bench: Bench, tmp_path: Path) -> None:
    (bench.top / "sub").mkdir()
    await bench.write("sub/a.py", "one")
    await bench.write("b.py", "one")
    (bench.top / "sub").rename(tmp_path / "sub")
    (bench.top / "sub").symlink_to(tmp_path / "sub")
    (bench.top / "b.py").unlink()
    (bench.top / "b.py").mkdir()
    plan = bench.undo.do(bench.undo.last())
    assert [bool(step.why) for step in plan.steps] == [True, True]
    assert ((tmp_path / "sub" / "a.py").read_text(), (bench.top / "b.py").is_dir()) == ("one", True)


async def test_an_account_that_somebody_else_wrote_does_nothing(bench: Bench) -> None:
    (bench.top / "a.py").write_text("theirs")
    await bench.write("b.py", "x")
    account = bench.folder / f"{SESSION}.jsonl"
    [line] = account.read_text().splitlines()
    forged = json.loads(line)
    forged["row"] = forged["row"].replace("b.py", "a.py")
    account.write_text(json.dumps(forged) + "\n{torn\n[]\n" + json.dumps({"row": "{}", "seal": ""}) + "\n")
    with pytest.raises(NothingToUndo):
        bench.undo.last()


async def test_an_account_of_another_session_does_nothing(bench: Bench) -> None:
    await bench.write("b.py", "x")
    (bench.folder / f"{SESSION}.jsonl").rename(bench.folder / "other.jsonl")
    with pytest.raises(NothingToUndo):
        replace(bench.undo, session=lambda: "other").last()


async def test_bytes_that_were_spoiled_or_cleaned_away_are_not_put_back(bench: Bench) -> None:
    for name in ("a.py", "b.py"):
        (bench.top / name).write_text(f"before {name}")
        await bench.write(name, "after")
    for name, harm in (("a.py", Path.unlink), ("b.py", spoil)):
        harm(bench.folder / kept_files.digest(f"before {name}".encode()))
    plan = bench.undo.do(bench.undo.last())
    assert {step.why.split(" (")[0].split(":")[0] for step in plan.steps} == {
        "what it held is kept no more",
        "what it held was spoiled",
    }
    assert bench.files == {"a.py": "after", "b.py": "after"}


def spoil(path: Path) -> None:
    path.write_text("other")


async def test_the_store_holds_what_was_touched_once_and_is_out_of_sight_of_git(bench: Bench) -> None:
    (bench.top / "untouched").write_bytes(bytes(100_000))
    (bench.top / "a.py").write_text("one")
    for text in ("two", "one", "two"):
        await bench.write("a.py", text)
    stored = [path for path in bench.folder.iterdir() if len(path.name) == 64]
    assert sorted(path.read_text() for path in stored) == ["one", "two"]
    assert (bench.folder / ".gitignore").read_text() == "*\n"


async def test_an_edit_whose_bytes_can_not_be_kept_is_not_made(bench: Bench, tmp_path: Path) -> None:
    (bench.top / "a.py").write_text("one")
    (bench.top / ".ogcode").mkdir()
    bench.folder.symlink_to(tmp_path)
    with pytest.raises(Exception, match="is a link"):
        await bench.write("a.py", "two")
    assert (bench.files["a.py"], [path.name for path in tmp_path.iterdir() if path.is_file()]) == ("one", [])


def test_the_oldest_goes_where_there_is_too_much_and_what_is_used_counts_as_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_files, "MOST_FILES", 10)
    names = [kept_files.keep(tmp_path, b"%d" % number) for number in range(10)]
    for age, name in enumerate(names):
        os.utime(tmp_path / name, (1_000_000 + age, 1_000_000 + age))
    kept_files.keep(tmp_path, b"0")
    kept_files.keep(tmp_path, b"new")
    left = {path.name for path in tmp_path.iterdir() if len(path.name) == 64}
    assert ({names[0], kept_files.digest(b"new")} <= left, len(left), names[1] in left) == (True, 9, False)
    with pytest.raises(kept_files.Gone, match="keeps the last 256 MB"):
        kept_files.kept(tmp_path, names[1])


async def test_what_a_kill_left_beside_a_file_is_removed_at_the_next_start_unless_it_may_be_somebody_elses(
    bench: Bench,
) -> None:
    (bench.top / "a.py").write_text("one")
    await bench.write("a.py", "two")
    [entry] = bench.undo.history().changes
    begun, back = bench.top / f".ogcode-{entry.id}.tmp", bench.top / f".ogcode-{entry.id}-back.tmp"
    begun.write_text("one")  # it was swapped out and not removed yet
    back.write_text("on")  # the beginning of what was to be put back
    bench.undo.sweep()
    assert (begun.exists(), back.exists()) == (False, False)
    begun.write_text("mine")
    bench.undo.sweep()
    assert begun.read_text() == "mine"
    (bench.top / "a.py").write_text("one")  # the change never came to be: it is the beginning of that
    bench.undo.sweep()
    assert bench.files == {"a.py": "one"}
