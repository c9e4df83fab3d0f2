"""Where everything is put together: the model, the session, its tools, its memory, the scribe."""

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.durable import Lock
from ogcode.agent.events import Emit, ignore
from ogcode.agent.loop import Approve
from ogcode.agent.memory.capture import Place
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import Model, Who
from ogcode.agent.permissions import Ask, Denial, Mode, Rules, policy
from ogcode.agent.prompt import system_prompt
from ogcode.agent.session import Keep, Ledger, Session, Start
from ogcode.agent.tool import Tool
from ogcode.agent.transcript import Past, Transcript, recollect
from ogcode.agent.turn import Usage
from ogcode.tui.earlier import Choice, chosen_session, finish_open_turns, forked, lock_file, recorder
from ogcode.tui.place import Here, mode_here

if TYPE_CHECKING:
    from ogcode.librarian.library import Library

MEMORY_TOOLS = frozenset(("memory_recall", "project_memory_recall"))


@dataclass(slots=True)
class Opened:
    """A session with all that belongs to it, and the switch of its memory."""

    here: Here
    session: Session
    past: Past | None
    lock: Lock | None
    transcript: Transcript | None
    librarian: Model | None
    workspace_tools: tuple[Tool, ...]
    """Once a session: they know what was read."""
    passing: Path
    """Keeps the long outputs of turns that are not saved, until the session ends."""
    notices: tuple[str, ...] = ()

    @property
    def memory(self) -> MemorySwitch:
        return self.session.memory

    def tools(self, emit: Emit) -> Sequence[Tool]:
        """Give the tools that the model has now: what memory does not grant is not among them."""
        outputs = self.here.root.store / "outputs" if self.memory == "on" else self.passing
        offered = (*self.workspace_tools, command_tool(self.here, outputs))
        if self.memory == "off":
            return offered
        from ogcode.librarian.offer import recall_tools

        def conversation() -> "Library":
            return open_library(self.here, self.session.recallable())

        def project() -> "Library":
            return open_library(self.here, None)

        whole = project if self.here.config.recall == "project" else None
        return (*offered, *recall_tools(conversation, whole, self.librarian or self.session.model, emit))

    def switch(self, memory: MemorySwitch) -> Sequence[str]:
        """Save and recall as told from the next turn on; return what the user should know of it."""
        notices = list[str]()
        if memory == "on" and not _prepared(self.here, notices):
            memory = "read"
        if memory == "on":
            self._keep(notices)
        else:
            self.session.keep = Keep()
        if "off" in (memory, self.memory) and memory != self.memory:
            self.session.system, _ = system_of(self.here, self.session.model, memory)
        self.session.memory = memory
        return notices

    def _keep(self, notices: list[str]) -> None:
        """Save from now on; what was resumed without being saved goes on in a fork: the original may have moved on."""
        session = self.session
        if self.transcript is None:
            if self.past:
                past = forked(self.past)
                session.id, session.parents = past.session_id, past.parents
            self.lock = self.lock or Lock.take(lock_file(self.here, session.id))
            self.transcript = _transcript(self.here, session.id, None, session.parents, notices)
        finish_open_turns(self.here)
        session.keep = Keep(self.transcript, recorder(self.here), _ledger(self.here))

    def close(self) -> None:
        if self.lock:
            self.lock.release(remove=True)
            self.lock = None
        shutil.rmtree(self.passing, ignore_errors=True)


def open_session(
    here: Here, model: Model, choice: Choice, *, memory: MemorySwitch, librarian: Model | None = None
) -> Opened:
    """Begin a session, or go on with one.

    Raises:
        SessionUnknown: there is none to go on with.
    """
    notices = list(here.notices)
    if memory == "on" and not _prepared(here, notices):
        memory = "read"
    writable = memory == "on"
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
    transcript = _transcript(here, identity, past, past.parents if past else {}, notices) if writable else None
    system, cut = system_of(here, model, memory)
    holder = list[Opened]()
    session = Session(
        Start(identity, past),
        model=model,
        system=system,
        tools=lambda emit: holder[0].tools(emit),
        keep=Keep(transcript, recorder(here), _ledger(here)) if writable else Keep(),
        memory=memory,
        now=here.now,
    )
    passing = Path(tempfile.gettempdir(), f"ogcode-{uuid.uuid4().hex}")
    tools = workspace_tools(here)
    opened = Opened(here, session, past, lock, transcript, librarian, tools, passing, (*notices, *cut))
    holder.append(opened)
    return opened


def system_of(here: Here, model: Model, memory: MemorySwitch) -> tuple[str, tuple[str, ...]]:
    """Put the system text of a session together; and what the user should know of it."""
    return system_prompt(
        home=here.home,
        top=here.root.top,
        folder=here.folder,
        trusted=here.trusted,
        window=model.window,
        today=here.now().date(),
        recall=None if memory == "off" else here.config.recall,
    )


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
    """Build the tools that work on the repository, but for the one that runs commands."""
    from ogcode.agent.tools.files import file_tools
    from ogcode.agent.tools.process import program
    from ogcode.agent.tools.search import search_tools

    workspace = here.workspace()
    ripgrep = program("rg", here.environ.get("PATH", ""), outside=here.root.top)
    return (*file_tools(workspace), *search_tools(workspace, ripgrep=ripgrep))


def command_tool(here: Here, outputs: Path) -> Tool:
    """Build the tool that runs commands and keeps their long outputs in a folder."""
    from ogcode.agent.tools.shell import shell_tool

    kept = None if here.root.store.is_symlink() or outputs.is_symlink() else outputs
    return shell_tool(here.workspace(), environ=here.environ, output_folder=kept, trusted=here.trusted)


def open_library(here: Here, sessions: Mapping[str, int] | None) -> "Library":
    """Open memory for one recall: the index brought up to date, read-only, in one scope."""
    from ogcode.agent.index.cache import Memory, open_index
    from ogcode.agent.index.reading import Notes, Scope
    from ogcode.librarian.library import Library

    index = open_index(Memory.of(here.root, here.home))
    notes = Notes(index, here.root.store, Scope(sessions), trusted=here.trusted)
    return Library(notes, here.root.sessions, here.root.top, here.seal, here.secrets)


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
        if probe := Lock.take(here.root.locks / "start"):  # a disk without room shows only where something is made
            probe.release(remove=True)
    except OSError as error:
        notices.append(f"{here.root.store} can't be written ({error.strerror}); this session is not remembered")
        return False
    if not here.seal.sign(b"") or not os.access(here.home, os.W_OK):
        notices.append(f"{here.home} can't be written; the notes of this session will not count as your own")
    return True


def _transcript(
    here: Here, identity: str, past: Past | None, parents: Mapping[str, int], notices: list[str]
) -> Transcript | None:
    path = here.root.sessions / f"{identity}.jsonl"
    if past and path.exists():
        return Transcript(path)
    try:
        return Transcript.begin(
            here.root.sessions, identity, top=here.root.top, seal=here.seal, now=here.now(), parents=parents
        )
    except OSError as error:
        notices.append(f"{path}: the transcript can't be written: {error.strerror}")
        return None
