"""`ogcode -p`: one turn, its answer on stdout and nothing else there."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.events import Event, ToolFinished, TurnFinished
from ogcode.agent.memory.switch import MEANS
from ogcode.agent.permissions import Denial, Rules
from ogcode.agent.turn import Limits, Turn
from ogcode.tui.arguments import Arguments
from ogcode.tui.earlier import Choice
from ogcode.tui.output import Json, Outcome, Output, Started, StreamJson, Text
from ogcode.tui.place import Here, ignored_here, look_around, rules_of, utc_now
from ogcode.tui.wiring import Opened, approval, open_session, start_scribe

STDIN_LARGEST = 2_000_000
"""Bytes of stdin that become part of a prompt at most."""

_MEMORY_WAIT_IN_CI = 60.0


def run_headless(given: Arguments, folder: Path) -> int:
    """Run one turn and print what came of it; return the exit code.

    Raises:
        ModelError, SessionUnknown, ConfigBroken, TrustBroken: nothing was asked.
    """
    began = time.monotonic()
    prompt = _prompt(given)
    if prompt is None:
        return 42
    here = look_around(folder, dict(os.environ), utc_now, trust=given.trust)
    return asyncio.run(_run(given, here, prompt, rules_of(here, given.allow, given.deny), began))


async def _run(given: Arguments, here: Here, prompt: str, rules: Rules, began: float) -> int:
    from ogcode.agent.models.choice import choose, open_model

    signals = _Signals()
    signals.watch()
    name = await choose(flag=given.model, environ=here.environ, configured=here.config.model)
    settings = {"environ": here.environ, "api_base": here.config.api_base, "prices_cache": here.home / "prices.json"}
    model = await open_model(name, num_ctx=here.config.num_ctx, **settings)  # type: ignore[arg-type]  # named above
    if given.max_cost is not None and model.prices is None:
        _say(f"ogcode: --max-cost can't be kept: no price is known for {model.name}; use --max-tokens")
        return 2
    helper = None
    if here.config.librarian_model:
        helper = await open_model(here.config.librarian_model, num_ctx=here.config.num_ctx, **settings)  # type: ignore[arg-type]
    choice = Choice(given.resume or "", given.go_on, given.fork)
    opened = open_session(here, model, choice, memory=given.memory or here.config.memory, librarian=helper)
    output = _output(given, opened, here)
    if ignored := ignored_here(here):
        output.notice(
            f"this folder is not trusted: {', '.join(ignored)} ignored, commands and writes denied; --trust trusts it"
        )
    for notice in opened.notices:
        output.notice(notice)
    if not given.memory and here.config.memory != "on":
        output.notice(f"memory is {opened.memory} by the settings: {MEANS[opened.memory]}")
    denials = list[Denial]()
    finished = list[TurnFinished]()
    unfinished = False

    def emit(event: Event) -> None:
        nonlocal unfinished
        if isinstance(event, TurnFinished):
            finished.append(event)
        if isinstance(event, ToolFinished):
            unfinished = event.failed and event.output.startswith("error: not allowed:")
        output.event(event)

    mode = given.mode or here.config.mode
    approve = approval(here, opened, None, mode=mode, rules=rules, denials=denials)
    output.begin(Started(opened.session.id, model.name, mode, tuple(tool.name for tool in opened.tools(emit))))
    limits = Limits(given.max_turns, given.max_tokens, given.max_cost, given.time_limit)
    task = asyncio.ensure_future(opened.session.ask(prompt, emit=emit, approve=approve, limits=limits))
    signals.task = task
    try:
        turn = await task
    except asyncio.CancelledError:
        turn = finished[-1].turn if finished else Turn(prompt, "", (), "interrupted")
    note = finished[-1].note if finished else ""
    opened.close()
    if note:
        try:
            start_scribe(here, linger=0.0)
        except OSError as error:  # the turn is safe in the spool: the next start will do it
            output.notice(f"the note is not being written yet: {error.strerror}; ogcode memory wait")
    code = signals.code or exit_code(turn, denied=unfinished)
    pending = bool(note) and not await _written(here, note, _wait(given, here), signals)
    last = finished[-1] if finished else TurnFinished(turn, "")
    output.end(
        Outcome(turn, last, code, opened.session.id, tuple(denials), note, pending, time.monotonic() - began, here)
    )
    return code


def exit_code(turn: Turn, *, denied: bool) -> int:
    """Map how a turn ended to the exit code that scripts rely on."""
    match turn.outcome, turn.cause:
        case "done", _:
            return 55 if denied else 0
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


class _Signals:
    """Turns SIGINT and SIGTERM into a cancelled turn and the exit code that belongs to them."""

    def __init__(self) -> None:
        self.code = 0
        self.task: asyncio.Future[Turn] | None = None

    def watch(self) -> None:
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)):
            if signal.getsignal(number) is not signal.SIG_IGN:  # under nohup, or in the background of a script
                loop.add_signal_handler(number, self._came, code)

    def _came(self, code: int) -> None:
        if self.code or self.task is None:  # the second time, or nothing to record yet
            os._exit(code)
        self.code = code
        self.task.cancel()


def _prompt(given: Arguments) -> str | None:
    """Put the prompt together from the argument and stdin; None, with a sentence said, where there is none."""
    piped = ""
    if given.prompt == "-" or not sys.stdin.isatty():
        with contextlib.suppress(OSError, ValueError):
            content = sys.stdin.buffer.read(STDIN_LARGEST + 1)
            if len(content) > STDIN_LARGEST:
                _say(f"ogcode: stdin is larger than {STDIN_LARGEST:,} bytes; put it into a file and name that")
                return None
            piped = content.decode("utf-8", "replace").strip()
    words = "" if given.prompt in (None, "-") else str(given.prompt).strip()
    prompt = f"{words}\n\n<stdin>\n{piped}\n</stdin>" if words and piped else words or piped
    if not prompt:
        _say('ogcode: the prompt is empty; give one: ogcode -p "what to do", or pipe it in')
        return None
    return prompt


def _output(given: Arguments, opened: Opened, here: Here) -> Output:
    match given.output_format:
        case "json":
            return Json(sys.stdout, sys.stderr)
        case "stream-json":
            return StreamJson(sys.stdout, sys.stderr, opened.session.id, str(here.folder))
        case _:
            return Text(sys.stdout, sys.stderr)


def _wait(given: Arguments, here: Here) -> float:
    if given.memory_wait is not None:
        return given.memory_wait
    return _MEMORY_WAIT_IN_CI if here.environ.get("CI") else 0.0


async def _written(here: Here, note: str, seconds: float, signals: _Signals) -> bool:
    """Wait for a note; tell whether it is there. A signal ends the wait."""
    deadline = time.monotonic() + seconds
    before = signals.code
    while not note_is_there(here, note):
        if time.monotonic() >= deadline or signals.code != before:
            return False
        await asyncio.sleep(0.02)
    return True


def note_is_there(here: Here, note: str) -> bool:
    """Tell whether a turn has its note, be it one without a model."""
    return any(here.root.memory.glob(f"{note}--*.md"))


def _say(text: str) -> None:
    sys.stderr.write(f"{clean(text)}\n")
