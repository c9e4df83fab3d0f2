"""Where everything is put together: the model, the session, its tools, its memory, the scribe."""

import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.durable import Lock
from ogcode.agent.events import Emit, ignore
from ogcode.agent.loop import Approve
from ogcode.agent.memory.capture import Place
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import Model, Who, sees
from ogcode.agent.models.slot import all_at_work
from ogcode.agent.permissions import Ask, Denial, Mode, Rules, policy
from ogcode.agent.prompt import system_prompt
from ogcode.agent.session import Keep, Ledger, Session, Start
from ogcode.agent.tool import Tool
from ogcode.agent.transcript import Past, Transcript, recollect, rows
from ogcode.agent.turn import Usage
from ogcode.tui.earlier import Choice, chosen_session, finish_open_turns, forked, lock_file, recorder
from ogcode.tui.place import Here, branch_at, mode_here

if TYPE_CHECKING:
    from ogcode.agent.beyond import Beyonds
    from ogcode.agent.tools.ask_user import AskPerson
    from ogcode.agent.tools.files import Keep as KeepFile
    from ogcode.agent.tools.jobs import Jobs
    from ogcode.agent.undo.back import Undo
    from ogcode.librarian.library import Library
    from ogcode.tui.boundary import Boundary
    from ogcode.tui.knowledge import Knowledge

MEMORY_TOOLS = frozenset("memory_recall project_memory_recall memory_read remember memory_update memory_forget".split())


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
    undo: "Undo"
    boundary: "Boundary"
    """Its private folder keeps the long outputs of turns that are not saved, until the session ends."""
    jobs: "Jobs"
    knowledge: "Knowledge"
    beyonds: "Beyonds"
    notices: tuple[str, ...] = ()
    person: "AskPerson | None" = None
    """Whom the model can ask inside a turn."""
    planning: bool = False
    """The turn began in plan mode: its plan is to be approved."""

    @property
    def memory(self) -> MemorySwitch:
        return self.session.memory

    def tools(self, emit: Emit) -> Sequence[Tool]:
        """Give the tools that the model has now: what memory or the user does not grant is not among them."""
        return [tool for tool in self.all_tools(emit) if self.here.tailored.offers(tool.name)]

    def all_tools(self, emit: Emit) -> Sequence[Tool]:
        outputs = self.here.root.store / "outputs" if self.memory == "on" else self.boundary.private
        offered = (*self.knowledge.with_rules(self.workspace_tools, emit), command_tool(self, outputs, emit))
        if self.person:
            from ogcode.agent.tools.ask_user import ask_user_tool

            offered = (*offered, ask_user_tool(self.person, emit, planning=self.planning))
        if self.memory == "off":
            return offered
        from ogcode.librarian.offer import recall_tools

        def conversation() -> "Library":
            return open_library(self.here, self.session.recallable())

        def project() -> "Library":
            return open_library(self.here, None)

        whole = project if self.here.config.recall == "project" else None
        facts = self.knowledge.tools(self.session, emit)
        return (*offered, *facts, *recall_tools(conversation, whole, self.librarian or self.session.model, emit))

    def prepare(self) -> str:
        """Bring the system text up to date where rules have changed; tell which facts have."""
        if self.knowledge.rules_changed():
            self.session.system, _ = system_of(self.here, self.session.model, self.memory, self.knowledge)
        return self.knowledge.news(self.session)

    def use(self, model: Model) -> None:
        """Ask another model from the next turn on; what its window has room for is other, too."""
        if model.window != self.session.model.window:
            self.session.system, _ = system_of(self.here, model, self.memory, self.knowledge)
        self.session.model = model

    def at_work(self) -> AbstractContextManager[None]:
        """Let the scribe know that a turn runs on a model of this machine, which may serve only one of them."""
        return all_at_work(each for each in (self.session.model, self.librarian) if each)

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
            self.session.system, _ = system_of(self.here, self.session.model, memory, self.knowledge)
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
        session.keep = Keep(self.transcript, recorder(self.here), _ledger(self.here, self.librarian))
        if session.standing.lines:
            session.stand(session.standing)

    def close(self) -> None:
        self.jobs.close()
        if self.lock:
            self.lock.release(remove=True)
            self.lock = None
        shutil.rmtree(self.boundary.private, ignore_errors=True)


def open_session(
    here: Here, model: Model, choice: Choice, *, memory: MemorySwitch, librarian: Model | None = None
) -> Opened:
    """Begin a session, or go on with one.

    Raises:
        SessionUnknown: there is none to go on with.
        SessionTaken: there is one of the id that a new one is to have.
        SandboxMissing: a sandbox is asked for that can't be had.
    """
    from ogcode.agent.beyond import Beyonds
    from ogcode.agent.sandbox.layout import Site, hidden
    from ogcode.agent.tools.jobs import Jobs
    from ogcode.tui.boundary import Boundary
    from ogcode.tui.context import too_full
    from ogcode.tui.knowledge import Knowledge
    from ogcode.tui.undoing import remember_rewound, undo_of

    boundary = Boundary.of(here, Path(tempfile.gettempdir(), f"ogcode-{uuid.uuid4().hex}"))
    notices = [*here.notices, *([boundary.notice] if boundary.notice else [])]
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
            past = replace(past, session_id=choice.identity or past.session_id)
            lock = Lock.take(lock_file(here, past.session_id)) if writable else None
    identity = past.session_id if past else choice.identity or uuid.uuid4().hex
    if lock is None and writable:
        lock = Lock.take(lock_file(here, identity))
    transcript = _transcript(here, identity, past, past.parents if past else {}, notices) if writable else None
    knowledge = Knowledge(here)
    system, cut = system_of(here, model, memory, knowledge)
    holder = list[Opened]()
    session = Session(
        Start(identity, past),
        model=model,
        system=system,
        tools=lambda emit: holder[0].tools(emit),
        keep=Keep(transcript, recorder(here), _ledger(here, librarian)) if writable else Keep(),
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


def system_of(
    here: Here, model: Model, memory: MemorySwitch, knowledge: "Knowledge | None" = None
) -> tuple[str, tuple[str, ...]]:
    """Put the system text of a session together; and what the user should know of it."""
    from ogcode.agent.facts.shelf import Known
    from ogcode.tui.knowledge import Knowledge

    known = Known() if memory == "off" else (knowledge or Knowledge(here)).began
    return system_prompt(
        home=here.home,
        top=here.root.top,
        folder=here.folder,
        trusted=here.trusted,
        window=model.window,
        today=here.now().date(),
        recall=None if memory == "off" else here.config.recall,
        known=known,
        beside=here.tailored.beside,
        wishes=here.tailored.wishes,
    )


def approval(
    here: Here,
    opened: Opened,
    ask: Ask | None,
    *,
    mode: Callable[[], Mode],
    rules: Rules,
    denials: list[Denial],
    keep: Callable[[str], None] | None = None,
    elsewhere: str = "",
) -> Approve:
    """Put together what decides about calls.

    `ask` None is a run without a person, `keep` is given rules for good, `mode` is asked for with each call.
    """
    from ogcode.agent.commands.ground import Ground
    from ogcode.agent.tools.shell import child_environment

    workspace = here.workspace()
    given = child_environment(here.environ, workspace, trusted=here.trusted)
    decide = policy(
        ask,
        opened.tools(ignore),
        mode=lambda: mode_here(here, mode()),
        rules=rules,
        trusted=here.trusted,
        denials=denials,
        sandboxed=opened.boundary.strong,
        memory_tools=MEMORY_TOOLS,
        place=lambda path: workspace.display(workspace.real(path)),
        ground=Ground(workspace.top, given["PATH"], workspace.hidden, workspace.beside),
        keep=keep,
        beyonds=opened.beyonds,
    )
    return opened.knowledge.careful(decide, opened.session, ask, denials, elsewhere)


def workspace_tools(
    here: Here, model: Callable[[], Model], keep: "KeepFile", resumed: Path | None, *, admitted: Collection[Path]
) -> tuple[Tool, ...]:
    """Build the tools that work on the repository, but for the one that runs commands; a small window bounds them.

    `resumed` is the transcript of the session that is gone on with, `admitted` are places outside that may be read.
    """
    from ogcode.agent.fit import share
    from ogcode.agent.tools.files import file_tools
    from ogcode.agent.tools.ignore import ignore_files
    from ogcode.agent.tools.maps import map_tools
    from ogcode.agent.tools.process import program
    from ogcode.agent.tools.search import search_tools
    from ogcode.agent.tools.todo import last_list, todo_tool

    workspace = here.workspace()
    ripgrep = program("rg", here.environ.get("PATH", ""), outside=here.root.top)
    person = here.environ.get("HOME", "")
    ignoring = ignore_files(workspace.top, Path(person) if person else None, here.environ.get("XDG_CONFIG_HOME", ""))

    def bounded(most: int) -> Callable[[], int]:
        return lambda: share(model().window, most)

    reading = replace(workspace, admitted=admitted.__contains__)
    return (
        *file_tools(reading, max_bytes=bounded(24_000), keep=keep, sees=lambda: sees(model())),
        *search_tools(workspace, ripgrep=ripgrep, max_bytes=bounded(12_000), ignoring=ignoring),
        *map_tools(workspace, max_bytes=bounded(4_500), ignoring=ignoring),
        todo_tool(lambda: last_list(rows(resumed)) if resumed else ""),
    )


def command_tool(opened: Opened, outputs: Path, emit: Emit) -> Tool:
    """Build the tool that runs commands and keeps their long outputs in a folder."""
    from ogcode.agent.fit import share
    from ogcode.agent.tools.shell import shell_tool
    from ogcode.tui.undoing import noting

    here = opened.here
    kept = None if here.root.store.is_symlink() or outputs.is_symlink() else outputs
    return shell_tool(
        here.workspace(),
        environ=here.environ,
        output_folder=kept,
        trusted=here.trusted,
        max_bytes=share(opened.session.model.window, 30_000),
        sandbox=noting(opened, emit),
        jobs=opened.jobs,
    )


def open_library(here: Here, sessions: Mapping[str, int] | None) -> "Library":
    """Open memory for one recall: the index brought up to date, read-only, in one scope."""
    from ogcode.agent.index.cache import Memory, open_index
    from ogcode.agent.index.reading import Notes, Scope
    from ogcode.agent.undo.rewound import rewound
    from ogcode.librarian.library import Library
    from ogcode.tui.knowledge import facts_to_recall

    index = open_index(Memory.of(here.root, here.home))
    scope = Scope(sessions, rewound(here.root.store / "undo", here.seal))
    notes = Notes(index, here.root.store, scope, trusted=here.trusted, now=here.now)
    found = Library(notes, here.root.sessions, here.root.top, here.seal, here.secrets)
    if sessions is None:
        found.find_facts = lambda: facts_to_recall(here)
    return found


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


def _ledger(here: Here, librarian: Model | None) -> Ledger:
    def log(usage: Usage, role: Who, place: Place, unsent: int) -> None:
        from ogcode.agent.usage import log_usage

        log_usage(
            here.root.store,
            usage,
            role=role,
            model=librarian.name if librarian and role == "librarian" else place.model,
            session_id=place.session_id,
            turn=place.number,
            now=here.now(),
            unsent=unsent,
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
        begun = Transcript.begin(
            here.root.sessions,
            identity,
            top=here.root.top,
            seal=here.seal,
            now=here.now(),
            parents=parents,
            branch=branch_at(here.root.top),
        )
        if past and past.standing.lines:
            begun.stands(past.standing)
        return begun
    except OSError as error:
        notices.append(f"{path}: the transcript can't be written: {error.strerror}")
        return None
