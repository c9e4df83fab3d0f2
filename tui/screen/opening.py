"""How the app begins: the prompt is of use at once, and what is sent before the desk is open waits for it."""

import gc
from functools import partial
from typing import TYPE_CHECKING

from ogcode.tui.first_frame import TITLE
from ogcode.tui.screen.actions.command import parse
from ogcode.tui.screen.asking import answer
from ogcode.tui.screen.prompt import Prompt

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


class Opening:
    def __init__(self, app: "Ogcode", first_prompt: str) -> None:
        self._app = app
        self._first_prompt = first_prompt
        self._held = list[Prompt.Sent]()
        self.over = False
        """The desk is open."""
        self.failure: Exception | None = None
        """Why it could not be opened."""

    def hold(self, sent: Prompt.Sent) -> None:
        """Let what was sent wait."""
        self._held.append(sent)
        self._app.queue.add(sent.text)

    def take_back(self) -> None:
        """The last of it is taken back, to be changed."""
        if self._held:
            self._held.pop()

    async def run(self) -> None:
        """Open the desk, show what it has to say, and send what waits."""
        app = self._app
        await app.transcript.say(TITLE)
        try:
            await app.desk.open()
        except Exception as error:
            self.failure = error
            app.exit(1)
            return
        self.over = True
        await self._show()
        held, self._held = self._held, []
        app.queue.give_up()
        for sent in held:
            await app.sent(sent)
        gc.enable()
        if not app.is_headless:
            gc.collect()
            gc.freeze()  # what is there now stays: no collection need look at it again
        app.themed.ask()
        app.look()

    async def _show(self) -> None:
        app, transcript = self._app, self._app.transcript
        if earlier := app.desk.earlier():
            await transcript.resume(earlier)
            await transcript.say("earlier in this session")
        for notice in (*app.desk.notices, *app.desk.settings.keys.faults):
            await transcript.say(notice, "warning")
        transcript.work = app.desk.work
        app.desk.work.answer_with(partial(answer, app))
        app.show_unbelieved()
        if self._first_prompt and (command := parse(self._first_prompt)):
            await app.command(self._first_prompt, *command)
        elif self._first_prompt:
            await app.send(self._first_prompt)
