"""Which boundary this machine can put around a command: found out by doing it once."""

import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from ogcode.agent.sandbox.bwrap import bwrap_line
from ogcode.agent.sandbox.guard import Guard
from ogcode.agent.sandbox.landlock import HELPER, apart_line, interpreter, restricted_line
from ogcode.agent.sandbox.layout import Level, SandboxRefused, Site, layout
from ogcode.agent.sandbox.wrapped import Wrapped
from ogcode.agent.tools.workspace import Workspace

Tier = Literal["bubblewrap", "landlock", "none"]

_PROBE_SECONDS = 10
_LIMIT = Path("/usr/bin/prlimit")
_MOST_PROCESSES = 2_048
"""Of one command, threads too; only a user namespace counts them apart from all others of the user."""
_DROPPED = ("SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")
"""They lead to programs outside."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What can be put around commands in one workspace."""

    tier: Tier
    why: str
    """One sentence: what it keeps, or why there is none."""
    strong: bool = False
    """Whether what it keeps can be relied on: nothing outside written, git and ogcode's own files safe, no network."""
    site: Site | None = field(default=None, repr=False)
    program: Path | None = None
    nested: bool = False

    def report(self) -> str:
        """Give the line for `doctor` and for the user."""
        return f"sandbox: {self.tier}: {self.why}"

    def wrap(
        self, command: Sequence[str], *, level: Level, cwd: Path, environ: Mapping[str, str], private: Path
    ) -> Wrapped:
        """Put the sandbox around a command; laid out anew each time. `private` is a folder of the session.

        Raises:
            SandboxRefused: there is none, or it can't hold as the workspace is now.
        """
        if level == "off":
            return Wrapped(command, environ)
        if self.site is None or self.tier == "none":
            raise SandboxRefused(self.why)
        private = Path(os.path.realpath(private))
        if self.strong and _LIMIT.exists():
            command = [str(_LIMIT), f"--nproc={_MOST_PROCESSES}", "--", *command]
        mounts = layout(self.site, level, private)
        network = level == "ws+net"
        kept = {name: value for name, value in environ.items() if name not in _DROPPED}
        temporary = "/tmp" if self.strong else str(private / "tmp")  # noqa: S108  # the session's own
        given = kept | {"TMPDIR": temporary, "XDG_CACHE_HOME": f"{temporary}/.cache"}
        if self.program:
            line = bwrap_line(self.program, mounts, command, cwd=cwd, network=network, nested=self.nested)
        elif self.strong:
            line = apart_line(mounts, command, cwd=cwd, network=network)
        else:
            line = restricted_line(self.site, level, command, cwd=cwd, private=private, network=network)
        places = (self.site.top, *self.site.beside)
        guards = [Guard.taken(Workspace(each), contents=not self.strong) for each in places]

        def settle() -> list[str]:
            return [told for guard in guards for told in guard.restore()]

        return Wrapped(line, given, keeper=self.program is not None, settle=settle)


def probe(environ: Mapping[str, str], top: Path, beside: Sequence[Path] = ()) -> Sandbox:
    """Find the strongest boundary there is for a workspace; what the machine can do is tried once for the process."""
    site = Site.of(environ, top, beside)
    if why := site.unfit():
        return Sandbox("none", why)
    found = _found(replace(site, top=Path(), beside=()), *_bubblewrap(site))
    if found.tier == "landlock" and any(place.is_relative_to(site.top) for place in (HELPER, interpreter())):
        return Sandbox("none", "ogcode itself is inside the workspace, which only bubblewrap can close in")
    return replace(found, site=site)


@cache
def _found(site: Site, program: Path | None, why_none: str) -> Sandbox:
    """Put each around a shell that does nothing, in a folder of its own."""
    with TemporaryDirectory(prefix="ogcode-") as folder:
        site = replace(site, top=Path(os.path.realpath(folder)))
        failures = list[str]()
        for nested in (False, True) if program else ():
            found = Sandbox("bubblewrap", _KEPT, strong=True, site=site, program=program, nested=nested)
            if not (failure := _failure(found, site)):
                return found
            failures.append(failure)
        reason = f"bubblewrap does not work here: {failures[0]}" if failures else why_none
        for strong, kept in ((True, _KEPT), (False, _KEPT_BY_RIGHTS)):
            found = Sandbox("landlock", f"{kept} ({reason})", strong=strong, site=site)
            if not (failure := _failure(found, site)):
                return found
    advice = "; install it (on Debian and Ubuntu: apt-get install bubblewrap)" if why_none == _ABSENT else ""
    landlock = failure.removeprefix("sandbox: ").removeprefix("Landlock: ")
    return Sandbox("none", f"Landlock does not work here ({landlock}), and {reason}{advice}")


_KEPT = "commands write only in the workspace, git's settings and hooks and ogcode's files aside, and have no network"
_KEPT_BY_RIGHTS = (
    "commands write only in the workspace; git's settings and hooks are put back after each, ogcode's files are only "
    "sealed, and the network is closed for TCP alone, since namespaces are refused here"
)


def _failure(sandbox: Sandbox, site: Site) -> str:
    """Run it; say what went wrong, or nothing."""
    with TemporaryDirectory(prefix="ogcode-") as private:
        try:
            wrapped = sandbox.wrap(["/bin/sh", "-c", ":"], level="ws", cwd=site.top, environ={}, private=Path(private))
            done = subprocess.run(
                wrapped.command,
                env=dict(wrapped.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return (said or f"exit {done.returncode}") if done.returncode else ""


_ABSENT = "bubblewrap is not installed"


def _bubblewrap(site: Site) -> tuple[Path | None, str]:
    """Find it by the absolute entries of the PATH, outside the workspace, where nobody else could have put it.

    Where there is none, tell why.
    """
    why = _ABSENT
    for entry in (*site.path.split(os.pathsep), "/usr/bin", "/usr/local/bin"):
        found = Path(os.path.realpath(Path(entry, "bwrap")))
        if not entry.startswith("/") or found.is_relative_to(site.top) or not os.access(found, os.X_OK):
            continue
        if all(_only_ours(place) for place in (found, *found.parents)):
            return found, ""
        why = f"{found} is not used, since others may have put it there"
    return None, why


def _only_ours(place: Path) -> bool:
    state = place.stat()
    shared = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
    return state.st_uid in (0, os.geteuid()) and not shared
