"""A conversation: turn after turn, each recorded before it is shown as finished, none sent again."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ogcode.agent.events import Answered, Emit, Event, Nested, Progress, TurnFinished, Warned
from ogcode.agent.loop import Approve, Steering, run_turn
from ogcode.agent.memory.capture import Place
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.spool import later_than
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import TRANSIENT, Model, ModelError, Who
from ogcode.agent.prompt import Previous, preface
from ogcode.agent.tool import Tool
from ogcode.agent.transcript import Past, Transcript
from ogcode.agent.turn import Cause, Limits, Opening, Outcome, Turn, Usage

Ledger = Callable[[Usage, Who, Place], None]
"""Puts what a request has used on record."""
Record = Callable[[Turn, Place], Job]
"""Puts a turn on disk for the scribe and returns what it wrote. Raises OSError when it could not."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a session goes on from."""

    session_id: str
    past: Past | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """Where the turns of a session go; what is None is not kept."""

    transcript: Transcript | None = None
    record: Record | None = None
    ledger: Ledger | None = None


class Session:
    """`model`, `system`, `keep` and `memory` may be set at any time; they hold from the next turn on."""

    def __init__(
        self,
        start: Start,
        *,
        model: Model,
        system: str,
        tools: Callable[[Emit], Sequence[Tool]],
        keep: Keep,
        memory: MemorySwitch,
        now: Callable[[], datetime],
    ) -> None:
        past = start.past
        self.id = start.session_id
        self.model = model
        self.system = system
        self.keep = keep
        self.memory: MemorySwitch = memory
        self.turns = past.turns if past else 0
        self.parents: Mapping[str, int] = past.parents if past else {}
        self.history_tokens = past.history_tokens if past else 0
        self._previous = past.previous if past else None
        self._last_note = past.last_note if past else ""
        self._tools = tools
        self._now = now

    def recallable(self) -> dict[str, int]:
        """Tell which turns belong to this conversation: its own before the current one, and its parents'."""
        return {**self.parents, self.id: self.turns}

    async def ask(self, text: str, *, emit: Emit, approve: Approve, limits: Limits, steering: Steering = tuple) -> Turn:
        """Run one turn and record it, whatever becomes of it.

        Raises:
            CancelledError: it was interrupted; the turn is recorded as such.
        """
        number = self.turns + 1
        place = Place(
            self.id,
            number,
            later_than(self._last_note, self._now().astimezone(UTC)),
            self.model.name,
            self.model.window,
        )
        opening = Opening(self.system, text, preface(self._previous, self.model.window, self.memory))
        progress = Progress(text)
        keep = _Keeper(self.keep, emit)
        keep.started(place, text)

        def report(event: Event) -> None:
            keep.event(event)
            emit(event)
            match event:
                case Answered(_, _, usage) if keep.ledger:
                    keep.ledger(usage, "agent", place)
                case Nested(_, Answered(_, _, usage)) if keep.ledger:
                    keep.ledger(usage, "librarian", place)

        def from_tool(event: Event) -> None:
            progress.add(event)
            report(event)

        def cut_short(outcome: Outcome, cause: Cause, reason: str) -> Turn:
            for event in progress.unanswered():
                from_tool(event)
            return progress.turn(outcome, cause, reason)

        try:
            async with asyncio.timeout(limits.seconds) as clock:
                turn = await run_turn(
                    opening,
                    model=self.model,
                    tools=self._tools(from_tool),
                    emit=report,
                    approve=approve,
                    limits=limits,
                    steering=steering,
                    progress=progress,
                )
        except asyncio.CancelledError:
            await self._finish(cut_short("interrupted", "", "interrupted by the user"), place, keep, emit)
            raise
        except TimeoutError as error:
            if not clock.expired():  # a file system's, of a tool
                await self._finish(cut_short("failed", "error", f"{error or 'timed out'}"), place, keep, emit)
                raise
            turn = cut_short("limit", "time", f"the time limit of {limits.seconds or 0:g} s was reached")
        except ModelError as error:
            turn = cut_short("failed", "provider" if isinstance(error, TRANSIENT) else "error", str(error))
        except GeneratorExit:  # the event loop is gone: the next start finishes the turn
            raise
        except BaseException as error:
            await self._finish(cut_short("failed", "error", type(error).__name__), place, keep, emit)
            raise
        await self._finish(turn, place, keep, emit)
        return turn

    async def _finish(self, turn: Turn, place: Place, keep: "_Keeper", emit: Emit) -> None:
        """Put the turn on disk, then show it as finished; who cancels meanwhile hears of it after that."""
        self.turns = place.number
        job: Job | None = None
        cancelled: asyncio.CancelledError | None = None
        if keep.record and not turn.empty:
            writing = asyncio.ensure_future(asyncio.to_thread(keep.record, turn, place))
            while not writing.done():
                try:
                    await asyncio.wait([writing])
                except asyncio.CancelledError as again:
                    cancelled = again
            try:
                job = writing.result()
            except OSError as error:
                emit(Warned(f"this turn could not be remembered: {error.strerror or error}"))
        note = job.id if job else ""
        earlier = max(0, self.history_tokens - _tokens(self._previous.answer if self._previous else ""))
        shown = turn.answer or (f"({turn.outcome}: {turn.reason})" if turn.reason else "")
        ended = Previous(place.number, shown, turn.outcome, note, job.changed if job else ())
        own = own_tokens(turn)
        keep.finished(turn, ended, own)
        self._previous = self._previous if turn.empty else ended
        self._last_note = note or self._last_note
        self.history_tokens += own
        replay = turn.sent + turn.requests * earlier
        fresh = min(own, replay)
        emit(TurnFinished(turn, note, replay, fresh + (replay - fresh) // 10))
        if cancelled:
            raise cancelled


class _Keeper:
    """Keeps one turn; writes the transcript as long as it can be written, and says once when it can't."""

    def __init__(self, keep: Keep, emit: Emit) -> None:
        self.record = keep.record
        self.ledger = keep.ledger
        self._transcript = keep.transcript
        self._emit = emit

    def started(self, place: Place, text: str) -> None:
        self._try(lambda kept: kept.turn_started(place.number, text, place.started, place.model, place.window))

    def event(self, event: Event) -> None:
        self._try(lambda kept: kept.add(event))

    def finished(self, turn: Turn, previous: Previous, own: int) -> None:
        self._try(lambda kept: kept.turn_finished(turn, previous, own))

    def _try(self, write: Callable[[Transcript], None]) -> None:
        if self._transcript is None:
            return
        try:
            write(self._transcript)
        except OSError as error:
            self._emit(Warned(f"{self._transcript.path}: the transcript can't be written: {error.strerror or error}"))
            self._transcript = None


def own_tokens(turn: Turn) -> int:
    """Tell what a turn's own messages weigh in tokens, tool results included: what replay would send again.

    By the provider's counts: what the turn had grown to, less what its first request held before the user's words.
    """
    words = _tokens(turn.request)
    if not turn.first_input:
        return words + _tokens(turn.answer)
    return max(words + _tokens(turn.answer), turn.last_context - turn.first_input + words)


def _tokens(text: str) -> int:
    """Estimate: UTF-8 bytes / 4."""
    return len(text.encode("utf-8", "replace")) // 4


def reopened(turn: Turn) -> Turn:
    """Mark a turn that a kill had left open."""
    return replace(turn, outcome="interrupted", reason="ogcode was ended while the turn ran")
