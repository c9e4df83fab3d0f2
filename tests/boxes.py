"""The sandboxes that this machine has, each around a workspace of its own."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ogcode.agent.sandbox.layout import Level, Site
from ogcode.agent.sandbox.tiers import Sandbox, probe
from ogcode.agent.sandbox.wrapped import Wrapped
from ogcode.agent.tools.jobs import Jobs
from ogcode.agent.tools.shell import shell_tool
from ogcode.agent.tools.workspace import Workspace

KINDS = ("bubblewrap", "landlock", "rights")
"""`rights` is Landlock where namespaces are refused."""

SOON = 20.0
"""Seconds after which a test gives up."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass
class Box:
    """A workspace `ws`, a home with secrets, and what runs commands inside."""

    folder: Path
    sandbox: Sandbox
    level: Level = "ws"

    def __post_init__(self) -> None:
        self.jobs = Jobs()
        self.tool = shell_tool(
            Workspace(self.top),
            environ=environ_in(self.folder),
            output_folder=self.folder / "outputs",
            trusted=True,
            sandbox=self.wrap,
            jobs=self.jobs,
        )

    @property
    def top(self) -> Path:
        return self.folder / "ws"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def wrap(self, command: Sequence[str], environ: Mapping[str, str]) -> Wrapped:
        private = self.folder / "private"
        return self.sandbox.wrap(command, level=self.level, cwd=self.top, environ=environ, private=private)

    async def run(self, command: str, **more: object) -> str:
        async with asyncio.timeout(SOON):
            return await self.tool.function(**self.tool.arguments(json.dumps({"command": command, **more})))


def environ_in(folder: Path) -> dict[str, str]:
    return {"PATH": PATH, "HOME": str(folder / "home"), "SSH_AUTH_SOCK": "/run/agent"}


def failing_bubblewrap(folder: Path) -> Path:
    """Put a program that is refused, as bubblewrap is where user namespaces are, into a folder of its own."""
    program = folder / "refused" / "bwrap"
    program.parent.mkdir(mode=0o755)
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    return program.parent


def box_of(kind: str, folder: Path, level: Level = "ws") -> Box:
    """Make one, or skip the test where this machine refuses it."""
    home, top = folder / "home", folder / "ws"
    for place in (home / ".ssh", home / ".ogcode", top):
        place.mkdir(parents=True)
    (home / ".ssh" / "id").write_text("SECRET")
    (home / ".ogcode" / "seal").write_text("SECRET")
    (home / ".netrc").write_text("SECRET")
    environ = environ_in(folder)
    if kind == "landlock":
        environ["PATH"] = f"{failing_bubblewrap(folder)}:{PATH}"
    sandbox = probe(environ, top)
    if kind == "rights":
        sandbox = Sandbox("landlock", "rights alone", site=Site.of(environ, top))
    elif sandbox.tier != kind or not sandbox.strong:
        pytest.skip(f"no {kind} here: {sandbox.why}")
    return Box(folder, sandbox, level)
