"""The installed command in a real pseudo-terminal."""

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest
from fake_server import Body, Call, FakeServer, Reply, Say, system_of

OGCODE = Path(sys.executable).with_name("ogcode")
NOTE = "# Add was fixed\n\nTopics: add, sign, calc\n\n## Outcome\nadd adds."
HOSTILE = "done \x1b]52;c;QUJD\x07\x1b]0;pwn\x07 [/oops] [@click=app.quit]here[/] end"


def script(body: Body) -> Reply:
    if "Topics:" in system_of(body):
        return Say(NOTE)
    told = [message for message in body["messages"] if message["role"] == "tool"]
    steps: list[Reply] = [
        Call("read", {"path": "calc.py"}),
        Call("edit", {"path": "calc.py", "old": "a - b", "new": "a + b"}),
        Say(HOSTILE),
    ]
    return steps[len(told)]


@pytest.fixture
def terminal(tmp_path: Path, serve: Callable[..., FakeServer]) -> "pexpect.spawn[str]":
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "calc.py").write_text("def add(a, b):\n    return a - b\n", "utf-8")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "OGCODE_MODEL": "openai/fake",
        "OPENAI_BASE_URL": f"{serve(script).url}/v1",
        "OPENAI_API_KEY": "k",
        "OGCODE_SCRIBE_LINGER": "0",
    }
    return pexpect.spawn(
        str(OGCODE),
        cwd=str(tmp_path / "repo"),
        env=environ,
        dimensions=(30, 100),
        encoding="utf-8",
        timeout=40,
    )


def test_a_newcomer_trusts_asks_allows_and_leaves(terminal: "pexpect.spawn[str]", tmp_path: Path) -> None:
    seen = Screen(terminal)
    terminal.expect_exact("Do you trust it? [y/N]")
    terminal.sendline("y")
    seen.expect("Ask for something")
    terminal.send("fix add\r")
    seen.expect("Allow edit?")
    seen.expect(r"\+\s+return a \+ b")
    seen.quiet(0.5)  # the card takes no key until none has come for 0.3 s
    terminal.send("y")
    seen.expect("note 20")
    terminal.send("/quit\r")
    terminal.expect("go on with: ogcode -r [0-9a-f]{8}")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    # Escapes and markup that the model wrote came out as text: no clipboard, no title, no crash.
    assert "\x1b]52" not in seen.raw
    assert "\x1b]0;pwn" not in seen.raw
    assert "[/oops]" in seen.text
    memory = tmp_path / "repo" / ".ogcode" / "memory"
    seen.wait(lambda: any(memory.glob("*.md")))


class Screen:
    """All that the terminal was sent, raw and without its escapes."""

    def __init__(self, terminal: "pexpect.spawn[str]") -> None:
        self._terminal = terminal
        self.raw = ""

    @property
    def text(self) -> str:
        plain = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>()][A-Z0-9]?|\x1b\][^\x07]*\x07", "", self.raw)
        return plain.replace("\xa0", " ")

    def read(self) -> None:
        try:
            self.raw += self._terminal.read_nonblocking(65_536, timeout=0.2)
        except pexpect.TIMEOUT:
            return

    def expect(self, pattern: str) -> None:
        self.until(lambda: re.search(pattern, self.text) is not None)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 40
        while not holds():
            assert time.monotonic() < deadline, self.text[-3000:]
            self.read()

    def quiet(self, seconds: float) -> None:
        """Read on for a while without pressing anything."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.read()

    def wait(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 40
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.05)
