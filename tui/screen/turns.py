"""The turn that runs: it is begun, followed on the screen, interrupted, and recorded before the app ends."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.worker import Worker

from ogcode.agent.events import (
    Answered,
    Event,
    Nested,
    ReasoningDelta,
    Retrying,
    Steered,
    SummedUp,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    Waiting,
)
from ogcode.agent.model import ModelError
from ogcode.agent.turn import Outcome
from ogcode.tui.screen.frames import Frames
from ogcode.tui.screen.steps import follow_steps
from ogcode.tui.screen.terminal import call_out
from ogcode.tui.screen.transcript import Happened, TurnOver

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

_PATIENCE = 5.0
"""Seconds that a turn has to be recorded when the app is to end."""


class Turns:
    """Runs them, one at a time."""

    def __init__(self, app: "Ogcode") -> None:
        self._app = app
        self._turn: Worker[None] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._outcome: Outcome = "done"

    @property
    def running(self) -> bool:
        return self._turn is not None

    async def begin(self, text: str) -> None:
        """Send a message to the model."""
        app = self._app
        await app.transcript.ask(text)
        self._outcome = "failed"
        app.activity.begin()
        self._idle.clear()
        self._turn = app.run_worker(self._run(text), exit_on_error=False)

    async def _run(self, text: str) -> None:
        app, failure = self._app, ""
        frames = Frames(self._hand_on)
        try:
            await app.desk.ask(text, emit=frames.add, approve=app.approve)
        except ModelError as error:
            failure = str(error)
        except Exception as error:
            failure = f"the turn failed in ogcode itself: {type(error).__name__}: {error}"
        finally:
            frames.flush()
            app.transcript.post_message(TurnOver(failure))

    def _hand_on(self, event: Event) -> None:
        self._app.transcript.post_message(Happened(event))

    def follow(self, event: Event) -> None:
        """Tell beside the transcript what happens."""
        app, say = self._app, self._app.activity.say
        match event:
            case TextDelta():
                say("answering")
                return
            case ReasoningDelta() | Nested():
                return
            case SummedUp():
                say("working")
            case Answered(_, _, usage):
                app.activity.fill(usage.tokens, app.desk.status().window)
            case ToolStarted(call):
                say(f"running {call.name}")
            case ToolFinished():
                say("working")
                app.call_later(follow_steps, app, event)
            case Retrying():
                say("waiting to try again")
            case Waiting(reason):
                say(reason)
            case Steered(text):
                app.queue.taken(text)
            case TurnFinished(turn):
                self._outcome = turn.outcome
        app.look()

    async def over(self) -> None:
        """Send what waits for the end of the turn; give it back where the turn was cut short."""
        app = self._app
        self._turn = None
        self._idle.set()
        app.activity.end()
        if not app.app_focus:
            call_out(app, app.desk.settings.notify, f"ogcode: the turn is over ({self._outcome})")
        if self._outcome != "done" and (left := app.queue.give_up()):
            app.prompt.put("\n\n".join(filter(None, [*left, app.prompt.whole])))
        elif waiting := app.queue.next():
            await self.begin(waiting)
        app.look()

    def interrupt(self) -> None:
        if self._turn is not None:
            self._app.activity.say("interrupting")
            self._turn.cancel()

    async def end(self) -> None:
        """Interrupt the turn and give it the time to be recorded."""
        self.interrupt()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), _PATIENCE)
