"""`ogcode memory doctor`: what is wrong with memory, and what to do about it."""

from collections.abc import Iterator
from dataclasses import asdict

from ogcode.agent.index.cache import Memory
from ogcode.agent.memory.health import Trouble, origins, troubles
from ogcode.agent.memory.leaks import all_leaks, tracked_leaks
from ogcode.tui.commands.notes import counted
from ogcode.tui.commands.terminal import answer, answer_json, flat
from ogcode.tui.place import Here

SICK = 1
"""Exit code where something was found."""


def examine(here: Here, *, secrets: bool, as_json: bool) -> int:
    """Print what is wrong, a line each; with `secrets` look into everything that is kept."""
    memory = Memory.of(here.root, here.home)
    leaks = [*tracked_leaks(here.root, here.secrets), *(_all_leaks(here) if secrets else ())]
    found = [*troubles(memory, trusted=here.trusted), *_once(leaks)]
    whose = origins(memory)
    if as_json:
        answer_json({"notes": dict(whose), "troubles": [asdict(trouble) for trouble in found]})
        return SICK if found else 0
    for trouble in found:
        line = f":{trouble.line}" if trouble.line else ""
        answer(f"{trouble.kind}  {flat(trouble.path)}{line}: {flat(trouble.said)}")
    counts = ", ".join(f"{whose[origin]} {origin}" for origin in ("own", "edited", "foreign") if whose[origin])
    answer(f"{counted(whose.total(), 'note')}{f' ({counts})' if counts else ''}; {counted(len(found), 'trouble')}")
    return SICK if found else 0


def _all_leaks(here: Here) -> Iterator[Trouble]:
    from ogcode.agent.tools.process import program  # loads asyncio

    gitleaks = program("gitleaks", here.environ.get("PATH", ""), outside=here.root.top)
    return all_leaks(here.root, here.secrets, gitleaks)


def _once(leaks: list[Trouble]) -> list[Trouble]:
    """Keep of what was found twice in a place the first: that git tracks it says more."""
    places = {(leak.path, leak.line, leak.said.partition(":")[0]): leak for leak in reversed(leaks)}
    return list(places.values())[::-1]
