"""What a sandbox costs a command: CPU time of `true` run by the tool, in each tier and in none, turn by turn.

    python bench/sandbox.py [COMMANDS]

Counted is everything: laying out and starting in this process, and all processes that come of it, also those whose
parents do not wait for them. A tier is left out where this machine refuses it.
"""

import asyncio
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ogcode.agent.sandbox.tiers import Sandbox, probe
from ogcode.agent.sandbox.wrapped import Wrapped
from ogcode.agent.tool import Tool
from ogcode.agent.tools.shell import shell_tool
from ogcode.agent.tools.workspace import Workspace

MOST = {"bubblewrap": 25.0, "landlock": 80.0, "landlock, rights alone": 80.0}
"""Milliseconds that each may add."""
_PR_SET_CHILD_SUBREAPER = 36


def wrap(sandbox: Sandbox, top: Path, private: Path, command: Sequence[str], environ: Mapping[str, str]) -> Wrapped:
    return sandbox.wrap(command, level="ws", cwd=top, environ=environ, private=private)


def tiers(environ: Mapping[str, str], top: Path) -> dict[str, Sandbox]:
    """Name what this machine has."""
    strongest = probe(environ, top)
    if strongest.tier == "none":
        return {}
    found: dict[str, Sandbox] = {strongest.tier if strongest.strong else "landlock, rights alone": strongest}
    if strongest.strong:
        found["landlock"] = replace(strongest, tier="landlock", program=None)
        found["landlock, rights alone"] = replace(strongest, tier="landlock", program=None, strong=False)
    return found


async def run(tool: Tool) -> None:
    said = await tool.function("true")
    if said != "(no output)":
        sys.exit(f"it failed: {said}")


def cost(tool: Tool) -> float:
    """Run `true`; give the milliseconds of CPU time until the last process has ended."""

    def used() -> float:
        each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in each)

    before = used()
    asyncio.run(run(tool))
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return (used() - before) * 1_000


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="ogcode-bench-") as folder:
        top, private = Path(folder, "ws"), Path(folder, "private")
        subprocess.run(["git", "init", "-q", top], check=True)
        environ = {name: os.environ[name] for name in ("PATH", "HOME")}
        workspace = Workspace(top)
        make = partial(shell_tool, workspace, environ=environ, output_folder=None, trusted=True)
        found = tiers(environ, top)
        tools = {"none": make()} | {
            name: make(sandbox=partial(wrap, sandbox, top, private)) for name, sandbox in found.items()
        }
        for tool in tools.values():
            cost(tool)
        costs = [{name: cost(tool) for name, tool in tools.items()} for _ in range(count)]
    slow = False
    print(f"CPU of one `true`, ms: median of {count} (quartiles); added to no sandbox: median")
    for name in tools:
        low, middle, high = statistics.quantiles([each[name] for each in costs], n=4)
        added = statistics.median(each[name] - each["none"] for each in costs)
        slow |= added > MOST.get(name, added)
        most = f"   added {added:5.1f}, at most {MOST[name]:.0f}" if name in MOST else ""
        print(f"{name:24}{middle:6.1f} ({low:.1f}..{high:.1f}){most}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
