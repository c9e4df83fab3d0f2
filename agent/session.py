"""A conversation: turn after turn, each recorded before it is shown as finished, none sent again."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ogcode.agent.events import Answered, Emit, Event, Nested, Progress, SummedUp, TurnFinished, Warned
from ogcode.agent.facts.claim import NOTHING_SAVED, claims_in_vain
from ogcode.agent.facts.standing import Standing
from ogcode.agent.loop import Approve, Form, Steering, run_turn
from ogcode.agent.memory.capture import Place
from ogcode.agent.memory.job import Job
from ogcode.agent.memory.notes import note_id
from ogcode.agent.memory.spool import later_than
from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.model import TRANSIENT, ContextOverflow, Effort, Model, ModelError, Options, Who
from ogcode.agent.prompt import Previous, preface, previous_answer
from ogcode.agent.tool import Tool
from ogcode.agent.transcript import Past, Transcript
from ogcode.agent.turn import Cause, Image, Limits, Opening, Outcome, Turn, Usage

Ledger = Callable[[Usage, Who, Place, int], None]
"""Puts what a request has used on record, and how many tokens of earlier turns it did without."""
Record = Callable[[Turn, Place], Job]
"""Puts a turn on disk for the scribe and returns what it wrote. Raises OSError when it could not."""
Prepare = Callable[[], str]
"""Brings the system text up to date as a turn begins; gives what the model is told beside the user's words."""


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
        effort: Effort | None = None,
        prepare: Prepare = str,
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
        self.usage = past.usage if past else Usage()
        """Of all its turns, recalls included; of those that were resumed, too."""
        self.standing = past.standing if past else Standing()
        """What the user said for the rest of it."""
        self.beside = past.beside if past else ""
        """What the model is told with the next message, once."""
        self.running = ""
        """The id of the note that the current turn, or the last one, is to have."""
        self._previous = past.previous if past else None
        forked = past and past.turns == max(past.parents.values(), default=-1)
        self._inherited = past.previous if past and forked else None
        self._last_note = past.last_note if past else ""
        self._effort: Effort | None = effort
        self._tools = tools
        self._prepare = prepare
        self._now = now

    @property
    def previous(self) -> Previous | None:
        """The turn whose answer rides with the next message."""
        return self._previous

    def recallable(self) -> dict[str, int]:
        """Tell which turns belong to this conversation: its own before the current one, and its parents'."""
        return {**self.parents, self.id: self.turns}

    def go_back(self, past: Past) -> None:
        """Go on from what is left of its own past once turns were taken out of it, or brought back."""
        self._previous = past.previous or self._inherited
        self.standing, self.history_tokens = past.standing, past.history_tokens

    def stand(self, standing: Standing) -> None:
        """Let this hold for the rest of the conversation.

        Raises:
            OSError: it can't be kept; it holds until the session is left.
        """
        self.standing = standing
        if self.keep.transcript:
            self.keep.transcript.stands(standing)

    async def ask(
        self,
        text: str,
        *,
        emit: Emit,
        approve: Approve,
        limits: Limits,
        steering: Steering = tuple,
        images: Sequence[Image] = (),
        form: Form | None = None,
    ) -> Turn:
        """Run one turn and record it, whatever becomes of it; of images no more than what they were.

        Raises:
            CancelledError: it was interrupted; the turn is recorded as such.
        """
        number = self.turns + 1
        text = "\n".join([text, *(f"[image: {image}]" for image in images)])
        place = Place(
            self.id,
            number,
            later_than(self._last_note, self._now().astimezone(UTC)),
            self.model.name,
            self.model.window,
        )
        self.running = note_id(place.started, self.id)
        unsent = self._unsent()
        beside = self._prepare()
        told = (preface(self._previous, self.model.window, self.memory), self.standing.told(), self.beside, beside)
        self.beside = ""
        opening = Opening(self.system, text, "\n".join(filter(None, told)), tuple(images))
        progress = Progress(text)
        keep = _Keeper(self.keep, emit)
        keep.started(place, text)

        def report(event: Event) -> None:
            keep.event(event)
            emit(event)
            match event:
                case Answered(_, _, usage) if keep.ledger:
                    keep.ledger(usage, "agent", place, unsent)
                case SummedUp(_, usage) if keep.ledger:
                    keep.ledger(usage, "agent", place, 0)
                case Nested(_, Answered(_, _, usage)) if keep.ledger:
                    keep.ledger(usage, "librarian", place, 0)

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
                    options=Options(effort=self._effort),
                    form=form,
                    progress=progress,
                )
        except asyncio.CancelledError as cancelled:
            why = str(cancelled) or "interrupted by the user"
            await self._finish(cut_short("interrupted", "", why), place, keep, emit)
            raise
        except TimeoutError as error:
            if not clock.expired():  # a file system's, of a tool
                await self._finish(cut_short("failed", "error", f"{error or 'timed out'}"), place, keep, emit)
                raise
            turn = cut_short("limit", "time", f"the time limit of {limits.seconds or 0:g} s was reached")
        except ContextOverflow as error:
            turn = cut_short("limit", "window", str(error))
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
        unsent = self._unsent()
        shown = turn.answer or (f"({turn.outcome}: {turn.reason})" if turn.reason else "")
        ended = Previous(place.number, shown, turn.outcome, note, job.changed if job else ())
        own = own_tokens(turn)
        keep.finished(turn, ended, own)
        self._previous = self._previous if turn.empty else ended
        self._last_note = note or self._last_note
        self.history_tokens += own
        self.usage += turn.usage
        replay = turn.sent + turn.requests * unsent
        if turn.outcome == "done" and claims_in_vain(turn):
            emit(Warned(NOTHING_SAVED))
        fresh = min(own if unsent else own + turn.first_input, replay)  # of a first request nothing is cached yet
        emit(TurnFinished(turn, note, replay, fresh + (replay - fresh) // 10))
        if cancelled:
            raise cancelled

    def _unsent(self) -> int:
        """Tell how many tokens of earlier turns replay would send with each request, beside what is sent anyway."""
        sent = previous_answer(self._previous, self.model.window) if self._previous else ""
        return max(0, self.history_tokens - _tokens(sent))


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
    """Tell what a turn's own messages weigh in tokens, tool results included: what replay would send again."""
    return _tokens(turn.request) + turn.grown


def _tokens(text: str) -> int:
    """Estimate: UTF-8 bytes / 4."""
    return len(text.encode("utf-8", "replace")) // 4


def reopened(turn: Turn) -> Turn:
    """Mark a turn that a kill had left open."""
    return replace(turn, outcome="interrupted", reason="ogcode was ended while the turn ran")
