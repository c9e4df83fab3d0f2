"""The way into the app: trust asked once, a model found, then the screen."""

import asyncio
import gc
import os
import sys
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.model import Model, ModelError
from ogcode.agent.rights.trust import Trust
from ogcode.agent.turn import Limits
from ogcode.tui.arguments import Arguments
from ogcode.tui.arrival import arrive, memory_given, rules_given
from ogcode.tui.behind.conversation import Conversation, Later
from ogcode.tui.choice import Choice
from ogcode.tui.first_frame import FirstFrame, all_letters, paint, plain_here
from ogcode.tui.place import Here, ignored_here


def run_interactive(given: Arguments, folder: Path, frame: FirstFrame | None) -> int:
    """Run the app until the user leaves it; return the exit code.

    Raises:
        ModelError, SessionUnknown, ConfigBroken, TrustBroken: it could not start.
    """
    gc.disable()  # nothing of what is imported ever becomes garbage
    if not given.screen_reader and not frame and not plain_here():
        frame = paint(given.model or os.environ.get("OGCODE_MODEL", ""), inline=given.inline)
    try:
        if frame:
            frame.listen()
        here = arrive(given, folder, trust=given.trust)
        plain = frame is None or here.config.screen_reader
        if plain and frame:
            frame.clear()
        if not here.trusted and here.root.sound and sys.stdin.isatty():
            if frame:
                frame.clear()
            if _trusts(here):
                here = arrive(given, folder, trust=True)
        return _run(given, here, None if plain else frame)
    finally:
        if frame:
            frame.clear()


def _run(given: Arguments, here: Here, frame: FirstFrame | None) -> int:
    """Run the app where its first frame is; without one, the lines that any terminal can show."""
    desk = Conversation(
        here,
        Later(given.model or here.environ.get("OGCODE_MODEL", "") or here.config.model, lambda: _models(given, here)),
        Choice(given.resume or "", given.go_on, given.fork, given.session_id or ""),
        mode=given.mode or here.config.mode,
        rules=rules_given(given, here),
        limits=Limits(given.max_turns, given.max_tokens, given.max_cost, given.time_limit),
        memory=memory_given(given, here),
    )
    try:
        first = "/resume" if given.picks else given.prompt or ""
        if frame:
            from ogcode.tui.screen.launch import run_app

            code = run_app(
                desk, first_prompt=first, frame=frame, log=here.home / "logs" / "app.log", inline=given.inline
            )
        else:
            from ogcode.tui.linear.front import run_linear

            if not all_letters():
                sys.stderr.write("ogcode: no UTF-8 here, so letters are lost; LC_ALL=C.UTF-8 shows them all\n")
            code = run_linear(desk, first_prompt=first)
    except ModelError as error:
        from ogcode.agent.models.choice import NoModel

        if isinstance(error, NoModel):
            return _offer_demo(error)
        raise
    if desk.turns:
        sys.stderr.write(f"go on with: ogcode -r {desk.session_id[:8]}\n")
    return code


async def _models(given: Arguments, here: Here) -> tuple[Model, Model | None]:
    await asyncio.to_thread(_load)  # keys are answered meanwhile
    from ogcode.agent.models.choice import choose
    from ogcode.tui.models import librarian_here, model_here

    name = await choose(flag=given.model, environ=here.environ, configured=here.config.model)
    model = await model_here(here, name)
    return model, await librarian_here(here, model)


def _load() -> None:
    """Import what the first turn needs."""


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
    book = Trust(here.home)
    changed = ", ".join(book.changed(here.root))
    place = clean(str(here.root.path))
    if changed:
        sys.stderr.write(f"{book.differences(here.root)}\n\n")
    sys.stderr.write(
        (f"{clean(changed)} changed in {place} since you trusted it." if changed else f"ogcode is new in {place}.")
        + f"{clean(holds)}\n"
        "Trusted, its AGENTS.md and MEMORY.md are followed, its settings and other people's notes are read,\n"
        "and commands run as your mode allows. Untrusted, it is only read, and every change is asked for.\n"
        "Do you trust it? [y/N] "
    )
    sys.stderr.flush()
    return _agreed(default=False)
