"""Where everything is put together: the model, the session, its tools, its memory, the scribe."""

import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ogcode.agent.durable import Lock
from ogcode.agent.events import Emit, ignore
from ogcode.agent.loop import Approve
from ogcode.agent.memory.capture import Place
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.model import Model, Who
from ogcode.agent.permissions import Ask, Denial, Mode, Rules, policy
from ogcode.agent.prompt import system_prompt
from ogcode.agent.session import Ledger, Session, Start
from ogcode.agent.tool import Tool
from ogcode.agent.transcript import Past, Transcript, recollect
from ogcode.agent.turn import Usage
from ogcode.tui.earlier import Choice, chosen_session, finish_open_turns, forked, lock_file, recorder
from ogcode.tui.place import Here, mode_here

if TYPE_CHECKING:
    from ogcode.librarian.library import Library

MemorySwitch = Literal["on", "read", "off"]
MEMORY_TOOLS = frozenset(("memory_recall", "project_memory_recall"))


@dataclass(slots=True)
class Opened:
    """A session with all that belongs to it."""

    session: Session
    lock: Lock | None
    past: Past | None
    tools: Callable[[Emit], Sequence[Tool]]
    notices: tuple[str, ...]

    def close(self) -> None:
        if self.lock:
            self.lock.release(remove=True)
            self.lock = None


def open_session(
    here: Here, model: Model, choice: Choice, *, memory: MemorySwitch, librarian: Model | None = None
) -> Opened:
    """Begin a session, or go on with one.

    Raises:
        SessionUnknown: there is none to go on with.
    """
    notices = list(here.notices)
    writable = memory == "on" and _prepared(here, notices)
    chosen = chosen_session(here, choice)  # before a turn that is closed makes another session the latest
    if writable:
        finish_open_turns(here)
    past = recollect(chosen) if chosen else None
    lock: Lock | None = None
    if past:
        lock = Lock.take(lock_file(here, past.session_id)) if writable else None
        if choice.fork or (writable and lock is None):
            if not choice.fork:
                notices.append(f"session {past.session_id[:8]} is in use elsewhere; going on in a fork of it")
            if lock:
                lock.release(remove=True)
            past = forked(past)
            lock = Lock.take(lock_file(here, past.session_id)) if writable else None
    identity = past.session_id if past else uuid.uuid4().hex
    if lock is None and writable:
        lock = Lock.take(lock_file(here, identity))
    transcript = _transcript(here, identity, past, notices) if writable else None
    system, cut = system_prompt(
        home=here.home,
        top=here.root.top,
        folder=here.folder,
        trusted=here.trusted,
        window=model.window,
        today=here.now().date(),
    )
    holder = list[Session]()
    offered = workspace_tools(here)  # once a session: they know what was read

    def tools(emit: Emit) -> Sequence[Tool]:
        if memory == "off":
            return offered
        from ogcode.librarian.offer import recall_tools

        def conversation() -> "Library":
            return open_library(here, holder[0].recallable())

        return (*offered, *recall_tools(conversation, lambda: open_library(here, None), librarian or model, emit))

    session = Session(
        Start(identity, past),
        model=model,
        system=system + _memory_words(memory),
        tools=tools,
        transcript=transcript,
        record=recorder(here) if writable else None,
        ledger=_ledger(here) if writable else None,
        now=here.now,
    )
    holder.append(session)
    return Opened(session, lock, past, tools, (*notices, *cut))


def approval(
    here: Here, opened: Opened, ask: Ask | None, *, mode: Mode, rules: Rules, denials: list[Denial]
) -> Approve:
    """Put together what decides about calls; `ask` None is a run without a person."""
    workspace = here.workspace()
    return policy(
        ask,
        opened.tools(ignore),
        mode=mode_here(here, mode),
        rules=rules,
        trusted=here.trusted,
        denials=denials,
        memory_tools=MEMORY_TOOLS,
        place=lambda path: workspace.display(workspace.resolve(path)),
    )


def workspace_tools(here: Here) -> tuple[Tool, ...]:
    """Build the tools that work on the repository."""
    from ogcode.agent.tools.files import file_tools
    from ogcode.agent.tools.process import program
    from ogcode.agent.tools.search import search_tools
    from ogcode.agent.tools.shell import shell_tool

    workspace = here.workspace()
    ripgrep = program("rg", here.environ.get("PATH", ""), outside=here.root.top)
    outputs = here.root.store / "outputs"
    kept = None if here.root.store.is_symlink() or outputs.is_symlink() else outputs
    return (
        *file_tools(workspace),
        shell_tool(workspace, environ=here.environ, output_folder=kept, trusted=here.trusted),
        *search_tools(workspace, ripgrep=ripgrep),
    )


def open_library(here: Here, sessions: Mapping[str, int] | None) -> "Library":
    """Open memory for one recall: the index brought up to date, read-only, in one scope."""
    from ogcode.agent.memory.index import Memory, open_index
    from ogcode.agent.memory.search import Notes, Scope
    from ogcode.librarian.library import Library

    index = open_index(Memory.of(here.root, here.home))
    notes = Notes(index, here.root.store, Scope(sessions), trusted=here.trusted)
    return Library(notes, here.root.sessions, here.root.top, here.secrets)


def start_scribe(here: Here, *, linger: float) -> int:
    """Start the scribe, detached: its own session, no descriptors of ours; a second one leaves at the lock.

    Returns the process id, for whoever lives long enough to reap it.
    """
    environ = {name: value for name, value in here.environ.items() if not name.startswith(("PYTHON", "OGCODE_CALL"))}
    environ.setdefault("OGCODE_SCRIBE_LINGER", f"{linger:g}")
    root = here.root
    arguments = [sys.executable, "-P", "-E", "-m", "ogcode.scribe", str(root.path), str(root.top), str(here.home)]
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    return os.posix_spawn(sys.executable, arguments, environ, file_actions=null, setsid=True)


def _ledger(here: Here) -> Ledger:
    def log(usage: Usage, role: Who, place: Place) -> None:
        from ogcode.agent.usage import log_usage

        log_usage(
            here.root.store,
            usage,
            role=role,
            model=place.model,
            session_id=place.session_id,
            turn=place.number,
            now=here.now(),
        )

    return log


def _prepared(here: Here, notices: list[str]) -> bool:
    try:
        prepare_store(here.root.store)
    except OSError as error:
        notices.append(f"{here.root.store} can't be written ({error.strerror}); this session is not remembered")
        return False
    if not here.seal.sign(b""):
        notices.append(f"{here.home} can't be written; the notes of this session will not count as your own")
    return True


def _transcript(here: Here, identity: str, past: Past | None, notices: list[str]) -> Transcript | None:
    path = here.root.sessions / f"{identity}.jsonl"
    if past and path.exists():
        return Transcript(path)
    try:
        return Transcript.begin(
            here.root.sessions,
            identity,
            top=here.root.top,
            seal=here.seal,
            now=here.now(),
            parents=past.parents if past else {},
        )
    except OSError as error:
        notices.append(f"{path}: the transcript can't be written: {error.strerror}")
        return None


def _memory_words(memory: MemorySwitch) -> str:
    match memory:
        case "on":
            return ""
        case "read":
            return (
                "\n\nMemory is read-only now: nothing of this conversation is saved; do not say that you will remember."
            )
        case "off":
            return "\n\nMemory is off: you can't recall earlier turns and nothing is saved; say so when it matters."
