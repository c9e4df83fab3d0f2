import json
from pathlib import Path

import pytest

from ogcode.agent.tool import ToolError
from ogcode.agent.tools.maps import map_tools
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.window import tokens

SOURCES = {
    "a.py": ("class A:\n    def f(self):\n        pass\n\nasync def g():\n    pass\n", "A 1-3\n f 2-3\ng 5-6"),
    "a.js": (
        "export const f = () => {\n}\nclass A {\n  b = () => 1\n  c() {}\n}\nconst x = 1\n",
        "f 1-2\nA 3-6\n b 4\n c 5",
    ),
    "a.ts": ("namespace N {\n  interface I { a(): void }\n}\ntype X = string\n", "N 1-3\n I 2\nX 4"),
    "a.tsx": ("function View() {\n  return <p/>\n}\n", "View 1-3"),
    "a.go": ("package a\n\ntype T struct{}\n\nfunc (t *T) M() {\n}\n", "T 3\nM 5-6"),
    "a.rs": ("mod m {\n  pub fn f() {}\n}\nimpl T for S {\n  fn x(&self) {}\n}\nunion U { a: i32 }\n", None),
    "a.java": ("class A {\n  A() {}\n  void m() {}\n  record R(int a) {}\n}\n", "A 1-5\n A 2\n m 3\n R 4"),
    "a.c": ("typedef struct {\n  int a;\n} T;\nstruct S { int b; };\nint *f(struct S *s) {\n}\n", "T 1-3\nS 4\nf 5-6"),
    "a.cpp": ("namespace n {\nclass A {\n  int f() { return 1; }\n};\n}\n", "n 1-5\n A 2-4\n  f 3"),
    "a.h": ("class A {\n  int f() { return 1; }\n};\nenum E { X };\n", "A 1-3\n f 2\nE 4"),
    "a.cs": ("namespace N {\n class C {\n  void M() {}\n }\n interface I {}\n}\n", "N 1-6\n C 2-4\n  M 3\n I 5"),
    "a.rb": ("module A\n  class B\n    def c; end\n    def self.d; end\n  end\nend\n", "A 1-6\n B 2-5\n  c 3\n  d 4"),
    "a.php": ("<?php\ninterface I {}\nclass C {\n  function z() {}\n}\nfunction f() {}\n", "I 2\nC 3-5\n z 4\nf 6"),
    "a.sh": ("f() {\n  :\n}\nfunction g { :; }\n", "f 1-3\ng 4"),
    "a.md": ("# One\n\ntext\n\n## Two\n\n```\n# no\n```\n\n# Three\n", "One 1-10\n Two 5-10\nThree 11-2011"),
}
SOURCES["a.rs"] = (SOURCES["a.rs"][0], "m 1-3\n f 2\nS 4-6\n x 5\nU 7")


class Maps:
    def __init__(self, top: Path, max_bytes: int = 4_500) -> None:
        self.top = top
        self.tools = {tool.name: tool for tool in map_tools(Workspace(top), max_bytes=lambda: max_bytes)}

    async def call(self, name: str, **arguments: object) -> str:
        return await self.tools[name].function(**self.tools[name].arguments(json.dumps(arguments)))

    def put(self, name: str, text: str) -> None:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.fixture
def maps(tmp_path: Path) -> Maps:
    return Maps(tmp_path)


@pytest.mark.parametrize("name", SOURCES)
async def test_a_file_is_outlined_by_what_it_defines(maps: Maps, name: str) -> None:
    text, wanted = SOURCES[name]
    maps.put(name, text + "\n" * 2_000)  # long enough to be worth all of its outline
    assert (await maps.call("file_map", path=name)).partition("\n")[2] == wanted


@pytest.mark.parametrize("body", [1, 2, 30])
async def test_an_outline_costs_an_eighth_of_its_file_at_most(maps: Maps, body: int) -> None:
    lines = "".join(f"        self.value_{n} = compute(other_{n}, {n})\n" for n in range(body))
    text = "".join(
        f"class Thing{n}:\n" + "".join(f"    def method_{m}(self, a):\n{lines}\n" for m in range(8)) for n in range(20)
    )
    maps.put("a.py", text)
    told = await maps.call("file_map", path="a.py")
    assert tokens.count(told) <= 0.12 * tokens.count(text)
    assert "Thing0" in told
    assert "Thing19" in told or "more between these" in told
    assert ("method_7" in told) == (body == 30)


async def test_what_is_not_shown_of_a_definition_is_counted(maps: Maps) -> None:
    text = "".join(f"class Thing{n}:\n" + "".join(f"    def m{m}(self): ...\n" for m in range(9)) for n in range(3))
    maps.put("a.py", text)
    assert "Thing0 1-10 (+9)" in await maps.call("file_map", path="a.py")


@pytest.mark.parametrize(
    ("path", "told"),
    [("a.csv", "has no outline"), ("sub", "codebase_map"), ("none.py", "find files with glob"), ("../x", "outside")],
)
async def test_what_can_not_be_outlined_is_told_with_what_to_do(maps: Maps, path: str, told: str) -> None:
    maps.put("a.csv", "1,2\n")
    maps.put("sub/a", "")
    with pytest.raises(ToolError, match=told):
        await maps.call("file_map", path=path)


async def test_a_name_can_not_add_lines_or_escapes(maps: Maps) -> None:
    maps.put("a.md", "# one \x1b[31m\u202etwo\n" + "\n" * 900)
    assert (await maps.call("file_map", path="a.md")).endswith("\none <U+202E>two 1-901")


async def test_a_folder_is_a_line_for_each_entry_with_what_it_defines(maps: Maps) -> None:
    maps.put("src/retry.py", "class Backoff:\n    def wait(self):\n        pass\n\ndef _hidden(): ...\n")
    maps.put("src/deep/send.go", "package a\n\nfunc Send() {\n}\n")
    maps.put("docs/guide.md", "# How to start\n")
    maps.put("assets/logo.svg", "<svg/>")
    maps.put("assets/icon.svg", "<svg/>")
    maps.put("main.py", "def main():\n    pass\n")
    maps.put("LICENSE", "MIT")
    maps.put(".gitignore", "build/\n")
    maps.put("build/out.py", "def generated(): ...\n")
    assert await maps.call("codebase_map") == (
        "assets/ (2 files): icon; logo\ndocs/ (1 file): How to start\nsrc/ (2 files): Backoff; Send\n"
        ".gitignore\nLICENSE\nmain.py: main"
    )
    assert await maps.call("codebase_map", path="src") == "deep/ (1 file): Send\nretry.py: Backoff"


async def test_a_map_is_bounded_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    maps = Maps(tmp_path, max_bytes=600)
    for number in range(100):
        maps.put(f"folder{number:03}/a.py", "def something():\n    pass\n")
    told = await maps.call("codebase_map")
    assert len(told.encode()) <= 700
    assert told.endswith("more; give a folder as path, or use glob]")


async def test_a_map_follows_no_link_out(maps: Maps) -> None:
    maps.put("a.py", "def f(): ...\n")
    (maps.top / "out").symlink_to("/etc")
    assert await maps.call("codebase_map") == "a.py: f"
    with pytest.raises(ToolError, match="outside the workspace"):
        await maps.call("codebase_map", path="out")
