"""The line-based front end: messages in, words out, on the same desk as the app."""

import asyncio
import gc
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TextIO

from ogcode.agent.clean import clean
from ogcode.agent.model import ModelError
from ogcode.agent.tools.ask_user import Question
from ogcode.agent.turn import ToolCall, Verdict
from ogcode.tui.desks.desk import Desk, NotDone
from ogcode.tui.linear.asking import ask_call, ask_change, ask_question
from ogcode.tui.linear.lines import Lines
from ogcode.tui.linear.telling import Telling
from ogcode.tui.screen.actions.command import Command, parse

_HELLO = "ogcode, line by line; /help lists commands, Ctrl+C interrupts, Ctrl+D leaves"
_AGAIN = 2.0
"""Seconds within which a second Ctrl+C leaves."""
_BLIND = 0.3
"""Seconds after a question within which a typed line is no answer: it was meant as a message."""
_PATIENCE = 5.0
"""Seconds that a turn has to be recorded when all is to end."""


class Linear:
    """Implements `Front`."""

    stop_key = "Ctrl+C"

    def __init__(self, desk: Desk, lines: int, out: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.desk = desk
        self._lines = Lines(lines, self._aside)
        self._out = out
        self._clock = clock
        self.telling = Telling(self.tell, desk.work)
        self._waiting = deque[str]()
        """Messages that were typed beside a turn."""
        self._busy: asyncio.Future[None] | None = None
        self._examined: Coroutine[Any, Any, None] | None = None
        self._asking = asyncio.Lock()
        self._always = set[tuple[str, ...]]()
        self._refused = set[tuple[str, str]]()
        """Name and text of files that were shown and not accepted."""
        self._invited = False
        """The line on the screen is the user's."""
        self._code: int | None = None
        """What all ends with, once it is to end."""
        self._left = asyncio.Event()
        self._pressed = float("-inf")

    @property
    def transcript(self) -> "Linear":
        return self

    @property
    def prompt(self) -> "Linear":
        return self

    async def say(self, text: str, kind: str = "quiet") -> None:
        for line in text.split("\n"):
            self.tell(f"warning: {line}" if kind == "warning" else line)

    def put(self, text: str) -> None:
        """Do nothing: a line that has been read can't be written on."""

    def tell(self, text: str) -> None:
        """Write lines, none for nothing."""
        if text.strip():
            self._write(f"{'' if not self._invited else chr(10)}{clean(text, prose=True)}\n")
            self._invited = False

    async def run(self, first_prompt: str) -> int:
        """Take messages until there are no more; give the exit code.

        Raises:
            ModelError, SessionUnknown, SessionTaken, SandboxMissing: it could not begin.
        """
        self._lines.begin()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave, 128 + number)
        self.tell(_HELLO)
        await self._done(self._open(first_prompt))
        while self._code is None and (text := await self._message()) is not None:
            await self._done(self._do(text))
        return self._code or 0

    async def send(self, text: str) -> None:
        """Run a turn, from the message to its end."""
        self.telling.begin()
        self.tell("the turn begins")
        try:
            await self.desk.ask(text, emit=self.telling.event, approve=self._approve)
        except ModelError as error:
            if not self.telling.turn:
                self.tell(f"failed: {error}")
        finally:
            outcome = self.telling.turn.outcome if self.telling.turn else "failed"
            while outcome != "done" and self._waiting:
                self.tell(f"not sent: {self._waiting.popleft()}")
        await self._show_unbelieved()

    def examine(self, looking: Coroutine[Any, Any, None]) -> None:
        self._examined = looking

    async def reply(self) -> str | None:
        """Take the line that answers what was just asked; None where nobody will."""
        asked = self._clock()
        while True:
            self._invite("answer")
            line = await self._lines.next()
            self._invited = False
            if line is None or not self._lines.typed or self._clock() - asked >= _BLIND:
                return line if line is None else line.strip()
            self._aside(line)

    def tell_earlier(self) -> None:
        """Tell of the turns that the session has by now."""
        if earlier := self.desk.earlier():
            request, answer = earlier[-1]
            self.tell(f"earlier in this session, turns: {len(earlier)}; in the last one you said: {request}")
            self.tell(f"answer: {answer}")

    def forget(self) -> None:
        """Ask again for what was allowed until now."""
        self._always.clear()

    def leave(self, code: int) -> None:
        """End what runs, so that it is recorded, then all."""
        self._code = code
        self._left.set()
        if self._busy:
            self._busy.cancel()
        self._lines.end()

    async def _open(self, first_prompt: str) -> None:
        await self.desk.open()
        self.tell_earlier()
        for notice in self.desk.notices:
            await self.say(notice, "warning")
        self.desk.work.answer_with(self._answer)
        status = self.desk.status()
        self.tell(f"ready: model {status.model}, mode {status.mode}")
        await self._show_unbelieved()
        if first_prompt:
            await self._do(first_prompt)

    async def _done(self, doing: Coroutine[Any, Any, None]) -> None:
        """See something to its end; an interrupt ends it, and where all is to end it has only so long."""
        self._busy = busy = asyncio.ensure_future(doing)
        left = asyncio.ensure_future(self._left.wait())
        await asyncio.wait({busy, left}, return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        if not busy.done():
            await asyncio.wait({busy}, timeout=_PATIENCE)
        self._busy = None
        if busy.done() and not busy.cancelled() and (error := busy.exception()):
            raise error

    async def _message(self) -> str | None:
        """Take the next message: one that waits, or the next line, with those that it goes on in."""
        lines = list[str]()
        while not lines or lines[-1].endswith("\\"):
            if self._waiting:
                lines.append(self._waiting.popleft())
            else:
                self._invite("message" if not lines else "more")
                line = await self._lines.next()
                self._invited = False
                if line is None:
                    return None
                lines.append(line)
        return "\n".join([*(line[:-1] for line in lines[:-1]), lines[-1]])

    async def _do(self, text: str) -> None:
        if not text.strip():
            return
        if command := parse(text):
            from ogcode.tui.linear.commands import named, unknown  # slow to load: not before there is one

            name, argument = command
            if found := named(name):
                await self._run_command(found, argument)
            else:
                self.tell(unknown(name))
            return
        self.desk.prompt.remember(text)
        if text.startswith("!") and (own := text.lstrip("!").strip()):
            await self._run_own(own, tell=not text.startswith("!!"))
        else:
            await self.send(text)

    async def _run_command(self, command: "Command[Linear]", argument: str) -> None:
        try:
            await command.run(self, argument)
            if looking := self._examined:
                self._examined = None
                await looking
        except (ModelError, NotDone) as error:
            self.tell(f"warning: {error}")

    async def _run_own(self, command: str, *, tell: bool) -> None:
        try:
            ran = await self.desk.prompt.run(command, lambda _: None, tell=tell)
        except (OSError, ValueError) as error:
            self.tell(f"it could not be started: {error}")
            return
        self.tell(ran.output)
        self.tell("the command failed" if ran.failed else "the command is done")

    async def _approve(self, call: ToolCall, why: str) -> Verdict:
        """Ask the user; what was always allowed is, for the same reason and in the same bounds."""
        asking = self.desk.rights.asking(call, why)
        exact = call.name, call.arguments, asking.why, asking.boundary
        async with self._asking:
            if exact in self._always:
                return Verdict(True)
            verdict, always = await ask_call(self, call, asking)
        if always:
            self._always.add(exact)
        return verdict

    async def _answer(self, question: Question) -> str:
        async with self._asking:
            return await ask_question(self, question)

    async def _show_unbelieved(self) -> None:
        for seen in self.desk.rights.unbelieved():
            if (key := (seen.file.name, seen.file.text)) not in self._refused:
                self._refused.add(key)
                if await ask_change(self, seen):
                    self.tell(self.desk.rights.believe(seen))

    def _aside(self, line: str) -> None:
        """Take a line that was typed beside what runs."""
        word, _, rest = line.strip().partition(" ")
        if word == "/stop":
            self._interrupt()
        elif word == "/steer" and rest:
            self.desk.prompt.steer(rest)
            self.tell("said into the turn: it is taken up at the next step")
        elif word:
            self._waiting.append(line)
            self.tell("it waits until the turn is over; /steer and a text says it into the turn")

    def _interrupt(self) -> None:
        now, before = self._clock(), self._pressed
        self._pressed = now
        if self._busy and not self._busy.done() and now - before >= _AGAIN:
            self.tell("interrupting")
            self._busy.cancel()
        elif now - before < _AGAIN:
            self.leave(130 if self._busy else 0)
        else:
            self.tell("Ctrl+C again leaves")
            self._invite("message")

    def _invite(self, what: str) -> None:
        if self._lines.typed and not self._invited:
            self._write(f"{what}> ")
            self._invited = True

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except OSError:  # nobody reads it: what runs is recorded, and then there is no more to do
            if self._code is None:
                self.leave(0)


def run_linear(desk: Desk, *, first_prompt: str = "") -> int:
    """Run it to its end and give the exit code.

    Raises:
        ModelError, SessionUnknown, SessionTaken, SandboxMissing: it could not begin.
    """
    gc.enable()
    try:
        return asyncio.run(_run(desk, first_prompt))
    finally:
        desk.close()


async def _run(desk: Desk, first_prompt: str) -> int:
    return await Linear(desk, 0, sys.stdout).run(first_prompt)
