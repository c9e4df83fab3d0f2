"""What a start costs and what it runs: modules imported, and whose."""

import fcntl
import os
import re
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from ogcode.agent.version import VERSION

OGCODE = Path(sysconfig.get_path("scripts"), "ogcode")
LINE = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)
CANARIES = ("yaml.py", "litellm.py", "sitecustomize.py", "textual/__init__.py", "agent/__init__.py", "tui/__main__.py")


def bare(home: Path) -> dict[str, str]:
    """Give an environment in which only the test's own folder is home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OGCODE_", "PYTHON", "XDG_"))}
    return {**kept, "HOME": str(home), "OGCODE_HOME": str(home / ".ogcode")}


def imported(*arguments: str, cwd: Path) -> set[str]:
    """Run Python with these arguments until it ends by itself; give the modules that it loaded."""
    command = [sys.executable, "-X", "importtime", "-P", "-E", *arguments]
    done = subprocess.run(command, cwd=cwd, env=bare(cwd), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    return set(LINE.findall(done.stderr))


def spared(names: set[str], loaded: set[str]) -> bool:
    """Tell whether none of these modules was loaded; each must be one that there is."""
    assert [name for name in names if find_spec(name) is None] == []
    return not names & loaded


def test_the_version_is_said_without_loading_anything_heavy(tmp_path: Path) -> None:
    code = "import sys; sys.argv[1:] = ['--version']; from ogcode.tui.__main__ import main; sys.exit(main())"
    heavy = {"asyncio", "httpx", "litellm", "textual", "sqlite_utils", "sqlite3", "tiktoken", "pydantic", "argparse"}
    loaded = imported("-c", code, cwd=tmp_path)
    assert "ogcode.tui.__main__" in loaded
    assert spared(heavy, loaded)


def test_the_first_frame_is_drawn_without_loading_anything_heavy(tmp_path: Path) -> None:
    loaded = imported("-c", "import ogcode.tui.__main__, ogcode.tui.entry, ogcode.tui.first_frame", cwd=tmp_path)
    heavy = {"asyncio", "argparse", "dataclasses", "inspect", "textual", "subprocess"}
    assert "ogcode.tui.first_frame" in loaded
    assert spared(heavy, loaded)


def test_the_prompt_is_there_before_any_model_client_or_markdown_is_loaded(tmp_path: Path) -> None:
    loaded = imported("-c", "import ogcode.tui.interactive, ogcode.tui.screen.launch", cwd=tmp_path)
    heavy = {"httpx", "litellm", "markdown_it", "rich.markdown", "pygments", "sqlite3", "tiktoken"}
    late = {"ogcode.tui.wiring", "ogcode.agent.session", "ogcode.tui.screen.live", "ogcode.tui.screen.memory.screen"}
    assert "ogcode.tui.screen.app" in loaded
    assert spared(heavy | late, loaded)


def test_a_scribe_that_finds_the_lock_taken_leaves_before_it_loads_anything_heavy(tmp_path: Path) -> None:
    locks = tmp_path / ".ogcode" / "locks"
    locks.mkdir(parents=True)
    with (locks / "scribe").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        loaded = imported("-m", "ogcode.scribe", *[str(tmp_path)] * 2, str(tmp_path / "home"), cwd=tmp_path)
    heavy = {"httpx", "litellm", "textual", "sqlite_utils", "pydantic", "tiktoken", "frontmatter"}
    assert "ogcode.agent.files.durable" in loaded
    assert spared(heavy, loaded)


@pytest.mark.parametrize("option", ["--version", "--help"])
@pytest.mark.parametrize("path", [None, "."])
def test_nothing_of_the_working_directory_is_run(tmp_path: Path, path: str | None, option: str) -> None:
    folder = tmp_path / "theirs"
    canary = tmp_path / "canary"
    for name in CANARIES:
        # Python itself imports sitecustomize from PYTHONPATH before the first line of any program.
        if path and name == "sitecustomize.py":
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"open({str(canary)!r}, 'a').write({name + chr(10)!r})\n")

    env = bare(tmp_path) | ({"PYTHONPATH": path} if path else {})
    done = subprocess.run([OGCODE, option], cwd=folder, env=env, capture_output=True, text=True, timeout=60)

    assert not canary.exists(), canary.read_text()
    assert done.returncode == 0, done.stderr
    assert "ogcode" in done.stdout
    assert VERSION in done.stdout or option != "--version"


def test_ogcode_starts_in_a_folder_that_holds_the_interpreter(tmp_path: Path) -> None:
    above = Path(os.__file__).resolve().parents[2]
    done = subprocess.run([OGCODE, "--help"], cwd=above, env=bare(tmp_path), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
