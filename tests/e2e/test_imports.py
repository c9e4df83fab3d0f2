"""What a one-shot run loads: nothing that it does not need."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fake_server import FakeServer, Say

HEAVY = {"litellm", "textual", "sqlite_utils", "pydantic", "tiktoken", "tree_sitter", "frontmatter", "yaml", "openai"}


def test_headless_against_ollama_loads_nothing_heavy(tmp_path: Path, serve: Callable[..., FakeServer]) -> None:
    server = serve([Say("hi")] * 3)
    code = (
        "import sys; sys.argv[1:] = ['-p', 'say hi', '-m', 'ollama/fake'];"
        "from ogcode.tui.__main__ import main; code = main();"
        "sys.stderr.write(' '.join(sorted({name.partition('.')[0] for name in sys.modules}))); sys.exit(code)"
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OLLAMA_HOST": server.url}
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
