"""Programs that a folder chooses or that load what lies in it: asked for, though they would only tell their version."""

import json
from pathlib import Path

import pytest

from ogcode.agent.commands.ground import Ground
from ogcode.agent.rights.permissions import Rules, decide
from ogcode.agent.tools.process import program
from ogcode.agent.turn import ToolCall


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    folder = tmp_path / ".asdf" / "shims"
    folder.mkdir(parents=True)
    for name in ("rg", "python", "jq"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    (tmp_path / "ws" / "sub").mkdir(parents=True)
    return folder


def decided(command: str, shims: Path) -> str:
    call = ToolCall("1", "bash", json.dumps({"command": command}))
    ground = Ground(shims.parents[1] / "ws", f"{shims}:/usr/bin:/bin")
    return decide(call, "run", mode="ask", rules=Rules(), trusted=True, ground=ground).kind


@pytest.mark.parametrize("command", ["rg zebra", "python --version", "jq . a.json", "cd sub && rg zebra"])
@pytest.mark.parametrize("chooser", [".tool-versions", "mise.toml", ".python-version"])
def test_what_a_file_of_the_folder_chooses_is_asked_for(shims: Path, command: str, chooser: str) -> None:
    assert decided(command, shims) == "allow"
    (shims.parents[1] / "ws" / chooser).write_text("ripgrep path:./evil\n")
    assert decided(command, shims) == "ask"


def test_no_tool_of_ours_goes_through_a_shim(shims: Path) -> None:
    assert program("rg", str(shims), outside=shims.parents[1] / "ws") is None


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("pytest --version", "conftest.py"),
        ("mvn --version", ".mvn/jvm.config"),
        ("mvn -v", ".mvn/extensions.xml"),
        ("gradle --version", "gradle.properties"),
        ("go version", "go.mod"),
        ("cargo --version", "rust-toolchain.toml"),
        ("dotnet --version", "global.json"),
    ],
)
def test_what_loads_a_file_of_the_folder_first_is_asked_for(shims: Path, command: str, file: str) -> None:
    place = shims.parents[1] / "ws" / file
    place.parent.mkdir(exist_ok=True)
    place.write_text("x")
    assert decided(command, shims) == "ask"
