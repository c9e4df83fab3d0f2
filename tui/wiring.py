"""Where everything is put together: the folder, its trust, its settings, the model, the session and its tools."""

import contextlib
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ogcode.agent.config import Config, ConfigBroken, load_config
from ogcode.agent.durable import Lock
from ogcode.agent.events import Emit, ignore
from ogcode.agent.loop import Approve
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.manifest import Manifest
from ogcode.agent.memory.spool import add_job, prepare_store
from ogcode.agent.model import Model, Who
from ogcode.agent.permissions import Ask, Denial, Mode, Rules, policy
from ogcode.agent.prompt import system_prompt
from ogcode.agent.root import Root, find_root
from ogcode.agent.seal import Seal
from ogcode.agent.secrets import known_secrets
from ogcode.agent.session import Ledger, Session, Start, reopened
from ogcode.agent.tool import Tool
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.transcript import Past, Transcript, is_own, latest, own_sessions, recollect
from ogcode.agent.trust import Trust
from ogcode.agent.turn import Turn, Usage

if TYPE_CHECKING:
    from ogcode.librarian.library import Library

MemorySwitch = Literal["on", "read", "off"]
Clock = Callable[[], datetime]
MEMORY_TOOLS = frozenset(("memory_recall", "project_memory_recall"))


class SessionUnknown(Exception):
    """No such session; the text says which there are."""


@dataclass(frozen=True, slots=True)
class Here:
    """What is known of the place before any model is: cheap, and nothing of an untrusted folder believed."""

    environ: Mapping[str, str]
    home: Path
    root: Root
    folder: Path
    trusted: bool
    config: Config
    notices: tuple[str, ...]
    now: Clock

    @property
    def seal(self) -> Seal:
        return Seal(self.home)

    @property
    def secrets(self) -> tuple[str, ...]:
        return known_secrets(self.environ)

    def workspace(self) -> Workspace:
        return Workspace(self.root.top, (self.root.store, self.home))


def home_of(environ: Mapping[str, str]) -> Path:
    """Find the user's ogcode folder: OGCODE_HOME, else `~/.ogcode`."""
    if given := environ.get("OGCODE_HOME"):
        return Path(given).expanduser().absolute()
    return Path(environ.get("HOME") or "~").expanduser().absolute() / ".ogcode"


def look_around(folder: Path, environ: Mapping[str, str], now: Clock, *, trust: bool) -> Here:
    """Take in the folder; `trust` gives it the user's trust.

    Raises:
        ConfigBroken, TrustBroken: a file of the user's can't be used.
    """
    home = home_of(environ)
    root = find_root(folder, Path(environ["HOME"]) if environ.get("HOME") else None)
    book = Trust(home)
    notices = list[str]()
    if trust:
        try:
            book.give(root, now())
        except OSError as error:
            notices.append(f"{home / 'trust.json'} can't be written ({error.strerror}); trust lasts for this run")
    trusted = (book.holds(root) or environ.get("OGCODE_TRUST") == "1" or bool(notices)) and root.sound
    project = root.top / ".ogcode" if trusted and not root.wide else None
    config, ignored = load_config(home, project)
    return Here(environ, home, root, folder.resolve(), trusted, config, (*notices, *ignored), now)


def rules_of(here: Here, allow: Sequence[str], deny: Sequence[str]) -> Rules:
    """Put the rules of a command line behind those of the settings.

    Raises:
        ConfigBroken: one is no rule.
    """
    try:
        return Rules((*here.config.rules.allow, *allow), (*here.config.rules.deny, *deny))
    except ValueError as error:
        raise ConfigBroken(str(error)) from error


def ignored_here(here: Here) -> list[str]:
    """Name what an untrusted folder holds that is not believed."""
    if here.trusted:
        return []
    names = ("AGENTS.md", "AGENT.md", "MEMORY.md", ".ogcode/config.toml")
    found = [name for name in names if (here.root.top / name).exists()]
    manifest = Manifest(here.home, here.root.path)
    notes = [path.stem for path in here.root.memory.glob("*.md")] if here.root.memory.is_dir() else []
    others = sum(manifest.origin("--".join(note.split("--")[:2]), "") == "foreign" for note in notes)
    return [*found, *([f"{others} notes by others" if others > 1 else "1 note by others"] if others else [])]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which session to go on with."""

    resume: str = ""
    """A session id or the start of one."""
    latest: bool = False
    fork: bool = False


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
    chosen = _chosen(here, choice)  # before a turn that is closed makes another session the latest
    if writable:
        finish_open_turns(here)
    past = recollect(chosen) if chosen else None
    lock: Lock | None = None
    if past:
        lock = Lock.take(_lock_file(here, past.session_id)) if writable else None
        if choice.fork or (writable and lock is None):
            if not choice.fork:
                notices.append(f"session {past.session_id[:8]} is in use elsewhere; going on in a fork of it")
            if lock:
                lock.release(remove=True)
            past = _forked(past)
            lock = Lock.take(_lock_file(here, past.session_id)) if writable else None
    identity = past.session_id if past else uuid.uuid4().hex
    if lock is None and writable:
        lock = Lock.take(_lock_file(here, identity))
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
        record=_recorder(here) if writable else None,
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
        mode=mode,
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


def finish_open_turns(here: Here) -> None:
    """Record the turns that a kill left open, where nobody holds their sessions; what fails is left for next time."""
    for path in here.root.locks.glob("session-*"):
        with contextlib.suppress(OSError):  # what is no lock, such as a link, or a full disk
            if lock := Lock.take(path):
                try:
                    _finish_open_turn(here, here.root.sessions / f"{path.name.removeprefix('session-')}.jsonl")
                except OSError:
                    lock.release()
                    continue
                lock.release(remove=True)


def _finish_open_turn(here: Here, transcript: Path) -> None:
    if is_own(transcript, here.seal) and (left := recollect(transcript)).open_turn:
        turn = reopened(left.open_turn.progress.turn("interrupted"))
        _close_turn(Start(left.session_id, left), turn, Transcript(transcript), _recorder(here))


def _close_turn(start: Start, turn: Turn, transcript: Transcript, record: Callable[[Turn, Place], Job]) -> None:
    from ogcode.agent.prompt import Previous
    from ogcode.agent.session import own_tokens

    past = start.past
    if past is None or past.open_turn is None:
        return
    left = past.open_turn
    job = (
        None
        if turn.empty
        else record(turn, Place(start.session_id, left.number, left.started, left.model, left.window))
    )
    previous = Previous(left.number, turn.answer, turn.outcome, job.id if job else "", job.changed if job else ())
    transcript.turn_finished(turn, previous, own_tokens(turn))


def _recorder(here: Here) -> Callable[[Turn, Place], Job]:
    def record(turn: Turn, place: Place) -> Job:
        return add_job(here.root.store, capture(turn, place, here.root.top, here.secrets), here.seal)

    return record


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


def _lock_file(here: Here, session_id: str) -> Path:
    return here.root.locks / f"session-{session_id}"


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


def _chosen(here: Here, choice: Choice) -> Path | None:
    if choice.latest:
        path = latest(here.root.sessions, here.root.top, here.seal)
        if path is None:
            raise SessionUnknown(f"there is no earlier session in {here.root.top}; start one without --continue")
        return path
    if not choice.resume:
        return None
    near = [path for path in own_sessions(here.root.sessions, here.seal) if path.stem.startswith(choice.resume)]
    if not near:
        raise SessionUnknown(f"there is no session '{choice.resume}' in {here.root.path}; ogcode sessions lists them")
    if len(near) > 1:
        raise SessionUnknown(f"'{choice.resume}' could be {', '.join(path.stem[:12] for path in near[:6])}; name one")
    return near[0]


def _forked(past: Past) -> Past:
    done = past.turns - (past.open_turn is not None)  # one that is running elsewhere is not of this conversation
    return replace(past, session_id=uuid.uuid4().hex, parents={**past.parents, past.session_id: done}, open_turn=None)


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


def utc_now() -> datetime:
    return datetime.now(UTC).astimezone()
