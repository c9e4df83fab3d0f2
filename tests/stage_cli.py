"""The installed command in a folder of its own, and model servers that play their parts."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fake_server import Body, FakeServer, Reply, Say, tools_of

OGCODE = Path(sys.executable).with_name("ogcode")
NOTE = (
    "# Add was fixed\n\nTopics: add, sign, calc\n\n## What was done\n- calc.py: a minus became a plus\n\n"
    "## Key files & symbols\n- calc.py: add\n\n## Outcome\nadd adds."
)
Serve = Callable[..., FakeServer]


@dataclass
class Place:
    """A repository, a home, and the installed command."""

    folder: Path
    environ: dict[str, str]
    indoors: bool = False
    """`run` starts no process of its own: for tests of what is done, and not of how it is started and ended."""

    def run(self, *arguments: str, stdin: str | None = None, **environ: str) -> "subprocess.CompletedProcess[str]":
        environ = {**self.environ, **environ}
        if self.indoors:
            from indoors import run_indoors

            return run_indoors(arguments, folder=self.folder, environ=environ, stdin=stdin)
        return subprocess.run(
            [OGCODE, *arguments],
            cwd=self.folder,
            env=environ,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def result(self, *arguments: str, stdin: str | None = None, **environ: str) -> Any:
        done = self.run(*arguments, "--output-format", "json", stdin=stdin, **environ)
        [told] = events_of(done.stdout)
        return told

    def events(self, *arguments: str, stdin: str | None = None, **environ: str) -> list[Any]:
        done = self.run(*arguments, "--output-format", "stream-json", stdin=stdin, **environ)
        return events_of(done.stdout)

    def start(self, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [OGCODE, *arguments],
            cwd=self.folder,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def notes(self) -> list[Path]:
        return sorted((self.folder / ".ogcode" / "memory").glob("*.md"))

    @property
    def home(self) -> Path:
        return Path(self.environ["OGCODE_HOME"])

    def settle(self) -> None:
        """Wait for the end of a scribe at work: its note is there before its index is."""
        with (self.folder / ".ogcode" / "locks" / "scribe").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


def events_of(stdout: str) -> list[Any]:
    """Read what was printed as JSON; each object has the shape that the package says it has."""
    told = [json.loads(line) for line in stdout.splitlines()]
    for each in told:
        _shape("result" if each["type"] == "result" else "events").validate(each)
    return told


@cache
def _shape(name: str) -> Any:
    from jsonschema import Draft202012Validator

    from ogcode.tui.commands.schema import schema_of

    return Draft202012Validator(json.loads(schema_of(name)))


def new_place(tmp_path: Path, name: str = "repo", *, git: bool = True, indoors: bool = False) -> Place:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n", "utf-8")
    if git:
        subprocess.run(["git", "init", "-q", folder], check=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OGCODE_HOME": str(tmp_path / "home")}
    return Place(folder, environ, indoors)


def end_scribe(place: Place) -> None:
    """End the scribe of a place: the one that holds its lock."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"ogcode.scribe" in words and bytes(place.folder) in words:
            os.kill(int(process.name), signal.SIGKILL)


def role_of(body: Body) -> str:
    if any(str(message["content"]).startswith("Passages:") for message in body["messages"]):
        return "librarian"
    return "agent" if tools_of(body) else "scribe"


def playing(agent: Sequence[Reply], *, scribe: Reply = Say(NOTE), librarian: Reply = Say("add subtracted [1].")) -> Any:  # noqa: B008
    """Play the agent's replies in order; the scribe and the librarian say the same each time."""
    queue = list(agent)

    def script(body: Body) -> Reply:
        match role_of(body):
            case "scribe":
                return scribe
            case "librarian":
                return librarian
        return queue.pop(0) if queue else Say("nothing more to say")

    return script


def model_of(server: FakeServer, kind: str = "openai") -> dict[str, str]:
    if kind == "ollama":
        return {"OGCODE_MODEL": "ollama/fake", "OLLAMA_HOST": server.url}
    return {"OGCODE_MODEL": "openai/fake", "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "k"}
