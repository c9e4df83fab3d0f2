"""What a one-shot run loads: nothing that it does not need."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_server import FakeServer, Say

LATE = {
    *("agent.commands.reading", "agent.commands.words", "agent.grammars", "agent.image", "agent.tools.ladder"),
    *("agent.models.scripted", "agent.index.cache", "librarian.recall", "scribe.drain", "tui.structured"),
}
"""Of our own, what an answer in a word has no use for."""
HEAVY = {
    *("click", "h2", "hpack", "pygments", "rich"),  # what httpx takes along where it is there
    "jsonschema",
    "litellm",
    "textual",
    "sqlite_utils",
    "pydantic",
    "tiktoken",
    "tree_sitter",
    "frontmatter",
    "yaml",
    "openai",
}


@pytest.mark.parametrize("provider", ["ollama", "openai", "anthropic"])
def test_headless_with_a_client_of_our_own_loads_nothing_heavy(
    tmp_path: Path, serve: Callable[..., FakeServer], provider: str
) -> None:
    server = serve([Say("hi")] * 3)
    code = (
        f"import sys; sys.argv[1:] = ['-p', 'say hi', '-m', '{provider}/fake'];"
        "from ogcode.tui.__main__ import main; code = main();"
        "sys.stderr.write(' '.join({*sys.modules, *(name.partition('.')[0] for name in sys.modules)})); sys.exit(code)"
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OLLAMA_HOST": server.url}
    environ |= {"OPENAI_BASE_URL": server.url, "ANTHROPIC_BASE_URL": server.url}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr
    assert "httpx" in done.stderr.split()
    assert not HEAVY & set(done.stderr.split())
    assert not {f"ogcode.{name}" for name in LATE} & set(done.stderr.split())
