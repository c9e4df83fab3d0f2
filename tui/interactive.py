"""The way into the app: trust asked once, a model found, then the screen."""

import asyncio
import sys
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.permissions import Rules
from ogcode.agent.trust import Trust
from ogcode.agent.turn import Limits
from ogcode.tui.arguments import Arguments
from ogcode.tui.arrival import arrive, memory_given, rules_given
from ogcode.tui.conversation import Conversation
from ogcode.tui.earlier import Choice
from ogcode.tui.place import Here, ignored_here


def run_interactive(given: Arguments, folder: Path) -> int:
    """Run the app until the user leaves it; return the exit code.

    Raises:
        ModelError, SessionUnknown, ConfigBroken, TrustBroken: it could not start.
    """
    here = arrive(given, folder, trust=given.trust)
    if not here.trusted and here.root.sound and _trusts(here):
        here = arrive(given, folder, trust=True)
    rules = rules_given(given, here)
    from ogcode.agent.models.choice import NoModel

    try:
        desk = asyncio.run(_desk(given, here, rules))
    except NoModel as error:
        return _offer_demo(error)
    from ogcode.tui.screen.app import run_app

    code = run_app(desk, first_prompt=given.prompt or "")
    if desk.turns:
        sys.stderr.write(f"go on with: ogcode -r {desk.session_id[:8]}\n")
    return code


async def _desk(given: Arguments, here: Here, rules: Rules) -> Conversation:
    from ogcode.agent.models.choice import choose
    from ogcode.tui.models import librarian_here, model_here

    name = await choose(flag=given.model, environ=here.environ, configured=here.config.model)
    model = await model_here(here, name)
    return Conversation(
        here,
        model,
        Choice(given.resume or "", given.go_on, given.fork, given.session_id or ""),
        mode=given.mode or here.config.mode,
        rules=rules,
        limits=Limits(given.max_turns, given.max_tokens, given.max_cost, given.time_limit),
        memory=memory_given(given, here),
        librarian=await librarian_here(here, model),
    )


def _offer_demo(error: Exception) -> int:
    """Say how to get a model, and show the demo to whoever wants to see it first."""
    sys.stderr.write(f"ogcode: {clean(str(error))}\n\nSee the demo now? It needs no model and no network. [Y/n] ")
    sys.stderr.flush()
    if not _agreed(default=True):
        return 1
    from ogcode.tui.demo import run_demo

    return run_demo()


def _agreed(*, default: bool) -> bool:
    try:
        said = input().strip().lower()
    except EOFError:
        return False
    return said in ("y", "yes") if said else default


def _trusts(here: Here) -> bool:
    """Ask once whether the folder is to be trusted, and say what that means."""
    named = ignored_here(here)
    holds = f" It holds {', '.join(named)}." if named else ""
    changed = ", ".join(Trust(here.home).changed(here.root))
    place = clean(str(here.root.path))
    sys.stderr.write(
        (f"{clean(changed)} changed in {place} since you trusted it." if changed else f"ogcode is new in {place}.")
        + f"{clean(holds)}\n"
        "Trusted, its AGENTS.md and MEMORY.md are followed, its settings and other people's notes are read,\n"
        "and commands run as your mode allows. Untrusted, it is only read, and every change is asked for.\n"
        "Do you trust it? [y/N] "
    )
    sys.stderr.flush()
    return _agreed(default=False)
