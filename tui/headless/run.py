"""`ogcode -p`: a turn, or one for each message on stdin; answers on stdout and nothing else there."""

import asyncio
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.events import Event, ToolFinished, TurnFinished, ignore
from ogcode.agent.files.durable import replace_file
from ogcode.agent.memory.switch import MEANS
from ogcode.agent.rights.permissions import Denial, Mode, Rules
from ogcode.agent.turn import Limits, Turn, Usage
from ogcode.tui.arguments import Arguments
from ogcode.tui.arrival import arrive, memory_given, rules_given, without_tool
from ogcode.tui.earlier import Choice
from ogcode.tui.headless.asked import BadInput, Request, read_messages, read_request
from ogcode.tui.headless.output import Json, Output, StreamJson, Text
from ogcode.tui.headless.partial import Partial
from ogcode.tui.headless.progress import Lines, Live, Progress, Quiet, Started
from ogcode.tui.headless.result import Outcome
from ogcode.tui.headless.signals import Signals
from ogcode.tui.opened import Opened
from ogcode.tui.place import Here, closed_here, ignored_here
from ogcode.tui.toolbox import approval
from ogcode.tui.wiring import open_session, start_scribe

if TYPE_CHECKING:
    from ogcode.tui.headless.structured import Structure

_MEMORY_WAIT_IN_CI = 60.0
_MEMORY_WAIT_AFTER_A_SIGNAL = 5.0
"""Seconds: whoever sent it will not wait for ever."""


def run_headless(given: Arguments, folder: Path) -> int:
    """Run what was asked and print what came of it; return the exit code.

    Raises:
        BadInput, ModelError, SessionUnknown, ConfigBroken, TrustBroken: nothing was asked, or nothing further.
        OSError: what was answered can't be written.
    """
    began = time.monotonic()
    several = given.input_format == "stream-json"
    request = None if several else read_request(given, folder)
    kept = _target(given.last_message, folder)
    structure = _structure(given.schema, folder)
    here = arrive(given, folder, trust=given.trust, also=structure.instructions if structure else "")
    return asyncio.run(_run(_Asked(given, here, rules_given(given, here), request, structure, kept, began)))


@dataclass(frozen=True, slots=True)
class _Asked:
    given: Arguments
    here: Here
    rules: Rules
    request: Request | None
    """None: they come on stdin."""
    structure: "Structure | None"
    kept: Path | None
    """Where the last answer goes besides."""
    began: float

    @property
    def mode(self) -> Mode:
        return self.given.mode or self.here.config.mode


@dataclass(frozen=True, slots=True)
class _At:
    """What the turns of a run have in common."""

    asked: _Asked
    opened: Opened
    output: Output
    progress: Progress
    signals: Signals


async def _run(asked: _Asked) -> int:
    from ogcode.agent.models.choice import choose, names_cost
    from ogcode.tui.models import librarian_here, model_here

    given, here = asked.given, asked.here
    signals = Signals()
    signals.watch()
    name = await choose(flag=given.model, environ=here.environ, configured=here.config.model)
    model = await model_here(here, name)
    progress = _progress(given, here)
    if given.max_cost is not None and model.prices is None and not names_cost(model.name):
        sys.stderr.write(f"ogcode: --max-cost can't be kept: no price is known for {name}; use --max-tokens\n")
        return 2
    helper = await librarian_here(here, model)
    choice = Choice(given.resume or "", given.go_on, given.fork, given.session_id or "")
    if closed := closed_here(here):
        progress.notice(closed)
    opened = open_session(here, model, choice, memory=memory_given(given, here), librarian=helper)
    at = _At(asked, opened, _output(given, opened), progress, signals)
    try:
        for notice in _notices(at):
            progress.notice(notice)
        started = Started(opened.session.id, model.name, asked.mode, tuple(each.name for each in opened.tools(ignore)))
        progress.begin(started)
        at.output.begin(started)
        if asked.request:
            return (await _turn(at, asked.request, Usage(), asked.began)).code
        return await _turns(at, read_messages(sys.stdin.fileno()))
    finally:
        progress.close()
        opened.close()


async def _turns(at: _At, messages: AsyncIterator[Request]) -> int:
    """Run a turn for each message; return the code of the first that failed."""
    code, spent, count = 0, Usage(), 0
    while not at.signals.code:
        try:
            request = await at.signals.ending(anext(messages))
        except StopAsyncIteration:
            break
        except asyncio.CancelledError:
            return at.signals.code
        count += 1
        outcome = await _turn(at, request, spent, time.monotonic())
        code, spent = code or outcome.code, spent + outcome.turn.usage
    if not count:
        raise BadInput("no message came on stdin")
    return code


async def _turn(at: _At, request: Request, spent: Usage, began: float) -> Outcome:
    """Run one turn, `spent` being what those before it took of the limits, and print its result."""
    asked, opened, signals = at.asked, at.opened, at.signals
    denials = list[Denial]()
    finished = list[TurnFinished]()
    denied = False

    def emit(event: Event) -> None:
        nonlocal denied
        if isinstance(event, TurnFinished):
            finished.append(event)
        if isinstance(event, ToolFinished):
            denied = event.failed and event.output.startswith("error: not allowed:")
        at.progress.event(event)
        at.output.event(event)

    try:
        with opened.at_work():
            asking = opened.session.ask(
                request.prompt,
                emit=emit,
                approve=approval(asked.here, opened, None, mode=lambda: asked.mode, rules=asked.rules, denials=denials),
                limits=_limits(asked.given, spent),
                images=request.images,
                form=asked.structure.form if asked.structure else None,
            )
            turn = await signals.ending(asking)
    except asyncio.CancelledError:
        turn = finished[-1].turn if finished else Turn(request.prompt, "", (), "interrupted", reason=signals.why)
    note = finished[-1].note if finished else ""
    if asked.request:
        opened.close()
    if note:
        _start_scribe(at)
    pending = bool(note) and not await _written(at, note)
    structured = asked.structure.check(turn.answer) if asked.structure else None
    outcome = Outcome(
        turn=turn,
        finished=finished[-1] if finished else TurnFinished(turn, ""),
        code=signals.code or exit_code(turn, denied=denied, wrong=bool(structured and structured.wrong)),
        session_id=opened.session.id,
        spent=opened.session.usage,
        denials=tuple(denials),
        note=note,
        pending=pending,
        seconds=time.monotonic() - began,
        here=asked.here,
        structured=structured,
        signalled=signals.why,
    )
    at.progress.close()
    at.output.end(outcome)
    at.progress.end(outcome.complaint, outcome.waiting)
    if asked.kept:
        _keep(asked.kept, outcome.said)
    return outcome


def _structure(schema: str, folder: Path) -> "Structure | None":
    if not schema:
        return None
    from ogcode.tui.headless.structured import Structure  # only where one is asked for

    return Structure(schema, folder)


def _limits(given: Arguments, spent: Usage) -> Limits:
    """Tell what is left: turns and seconds are of each turn, tokens and cost of the run."""
    tokens = None if given.max_tokens is None else max(0, given.max_tokens - spent.tokens)
    cost = None if given.max_cost is None else max(0.0, given.max_cost - (spent.cost or 0.0))
    return Limits(given.max_turns, tokens, cost, given.time_limit)


def _start_scribe(at: _At) -> None:
    try:
        start_scribe(at.asked.here, linger=0.0)
    except OSError as error:  # the turn is safe in the spool: the next start will do it
        at.progress.notice(f"the note is not being written yet: {error.strerror}; ogcode memory wait")


async def _written(at: _At, note: str) -> bool:
    """Wait for a note; tell whether it is there. A signal ends the wait."""
    given, here, signals = at.asked.given, at.asked.here, at.signals
    seconds = given.memory_wait
    if seconds is None:
        seconds = _MEMORY_WAIT_IN_CI if here.environ.get("CI") else 0.0
    if signals.code:
        seconds = min(seconds, _MEMORY_WAIT_AFTER_A_SIGNAL)
    deadline, before = time.monotonic() + seconds, signals.count
    while not note_is_there(here, note):
        if time.monotonic() >= deadline or signals.count != before:
            return False
        await asyncio.sleep(0.02)
    return True


def _notices(at: _At) -> Iterator[str]:
    """Say what the user should know before the first turn."""
    given, here, opened = at.asked.given, at.asked.here, at.opened
    if ignored := ignored_here(here):
        yield f"this folder is not trusted: {', '.join(ignored)} ignored, commands and writes denied; --trust trusts it"
    yield from opened.notices
    if here.config.memory != "on" and not given.memory and not given.bare:
        yield f"memory is {opened.memory} by the settings: {MEANS[opened.memory]}"
    if missing := without_tool(given, {tool.name for tool in opened.all_tools(ignore)}):
        yield f"there is no tool {', '.join(missing)} here; what the flags say of it does nothing"


def _progress(given: Arguments, here: Here) -> Progress:
    if given.quiet:
        return Quiet(sys.stderr)
    if sys.stderr.isatty() and here.environ.get("TERM") not in (None, "", "dumb") and not given.verbose:
        return Live(sys.stderr)
    return Lines(sys.stderr, more=given.verbose)


def _output(given: Arguments, opened: Opened) -> Output:
    match given.output_format:
        case "json":
            return Json(sys.stdout)
        case "stream-json":
            partial = Partial(opened.session.model.name, lambda: uuid.uuid4().hex) if given.partial else None
            return StreamJson(sys.stdout, opened.session.id, str(opened.here.folder), partial=partial)
        case _:
            return Text(sys.stdout)


def _target(name: str, folder: Path) -> Path | None:
    """Find where the last answer goes, before anything is spent on it."""
    if not name:
        return None
    path = Path(os.path.realpath(folder / name))
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f"--output-last-message {name}: it can't be written")
    return path


def _keep(path: Path, text: str) -> None:
    """Write the last answer, whole; what is no file, such as a pipe, is written to and not replaced."""
    content = f"{text}\n".encode("utf-8", "replace")
    mode = path.stat().st_mode if path.exists() else None
    if mode is not None and not path.is_file():
        path.write_bytes(content)
        return
    replace_file(path, content)
    if mode is not None:
        path.chmod(mode & 0o777)


def exit_code(turn: Turn, *, denied: bool, wrong: bool = False) -> int:
    """Map how a turn ended to the exit code that scripts rely on; `wrong` is an answer of another shape than asked."""
    match turn.outcome, turn.cause:
        case "done", _:
            return 1 if wrong else 55 if denied else 0
        case _, "time":
            return 3
        case _, "turns" | "loop":
            return 53
        case _, "tokens" | "cost" | "window":
            return 54
        case _, "provider":
            return 75
        case "interrupted", _:
            return 130
        case _:
            return 1


def note_is_there(here: Here, note: str) -> bool:
    """Tell whether a turn has its note, be it one without a model."""
    return any(here.root.memory.glob(f"{note}--*.md"))
