"""Errors of tools name paths as the model should write them, and never by where the workspace lies."""

import json
import os
from pathlib import Path

import pytest

from ogcode.agent.tool import Tool, ToolError
from ogcode.agent.tools.files import file_tools
from ogcode.agent.tools.maps import map_tools
from ogcode.agent.tools.search import search_tools
from ogcode.agent.tools.workspace import Workspace

GIVEN = {
    "read": {},
    "write": {"content": "x"},
    "edit": {"old": "a", "new": "b"},
    "grep": {"pattern": "x"},
    "glob": {"pattern": "*.py"},
    "file_map": {},
    "codebase_map": {},
}
PATHS = (
    ".",
    "./",
    "d",
    "d/",
    "absent",
    "absent/",
    "d/absent.py",
    "a.py/below",
    "a.py/",
    "../other",
    "link/x",
    "loop/x",
    "gone",
    "pipe",
    "locked.py",
    "blob",
    ".git/config",
    ".ogcode/x",
    "kept/x",
    "x" * 300,
    "d/" * 3_000,
    "",
    "~/x",
    "file:///etc/x",
)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "where-it-lies"
    (top / "d").mkdir(parents=True)
    (top / "d" / "b.py").write_text("b = 1\n")
    (top / "a.py").write_text("def f(:\n")
    (top / "blob").write_bytes(bytes(range(256)))
    (top / "locked.py").write_text("x")
    (top / "locked.py").chmod(0)
    (top / "link").symlink_to(tmp_path)
    (top / "gone").symlink_to(top / "nowhere")
    (top / "loop").symlink_to("loop")
    os.mkfifo(top / "pipe")
    return top


def tools_in(top: Path) -> dict[str, Tool]:
    workspace = Workspace(top, (top / "kept",))
    made = (
        *file_tools(workspace, max_bytes=lambda: 9_000),
        *search_tools(workspace, ripgrep=None, max_bytes=lambda: 9_000),
        *map_tools(workspace, max_bytes=lambda: 9_000),
    )
    return {tool.name: tool for tool in made}


@pytest.mark.parametrize("name", GIVEN)
async def test_no_answer_says_where_the_workspace_lies(top: Path, name: str) -> None:
    tool, failed = tools_in(top)[name], 0
    searched = (".", "./", "d", "d/", "blob", "locked.py", "") if name == "grep" else ()
    for path in (path for each in PATHS if each not in searched for path in (each, str(top / each))):
        arguments = json.dumps({"path": path, **GIVEN[name]})
        try:
            told = await tool.function(**tool.arguments(arguments))
        except ToolError as error:
            told, failed = str(error), failed + 1
        assert str(top) not in told.replace(path, ""), path
        if "outside" in told or "d/d/d" in path or "x" * 300 in path or path.startswith(("/", "~", "file:")):
            continue
        assert str(top.parent) not in told, path
    assert failed > len(PATHS) / 2


@pytest.mark.parametrize("path", [".", "d", "d/", "{top}", "{top}/d"])
@pytest.mark.parametrize("name", ["write", "edit"])
async def test_a_folder_is_named_from_the_top(top: Path, name: str, path: str) -> None:
    tool = tools_in(top)[name]
    arguments = json.dumps({"path": path.format(top=top), **GIVEN[name]})
    with pytest.raises(ToolError, match=r"^(\.|d) is a folder; give the path of a file, as ") as told:
        await tool.function(**tool.arguments(arguments))
    assert str(top) not in str(told.value)
