"""Where everything is put together: the model, the session, its tools, its memory, the scribe."""

import os
import sys
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

from ogcode.agent.files.durable import Lock
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import Model
from ogcode.agent.session import Keep, Session, Start
from ogcode.tui.earlier import Choice, chosen_session, finish_open_turns, forked, lock_file, recollected, recorder
from ogcode.tui.opened import Opened, ledger, prepared, system_of, transcript_of
from ogcode.tui.place import Here
from ogcode.tui.toolbox import workspace_tools


def open_session(
    here: Here, model: Model, choice: Choice, *, memory: MemorySwitch, librarian: Model | None = None
) -> Opened:
    """Begin a session, or go on with one.

    Raises:
        SessionUnknown: there is none to go on with.
        SessionTaken: there is one of the id that a new one is to have.
        SandboxMissing: a sandbox is asked for that can't be had.
    """
    from ogcode.agent.rights.beyond import Beyonds
    from ogcode.agent.sandbox.layout import Site, hidden
    from ogcode.agent.tools.jobs import Jobs
    from ogcode.tui.behind.context import too_full
    from ogcode.tui.behind.undoing import remember_rewound, undo_of
    from ogcode.tui.boundary import Boundary
    from ogcode.tui.knowledge import Knowledge

    boundary = Boundary.of(here, Path(tempfile.gettempdir(), f"ogcode-{uuid.uuid4().hex}"))
    notices = [*here.notices, *([boundary.notice] if boundary.notice else [])]
    if memory == "on" and not prepared(here, notices):
        memory = "read"
    writable = memory == "on"
    chosen = chosen_session(here, choice)  # before a turn that is closed makes another session the latest
    if writable:
        finish_open_turns(here)
    past = recollected(here, chosen) if chosen else None
    lock: Lock | None = None
    if past and past.torn:
        notices.append(f"{chosen}: {past.torn:,} of its lines can't be read; the rest of the session is there")
    if past:
        lock = Lock.take(lock_file(here, past.session_id)) if writable else None
        if choice.fork or (writable and lock is None):
            if not choice.fork:
                notices.append(f"session {past.session_id[:8]} is in use elsewhere; going on in a fork of it")
            if lock:
                lock.release(remove=True)
            past = forked(past)
            past = replace(past, session_id=choice.identity or past.session_id)
            lock = Lock.take(lock_file(here, past.session_id)) if writable else None
    identity = past.session_id if past else choice.identity or uuid.uuid4().hex
    if lock is None and writable:
        lock = Lock.take(lock_file(here, identity))
    transcript = transcript_of(here, identity, past, past.parents if past else {}, notices) if writable else None
    knowledge = Knowledge(here)
    system, cut = system_of(here, model, memory, knowledge)
    holder = list[Opened]()
    session = Session(
        Start(identity, past),
        model=model,
        system=system,
        tools=lambda emit: holder[0].tools(emit),
        keep=Keep(transcript, recorder(here), ledger(here, librarian)) if writable else Keep(),
        memory=memory,
        now=here.now,
        effort=here.config.effort,
        prepare=lambda: holder[0].prepare(),
    )
    undo = undo_of(here, session, boundary.private)
    if past and transcript:
        remember_rewound(here, past)

    def keep(path: Path, before: bytes | None, after: bytes) -> str:
        return undo.keep(session.turns + 1, path, before, after)

    beyonds = Beyonds(here.workspace(), hidden(Site.of(here.environ, here.root.top)))
    tools = workspace_tools(here, lambda: session.model, keep, chosen, admitted=beyonds.admitted)
    opened = Opened(
        here,
        session,
        past,
        lock,
        transcript,
        librarian,
        tools,
        undo,
        boundary,
        Jobs(),
        knowledge,
        beyonds,
        (*notices, *cut),
    )
    holder.append(opened)
    if full := too_full(opened):
        opened.notices = (*opened.notices, full)
    return opened


def start_scribe(here: Here, *, linger: float) -> int:
    """Start the scribe, detached: its own session, no descriptors of ours; a second one leaves at the lock.

    Returns the process id, for whoever lives long enough to reap it.
    """
    environ = {name: value for name, value in here.environ.items() if not name.startswith(("PYTHON", "OGCODE_CALL"))}
    environ.setdefault("OGCODE_SCRIBE_LINGER", f"{linger:g}")
    environ["OGCODE_TRUST"] = "1" if here.trusted else "0"  # it may be for this run only
    root = here.root
    arguments = [sys.executable, "-P", "-E", "-m", "ogcode.scribe", str(root.path), str(root.top), str(here.home)]
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    return os.posix_spawn(sys.executable, arguments, environ, file_actions=null, setsid=True)
