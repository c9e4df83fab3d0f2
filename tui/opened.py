"""A session with all that belongs to it, while it is open."""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ogcode.agent.events import Emit
from ogcode.agent.files.durable import Lock
from ogcode.agent.memory.capture import Place
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import Model, Who
from ogcode.agent.models.slot import all_at_work
from ogcode.agent.prompt import system_prompt
from ogcode.agent.session import Keep, Ledger, Session
from ogcode.agent.tool import Tool
from ogcode.agent.transcript import Past, Transcript
from ogcode.agent.turn import Usage
from ogcode.tui.earlier import finish_open_turns, forked, lock_file, recorder
from ogcode.tui.place import Here, branch_at
from ogcode.tui.toolbox import command_tool, open_library

if TYPE_CHECKING:
    from ogcode.agent.rights.beyond import Beyonds
    from ogcode.agent.tools.ask_user import AskPerson
    from ogcode.agent.tools.jobs import Jobs
    from ogcode.agent.undo.back import Undo
    from ogcode.librarian.library import Library
    from ogcode.tui.boundary import Boundary
    from ogcode.tui.knowledge import Knowledge


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
        if memory == "on" and not prepared(self.here, notices):
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
            self.transcript = transcript_of(self.here, session.id, None, session.parents, notices)
        finish_open_turns(self.here)
        session.keep = Keep(self.transcript, recorder(self.here), ledger(self.here, self.librarian))
        if session.standing.lines:
            session.stand(session.standing)

    def close(self) -> None:
        self.jobs.close()
        if self.lock:
            self.lock.release(remove=True)
            self.lock = None
        shutil.rmtree(self.boundary.private, ignore_errors=True)


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


def ledger(here: Here, librarian: Model | None) -> Ledger:
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


def prepared(here: Here, notices: list[str]) -> bool:
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


def transcript_of(
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
