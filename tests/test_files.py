import asyncio
import contextlib
import json
import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ogcode.agent.tool import Tool, ToolError
from ogcode.agent.tools.files import file_tools
from ogcode.agent.tools.preview import preview
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import ToolCall


class Files:
    """The three tools over one folder, called as the loop calls them."""

    def __init__(self, top: Path, max_bytes: int = 24_000) -> None:
        self.top = top
        self.workspace = Workspace(top)
        self.tools: dict[str, Tool] = {
            each.name: each for each in file_tools(self.workspace, max_bytes=lambda: max_bytes)
        }

    async def call(self, name: str, **arguments: object) -> str:
        tool = self.tools[name]
        return await tool.function(**tool.arguments(json.dumps(arguments)))

    def put(self, name: str, body: str | bytes) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body.encode() if isinstance(body, str) else body)
        return path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    top = tmp_path / "work"
    top.mkdir()
    return Files(top)


async def refused(files: Files, name: str, **arguments: object) -> str:
    with pytest.raises(ToolError) as caught:
        await files.call(name, **arguments)
    return str(caught.value)


@pytest.mark.parametrize("path", ["../x", "src/../../x", "/etc/passwd", "link/passwd", "../work-evil/x", "dangling"])
async def test_what_lies_outside_is_refused(files: Files, path: str) -> None:
    (files.top / "link").symlink_to("/etc")
    (files.top / "dangling").symlink_to(files.top.parent / "new")
    (files.top.parent / "work-evil").mkdir()
    (files.top.parent / "work-evil" / "x").write_text("secret")
    for name, more in (("read", {}), ("write", {"content": "x"}), ("edit", {"old": "a", "new": "b"})):
        assert "outside the workspace" in await refused(files, name, path=path, **more)
    assert not (files.top.parent / "new").exists()


@pytest.mark.parametrize("path", ["~/.ssh/id", "file:///etc/passwd", "~root"])
async def test_home_and_urls_are_not_expanded(files: Files, path: str) -> None:
    assert "not expanded" in await refused(files, "write", path=path, content="x")
    assert list(files.top.iterdir()) == []


async def test_a_pipe_and_a_device_are_refused(files: Files) -> None:
    os.mkfifo(files.top / "pipe")
    assert "pipe" in await refused(files, "read", path="pipe")
    assert "outside" in await refused(files, "read", path="/dev/zero")


@pytest.mark.parametrize(
    "path", [".git/config", "sub/.GIT/hooks/x", ".ogcode/memory/n.md", "a/../.ogCode/x", "g/hooks/x"]
)
async def test_files_of_git_and_ogcode_are_not_written(files: Files, path: str) -> None:
    (files.top / ".git").mkdir()
    (files.top / "g").symlink_to(".git")
    assert "protected" in await refused(files, "write", path=path, content="x")
    assert list((files.top / ".git").iterdir()) == []


async def test_a_protected_file_is_not_written(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, (tmp_path / "keys",))
    with pytest.raises(ToolError, match="protected"):
        workspace.writable("keys/one")


async def test_a_link_loop_is_an_error_and_not_a_crash(files: Files) -> None:
    (files.top / "loop").symlink_to("loop")
    await refused(files, "read", path="loop")
    await refused(files, "read", path="a" * 300)
    await refused(files, "read", path="nul\0")


async def test_lines_are_numbered_with_their_tabs(files: Files) -> None:
    files.put("Makefile", "all:\n\tgo build\n")
    assert await files.call("read", path="Makefile") == "1| all:\n2| \tgo build"


async def test_a_part_says_how_to_go_on(files: Files) -> None:
    files.put("a", "".join(f"line {n}\n" for n in range(1, 301)))
    shown = await files.call("read", path="a", start_line=10, lines=2)
    assert shown == "10| line 10\n11| line 11\n[lines 10-11 of 300; go on with start_line=12]"
    assert await files.call("read", path="a", start_line=300) == "300| line 300"
    assert "only 300 lines" in await refused(files, "read", path="a", start_line=301)


async def test_a_long_file_is_bounded_by_lines_and_by_bytes(files: Files) -> None:
    files.put("many", "x\n" * 5_000)
    assert "[lines 1-2000 of 5000; go on with start_line=2001]" in await files.call("read", path="many")
    files.put("wide", ("y" * 500 + "\n") * 1_000)
    assert len((await files.call("read", path="wide")).encode()) < 24_200
    small = Files(files.top, max_bytes=2_000)
    assert len((await small.call("read", path="wide")).encode()) < 2_200


async def test_a_line_of_5_megabytes_is_cut(files: Files) -> None:
    files.put("one", "z" * 5_000_000)
    shown = await files.call("read", path="one")
    assert "4,998,000 more characters" in shown
    assert len(shown) < 2_200


@pytest.mark.parametrize(
    ("body", "kind"), [(b"\x89PNG\r\n\x1a\n\0\0", "PNG"), (b"\x7fELF\0\0", "program"), (bytes(range(256)), "binary")]
)
async def test_what_is_not_text_is_refused_with_kind_and_size(files: Files, body: bytes, kind: str) -> None:
    files.put("blob", body)
    message = await refused(files, "read", path="blob")
    assert kind in message
    assert f"{len(body)} bytes" in message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
async def test_encodings_are_read(files: Files, encoding: str) -> None:
    files.put("a", "café\r\nend\r\n".encode(encoding))
    assert await files.call("read", path="a") == "1| café\n2| end"


async def test_a_missing_file_gives_near_names(files: Files) -> None:
    files.put("src/parser.py", "")
    files.put("lib/other.py", "")
    assert "src/parser.py" in await refused(files, "read", path="src/parsre.py")
    assert "lib/other.py" in await refused(files, "read", path="src/other.py")


async def test_a_folder_is_listed(files: Files) -> None:
    files.put("src/a.py", "")
    files.put("b", "")
    assert await files.call("read", path=".") == "b\nsrc/"


async def test_a_huge_file_is_refused_with_a_way_on(files: Files) -> None:
    os.truncate(files.put("big", ""), 5_000_000_000)
    assert "sed -n" in await refused(files, "read", path="big")


async def test_write_makes_folders_and_says_so_shortly(files: Files) -> None:
    assert await files.call("write", path="a/b/c.py", content="x\ny\n") == "created a/b/c.py: 2 lines"
    assert (files.top / "a/b/c.py").read_text() == "x\ny\n"
    assert [each.name for each in (files.top / "a/b").iterdir()] == ["c.py"]


async def test_an_existing_file_must_be_read_before_it_is_written_over(files: Files) -> None:
    path = files.put("a", "old\n")
    assert "read it first" in await refused(files, "write", path="a", content="new\n")
    await files.call("read", path="a")
    path.write_text("changed by someone\n")
    assert "changed on disk" in await refused(files, "write", path="a", content="new\n")
    await files.call("read", path="a")
    assert await files.call("write", path="a", content="new\n") == "wrote a: 1 line"
    assert await files.call("write", path="a", content="newer\n") == "wrote a: 1 line"
    assert path.read_text() == "newer\n"


async def test_write_keeps_mode_encoding_and_line_endings(files: Files) -> None:
    path = files.put("a.bat", b"\xef\xbb\xbfold\r\n")
    path.chmod(0o755)
    await files.call("read", path="a.bat")
    await files.call("write", path="a.bat", content="new\nlines\n")
    assert path.read_bytes() == b"\xef\xbb\xbfnew\r\nlines\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


async def test_a_lone_surrogate_is_refused(files: Files) -> None:
    assert "U+D800" in await refused(files, "write", path="a", content="\ud800")
    assert list(files.top.iterdir()) == []


async def test_nothing_is_left_behind_where_writing_fails(files: Files) -> None:
    path = files.put("a", "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        message = await refused(files, "edit", path="a", old="old", new="x" * 5_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "a can't be written: File too large" in message
    assert path.read_text() == "old"
    assert list(files.top.iterdir()) == [path]


@pytest.mark.parametrize(
    ("before", "old", "new", "after", "said"),
    [
        (b"a\nb\nc\n", "b", "B", b"a\nB\nc\n", "edited f: 1 line replaced at 2"),
        (b"a\nb\nc\n", "b\nc", "B", b"a\nB\n", "2 lines replaced at 2"),
        (b"x = 1", "1", r"\1 $& \g<0>", rb"x = \1 $& \g<0>", "at 1"),
        (b"a\r\nb\r\nc", "a\nb", "A\nB\nB2", b"A\r\nB\r\nB2\r\nc", "line endings"),
        (b"a\r\nb\r\nc", "b", "B\nB2", b"a\r\nB\r\nB2\r\nc", "at 2"),
        (b"\xef\xbb\xbfa\r\nb\r\nend", "b\n", "B\n", b"\xef\xbb\xbfa\r\nB\r\nend", "line endings"),
        (b"a\nb\r\nc\nd\r\n", "b\nc", "b\nC", b"a\nb\r\nC\nd\r\n", "line endings"),
        (b"a\rb\rc\r", "a\nb", "A\nB", b"A\rB\rc\r", "line endings"),
        (b"a  \nb\t\nc\n", "a\nb\n", "a\nB\n", b"a  \nB\nc\n", "trailing space"),
        (b"a\nb\n", "a  \nb", "A\nb", b"A\nb\n", "trailing space"),
        (b"a\nb", "a\nb\n", "a\nB\n", b"a\nB", "final line ending"),
        (b"foobar\nb", "foo\n", "bar\n", None, ""),
        (
            b"all:\n\tcc x\n\tcc y\n",
            "    cc x\n    cc y",
            "    cc x\n    cc z",
            b"all:\n\tcc x\n\tcc z\n",
            "indentation",
        ),
        (
            b"func f() {\n\tif a {\n\t\tb()\n\t}\n}\n",
            "    if a {\n        b()\n    }",
            "    if a {\n        for {\n            b()\n        }\n    }",
            b"func f() {\n\tif a {\n\t\tfor {\n\t\t\tb()\n\t\t}\n\t}\n}\n",
            "indentation",
        ),
        (
            b"\tx := 1\n",
            "    x := 1",
            "    if y {\n        x := 1\n    }",
            b"\tif y {\n\t\tx := 1\n\t}\n",
            "indentation",
        ),
        (
            b"class A:\n    def f(self):\n        return 1\n",
            "def f(self):\n    return 1\n",
            "def f(self):\n    if x:\n        return 2\n    return 1\n",
            b"class A:\n    def f(self):\n        if x:\n            return 2\n        return 1\n",
            "indentation",
        ),
        (
            b"if a:\n  b()\n  c()\n",
            "if a:\n\tb()\n\tc()",
            "if a:\n\tb()\n\td()",
            b"if a:\n  b()\n  d()\n",
            "indentation",
        ),
        (
            "say “hi” and “bye”\n".encode(),
            'say "hi" and "bye"',
            'say "hi" and "ciao"',
            "say “hi” and “ciao”\n".encode(),
            "typography",
        ),
        ("a – b\u00a0c…\n".encode(), "a - b c...", "a - b d...", "a – b\u00a0d…\n".encode(), "typography"),
        ("\t“x”\n\ty\n".encode(), '  "x"\n  y', '  "x"\n  z', "\t“x”\n\tz\n".encode(), "typography and indentation"),
        (b"a\nb\nc\n", "2| b\n3| c", "2| b\n3| C", b"a\nb\nC\n", "line numbers"),
        (b"1| a\n2| b\n", "1| a", "1| A", b"1| A\n2| b\n", "edited f: 1 line replaced at 1"),
        ("x\u200by\n".encode(), "x<U+200B>y", "x<U+200B>z", "x\u200bz\n".encode(), "shown characters"),
        ("é\n".encode("latin-1"), "é", "è", "è\n".encode("latin-1"), "at 1"),
        (b"\xff\xfea\0\n\0b\0\n\0", "b", "é", b"\xff\xfea\0\n\0\xe9\0\n\0", "at 2"),
    ],
)
async def test_an_edit_changes_what_it_names_and_no_other_byte(
    files: Files, before: bytes, old: str, new: str, after: bytes | None, said: str
) -> None:
    path = files.put("f", before)
    if after is None:
        await refused(files, "edit", path="f", old=old, new=new)
        after = before
    else:
        assert said in await files.call("edit", path="f", old=old, new=new)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    ("before", "old", "new", "hint"),
    [
        ("x\ny\nx\n", "x", "z", "2 times: at lines 1, 3"),
        ("aaa\n", "aa", "b", "2 times"),
        ("\tx\n  x\n", "    x", "    y", "2 times when indentation is overlooked"),
        ("x\n", "x", "x", "nothing would change"),
        ("x\n", "", "y", "old is empty"),
        ("x\n", "q", "z", "read the file first"),
        ("a\nz = 2\n", "z = 1", "z = 2", "already holds the new text, at line 2"),
        ("  a\n    b\n", "a\nb\n", "a\nb\n\nc\n", "nearest"),
    ],
)
async def test_an_edit_that_is_not_clear_is_refused_with_what_to_do(
    files: Files, before: str, old: str, new: str, hint: str
) -> None:
    path = files.put("f", before)
    assert hint in await refused(files, "edit", path="f", old=old, new=new)
    assert path.read_text() == before


async def test_a_near_miss_shows_the_region_with_line_numbers(files: Files) -> None:
    files.put("f", "".join(f"line {n}\n" for n in range(1, 50)) + "def total(x):\n    return x + 1\n")
    await files.call("read", path="f")
    message = await refused(files, "edit", path="f", old="def total(x):\n    return x + 2", new="y")
    assert "  50| def total(x):" in message
    assert "- |     return x + 2" in message
    assert "+ 51|     return x + 1" in message
    assert "line 3" not in message
    assert "51| " in await refused(files, "edit", path="f", old="    retrun x + 1", new="y")


async def test_a_file_of_which_only_a_part_was_read_is_not_written_over(files: Files) -> None:
    path = files.put("f", "a\nb\nc\n")
    await files.call("read", path="f", lines=1)
    await files.call("edit", path="f", old="a", new="A")
    assert "2 lines of f were not read yet" in await refused(files, "write", path="f", content="x\n")
    await files.call("read", path="f", start_line=2)
    await files.call("write", path="f", content="x\n")
    assert path.read_text() == "x\n"


async def test_a_small_file_is_shown_to_whoever_edits_it_unseen(files: Files) -> None:
    files.put("f", "a = 1\n")
    assert "You have not read it yet; this is what it holds:\n1| a = 1" in await refused(
        files, "edit", path="f", old="b", new="c"
    )
    assert "You have not read it" not in await refused(files, "edit", path="f", old="b", new="c")


async def test_who_fails_twice_to_edit_a_small_file_is_offered_to_write_it_whole(files: Files) -> None:
    path = files.put("f", "a = 1\nb = 2\n")
    await files.call("read", path="f")
    assert "write the whole file" not in await refused(files, "edit", path="f", old="c = 3", new="c = 4")
    told = await refused(files, "edit", path="f", old="c = 5", new="c = 4")
    assert told.endswith("Or write the whole file with write: it has 2 lines.")
    await files.call("write", path="f", content="a = 1\nc = 4\n")
    assert path.read_text() == "a = 1\nc = 4\n"
    assert "write the whole file" not in await refused(files, "edit", path="f", old="d = 3", new="d = 4")


async def test_what_is_offered_to_be_written_whole_is_shown_whole(files: Files) -> None:
    path = files.put("f", "".join(f"line {number}\n" for number in range(1, 141)))
    await files.call("read", path="f", lines=10)
    await refused(files, "edit", path="f", old="nothing", new="something")
    assert "140| line 140" in await refused(files, "edit", path="f", old="nothing", new="something")
    await files.call("write", path="f", content="short\n")
    assert path.read_text() == "short\n"


@pytest.mark.parametrize("text", ["x\n" * 151, "x" * 6_001, ""])
async def test_a_large_or_an_empty_file_is_not_offered_to_be_written_whole(files: Files, text: str) -> None:
    files.put("f", text)
    await files.call("read", path="f")
    for _ in range(3):
        assert "write the whole file" not in await refused(files, "edit", path="f", old="nothing", new="something")


async def test_a_success_between_two_failures_begins_a_new_count(files: Files) -> None:
    files.put("f", "a\nb\n")
    await refused(files, "edit", path="f", old="nothing", new="something")
    await files.call("edit", path="f", old="a", new="A")
    assert "write the whole file" not in await refused(files, "edit", path="f", old="nothing", new="something")


async def test_writing_what_is_there_already_is_refused_with_what_to_do(files: Files) -> None:
    files.put("f", "a\n")
    await files.call("read", path="f")
    assert "nothing would change; go on with the next step" in await refused(files, "write", path="f", content="a\n")


async def test_all_replaces_every_place(files: Files) -> None:
    path = files.put("f", "a\r\nb\r\na\r\nb\r\n")
    assert "in 2 places, first at 1" in await files.call("edit", path="f", old="a\nb", new="c", all=True)
    assert path.read_bytes() == b"c\r\nc\r\n"
    assert "in 2 places" in await files.call("edit", path="f", old="c", new="cc", all=True)


async def test_a_character_that_the_encoding_lacks_is_refused(files: Files) -> None:
    path = files.put("f", "café\n".encode("latin-1"))
    assert "U+1F642" in await refused(files, "edit", path="f", old="caf", new="🙂")
    assert path.read_bytes() == "café\n".encode("latin-1")


async def test_a_file_changed_by_a_formatter_is_edited_where_the_match_is_exact(files: Files) -> None:
    path = files.put("f", "a = 1\nb = 2\nc = 3\n")
    await files.call("read", path="f")
    for number, name in enumerate("abc", 1):
        said = await files.call("edit", path="f", old=f"{name} = {number}", new=f"{name} = {number * 10}")
        assert ("had changed on disk" in said) == (number > 1)
        path.write_text(path.read_text() + "# formatted\n")
    assert path.read_text().startswith("a = 10\nb = 20\nc = 30\n")


async def test_a_changed_file_is_not_edited_by_guesswork(files: Files) -> None:
    path = files.put("f", "x\n")
    await files.call("read", path="f")
    path.write_text("\tx\n")
    assert "read it again" in await refused(files, "edit", path="f", old="  x\n", new="  y\n")
    assert path.read_text() == "\tx\n"


async def test_an_edit_goes_through_a_link_and_keeps_mode_and_other_names(files: Files) -> None:
    path = files.put("real.sh", "a\n")
    path.chmod(0o755)
    (files.top / "link").symlink_to("real.sh")
    await files.call("edit", path="link", old="a", new="b")
    assert (files.top / "link").is_symlink()
    assert path.read_text() == "b\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    os.link(path, files.top / "other")
    await files.call("edit", path="real.sh", old="b", new="c")
    assert (files.top / "other").read_text() == "c\n"
    assert path.stat().st_nlink == 2


async def test_an_edit_of_a_missing_or_binary_file_is_refused(files: Files) -> None:
    files.put("blob", b"\0\1\2")
    assert "not text" in await refused(files, "edit", path="blob", old="a", new="b")
    assert "make a new file with write" in await refused(files, "edit", path="none", old="a", new="b")


async def test_a_big_file_is_edited_quickly_and_only_there(files: Files) -> None:
    path = files.put("f", "".join(f"row {n} \r\n" for n in range(200_000)))
    assert "2 lines replaced at 100001" in await files.call(
        "edit", path="f", old="row 100000\nrow 100001\n", new="row 100000\nchanged\n"
    )
    assert path.read_bytes().count(b"\r\n") == 200_000


@pytest.mark.parametrize(
    ("text", "old"),
    [
        (" " * 3_000_000 + "x", (" " * 1_000 + "\n") * 100 + "y"),
        ((" " * 1_000 + "\n") * 3_000, "a\n\n\n\nb"),
        ("a\n" * 1_000_000, "a\n" * 500 + "b"),
        ("a" * 3_000_000, "a" * 50 + "b"),
        ("".join(f"value {n * n}\n" for n in range(200_000)), "".join(f"value {n * n + 1}\n" for n in range(3_000))),
        ("".join(f"value {n * n}\n" for n in range(200_000)), "quite another text that is like nothing at all"),
    ],
    ids=["one blank line", "blank lines", "a line again and again", "a letter again and again", "much", "little"],
)
async def test_what_is_not_there_is_told_in_time(files: Files, text: str, old: str) -> None:
    files.put("f", text)
    started = time.process_time()
    await refused(files, "edit", path="f", old=old, new="x")
    assert time.process_time() - started < 6


async def test_a_folder_swapped_for_a_link_never_leads_outside(files: Files) -> None:
    outside = files.top.parent / "outside"
    outside.mkdir()
    (outside / "f").write_text("0")
    files.put("d/f", "0")
    swap = (
        "import os\nwhile True:\n os.rename('d', 'kept'); os.symlink('../outside', 'd'); os.unlink('d'); "
        "os.rename('kept', 'd')"
    )
    swapping = subprocess.Popen([sys.executable, "-c", swap], cwd=files.top)
    done = 0
    try:
        ends = time.monotonic() + 3
        while done < 100 and time.monotonic() < ends:
            with contextlib.suppress(ToolError):
                await files.call("edit", path="d/f", old=str(done), new=str(done + 1))
                done += 1
    finally:
        swapping.kill()
        swapping.wait()
    assert done
    assert (outside / "f").read_text() == "0"
    assert [each.name for each in outside.iterdir()] == ["f"]


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall("1", name, json.dumps(arguments))


def test_a_preview_shows_the_change_with_its_place(files: Files) -> None:
    files.put("f", "".join(f"line {n}\n" for n in range(1, 5_001)))
    shown = preview(files.workspace, call("edit", path="f", old="line 4000\n", new="line x\n"))
    assert "-line 4000\n+line x" in shown
    assert "@@ -3997,7 +3997,7 @@" in shown
    assert (files.top / "f").read_text().count("x") == 0


def test_a_preview_shows_where_a_link_leads(files: Files) -> None:
    files.put("real", "a\n")
    (files.top / "link").symlink_to("real")
    assert "link leads to real" in preview(files.workspace, call("edit", path="link", old="a", new="b"))


def test_a_preview_shows_a_whole_command_with_what_is_hidden(files: Files) -> None:
    shown = preview(files.workspace, call("bash", command="ls \u202e\x1b[8m; rm x" + " " * 20_000 + "; id"))
    assert shown.startswith("ls <U+202E>; rm x")
    assert "<20,000 blanks> ; id" in shown


@pytest.mark.parametrize(
    "given",
    [
        ToolCall("1", "edit", "{"),
        ToolCall("1", "edit", "[]"),
        ToolCall("1", "write", "{}"),
        ToolCall("1", "bash", '{"command": 1}'),
        ToolCall("1", "unknown", '{"a": {"b": "\\ud800"}}'),
        ToolCall("1", "write", "[" * 100_000),
        ToolCall("1", "edit", '{"path": "../x", "old": "a", "new": "b"}'),
        ToolCall("1", "write", '{"path": "nul\\u0000", "content": "b"}'),
        ToolCall("1", "write", json.dumps({"path": "big", "content": "x\n" * 100_000})),
        ToolCall("1", "bash", json.dumps({"command": "x\n" * 100_000})),
    ],
)
def test_a_preview_never_raises_and_is_bounded(files: Files, given: ToolCall) -> None:
    shown = preview(files.workspace, given)
    assert shown.count("\n") <= 400
    shown.encode()


async def test_several_replacements_are_all_made_each_in_what_those_before_have_made(files: Files) -> None:
    path = files.put("f", b"a = 1\r\nb = 2\nc = 3")
    more = [{"old": "b = 2", "new": "b = 20"}, {"old": "a = 10\n", "new": "a = 100\n"}]
    said = await files.call("edit", path="f", old="a = 1", new="a = 10", more=more)
    assert said == "edited f: 3 lines replaced at 1, 2, 1 (old did not match exactly: overlooked line endings)"
    assert path.read_bytes() == b"a = 100\r\nb = 20\nc = 3"


async def test_of_several_replacements_none_is_made_where_one_fails(files: Files) -> None:
    path = files.put("f", "a = 1\nb = 2\n")
    more = [{"old": "b = 3", "new": "b = 4"}]
    message = await refused(files, "edit", path="f", old="a = 1", new="a = 2", more=more)
    assert message.startswith("nothing was changed: replacement 2 of 2 fails: old is not in f; the nearest is this")
    assert path.read_text() == "a = 1\nb = 2\n"


async def test_a_replacement_that_is_given_twice_is_made_once(files: Files) -> None:
    path = files.put("f", "return a - b\n")
    same = {"old": "a - b", "new": "a + b"}
    said = await files.call("edit", path="f", more=[same, same], all=True, **same)
    assert said == "edited f: 1 line replaced at 1"
    assert path.read_text() == "return a + b\n"


async def test_of_several_replacements_one_that_is_there_already_is_to_be_left_out(files: Files) -> None:
    path = files.put("f", "a = 1\nb = 2\n")
    more = [{"old": "b = 1", "new": "b = 2"}]
    message = await refused(files, "edit", path="f", old="a = 1", new="a = 2", more=more)
    assert message.startswith("nothing was changed: replacement 2 of 2 fails: f already holds the new text, at line 2")
    assert "leave that one out" in message
    assert "this edit is done" not in message
    assert path.read_text() == "a = 1\nb = 2\n"


async def test_old_and_new_that_were_exchanged_are_told(files: Files) -> None:
    files.put("f", "def add(a, b):\n    return a - b\n")
    message = await refused(files, "edit", path="f", old="add(a, b): return a + b", new="add(a, b): return a - b")
    assert message.startswith("f already holds the new text, at line 1, and not the old: this edit is done")
    assert "you exchanged old and new" in message


@pytest.mark.parametrize("content", ["1| def add(a, b):\n2|     return a + b\n", " 7| x\n 8| y"])
async def test_lines_as_read_shows_them_are_not_written_over_a_file(files: Files, content: str) -> None:
    path = files.put("f", "def add(a, b):\n    return a - b\n")
    await files.call("read", path="f")
    message = await refused(files, "write", path="f", content=content)
    assert message.startswith("each line of content begins with a number, as read shows f")
    assert path.read_text() == "def add(a, b):\n    return a - b\n"
    await files.call("write", path="new", content=content)
    await files.call("read", path="new")
    await files.call("write", path="new", content="1| a\n2| b\n")
    await files.call("write", path="f", content="1| a\n3| b\n")


@pytest.mark.parametrize("more", ['[{"old": "b", "new": "B"}]', {"old": "b", "new": "B"}, [{"old": "b", "new": "B"}]])
async def test_replacements_are_shown_and_made_alike_however_they_were_written(files: Files, more: object) -> None:
    path = files.put("f", "a\nb\n")
    assert "-a\n-b\n+A\n+B" in preview(files.workspace, call("edit", path="f", old="a", new="A", more=more))
    await files.call("edit", path="f", old="a", new="A", more=more)
    assert path.read_text() == "A\nB\n"


@pytest.mark.parametrize("more", [3, ["b"], [{"old": "b"}], [{"old": "b", "new": 1}], "["])
async def test_what_is_no_list_of_replacements_is_refused(files: Files, more: object) -> None:
    files.put("f", "a\nb\n")
    assert "a list of objects with new and old" in await refused(files, "edit", path="f", old="a", new="A", more=more)
    assert "this will fail" in preview(files.workspace, call("edit", path="f", old="a", new="A", more=more))


@pytest.mark.parametrize(
    ("name", "before", "old", "new", "line"),
    [
        ("a.py", "def f(a):\n    return a\n", "def f(a):", "def f(a:", "line 1 on: def f(a:"),
        ("a.py", "def f():\n    a = 1\n    return a\n", "    return a", "   return a", "line 3 on: return a"),
        ("a.py", "if a:\n    b()\n", "    b()", "b()", "line 1 on"),
        (
            "a.go",
            "package a\n\nfunc f() {\n\tg()\n}\n",
            "\tg()\n}",
            "\tg()",
            "line 5 on: (something is missing here)",
        ),
        ("a.ts", "const a = { b: 1 }\n", "{ b: 1 }", "{ b: 1", "from line 1 on"),
    ],
)
async def test_a_change_that_breaks_a_source_is_made_and_says_where(
    files: Files, name: str, before: str, old: str, new: str, line: str
) -> None:
    path = files.put(name, before)
    said = await files.call("edit", path=name, old=old, new=new)
    assert f"\nBut {name} does not parse any more, from" in said
    assert line in said
    assert new in path.read_text()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.py", "def f(a):\n    return a\n", "def f(a):\n    return 1\n"),
        ("a.py", "def f(a:\n    return a\n", "def f(a:\n    return 1\n"),
        ("a.py", "def f(a):\n\treturn a\n", "match a:\n    case [1]: pass\ntype X[T] = int\nif b: c(); d()\n# e\n"),
        ("a.txt", "a\n", "def f(a:\n"),
        ("a.py", b"\xef\xbb\xbfa = 1\r\n", "b = 1\n"),
    ],
)
async def test_nothing_is_said_of_the_syntax_where_the_change_did_not_break_it(
    files: Files, name: str, before: str | bytes, after: str
) -> None:
    files.put(name, before)
    await files.call("read", path=name)
    said = await files.call("write", path=name, content=after)
    assert "parse" not in said


async def test_who_names_a_folder_to_change_is_told_its_files(files: Files) -> None:
    for name in ("b.py", "a.py", "sub/c.py"):
        files.put(name, "")
    message = await refused(files, "edit", path=".", old="a", new="b")
    assert message == ". is a folder; give the path of a file, as a.py, b.py"


async def test_a_file_that_was_made_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    def keep(path: Path, before: bytes | None, after: bytes) -> str:
        path.write_text("theirs")
        return "mark"

    tools = {tool.name: tool for tool in file_tools(Workspace(tmp_path), max_bytes=lambda: 10_000, keep=keep)}
    with pytest.raises(ToolError, match="a it was changed meanwhile"):
        await tools["write"].function(path="a", content="ours")
    assert (tmp_path / "a").read_text() == "theirs"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


async def test_reads_of_one_file_at_the_same_time_count_both(files: Files) -> None:
    files.put("f", "".join(f"{n}\n" for n in range(100)))
    parts = (files.call("read", path="f", start_line=first, lines=10) for first in range(1, 101, 10))
    await asyncio.gather(*parts)
    assert await files.call("write", path="f", content="x\n") == "wrote f: 1 line"


async def test_a_name_of_two_lines_is_one_entry_of_a_folder(files: Files) -> None:
    files.put("a\nb", "x")
    assert await files.call("read", path=".") == "a\ufffdb"
