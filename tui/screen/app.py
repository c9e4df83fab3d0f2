"""The Textual app: a transcript, a prompt, and the keys that fingers know."""

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from textual import on, work
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.keys import Keys
from textual.widgets import Static
from textual.worker import Worker

from ogcode.agent.events import (
    Answered,
    Event,
    Retrying,
    SummedUp,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    Waiting,
)
from ogcode.agent.model import ModelError
from ogcode.agent.turn import Outcome, ToolCall, Verdict
from ogcode.tui.desk import Desk
from ogcode.tui.screen.actions.catalogue import named, nearest, parse
from ogcode.tui.screen.approval import ApprovalCard, Approvals
from ogcode.tui.screen.blocks import Fold, flat
from ogcode.tui.screen.markdown import STYLES
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.status import Activity, StatusLine
from ogcode.tui.screen.suggestions import Suggestions
from ogcode.tui.screen.transcript import Happened, Transcript, TurnOver

_MODES = ("ask", "edit", "plan", "auto")
_AGAIN = 2.0
"""Seconds within which a second Ctrl+C leaves."""

_PATIENCE = 5.0
"""Seconds that a turn has to be recorded when the app is to end."""


class Ogcode(App[int]):
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "clear_or_leave", show=False, priority=True),
        Binding("ctrl+d", "leave_if_empty", show=False, priority=True),
        Binding("ctrl+l", "redraw", show=False, priority=True),
        Binding("ctrl+o", "unfold", show=False, priority=True),
        Binding("shift+tab", "next_mode", show=False, priority=True),
        Binding("escape", "interrupt", show=False),
        Binding("tab", "to_folds", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    def __init__(self, desk: Desk, *, first_prompt: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.console.push_theme(STYLES)
        self.desk = desk
        self._first_prompt = first_prompt
        self._clock = clock
        self._cycle = (*_MODES, "yolo") if desk.status().mode == "yolo" else _MODES
        self._turn: Worker[None] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._outcome: Outcome = "done"
        self._queue: list[str] = []
        self._pressed = float("-inf")

    def compose(self) -> ComposeResult:
        suggestions = Suggestions()
        yield Transcript()
        yield Static(markup=False, id="queue")
        yield Activity(self._clock)
        yield Approvals(self._clock)
        with Horizontal(id="entry"):
            yield Static("> ", markup=False)
            yield Prompt(suggestions, self.desk.history)
        yield suggestions
        yield StatusLine(self.desk.status)

    def on_mount(self) -> None:
        self.query_one("#queue").display = False
        self.call_after_refresh(self._begin)
        if not self.is_headless:
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self.leave, 128 + number)

    async def _begin(self) -> None:
        transcript = self.transcript
        earlier = self.desk.earlier()
        for request, answer in earlier:
            await transcript.recount(request, answer)
        await transcript.say("earlier in this session" if earlier else "ogcode · /help shows keys and commands")
        for notice in self.desk.notices:
            await transcript.say(notice, "warning")
        if self._first_prompt:
            await self.send(self._first_prompt)

    def on_key(self, event: Key) -> None:
        """Give the prompt the keys that come before it has the focus: what is typed early is not lost."""
        if self.focused is None and len(self.screen_stack) == 1 and (event.is_printable or event.key == "enter"):
            event.stop()
            self.prompt.focus()
            self.prompt.post_message(Key(event.key, event.character))

    @property
    def running(self) -> bool:
        """Whether a turn is under way."""
        return self._turn is not None

    @property
    def transcript(self) -> Transcript:
        return self.screen_stack[0].query_one(Transcript)

    @property
    def prompt(self) -> Prompt:
        return self.screen_stack[0].query_one(Prompt)

    @property
    def activity(self) -> Activity:
        return self.screen_stack[0].query_one(Activity)

    @property
    def approvals(self) -> Approvals:
        return self.screen_stack[0].query_one(Approvals)

    @on(Prompt.Sent)
    async def _sent(self, sent: Prompt.Sent) -> None:
        self.prompt.keep(sent.text)
        command = parse(sent.text)
        if command is not None:
            await self._command(sent.text, *command)
            return
        self.desk.remember_prompt(sent.text)
        if self._turn is None:
            await self.send(sent.text)
        else:
            self._queue.append(sent.text)
            self._show_queue()

    @on(Prompt.TakenBack)
    def _take_back(self) -> None:
        self.prompt.put(self._queue.pop())
        self._show_queue()

    def _show_queue(self) -> None:
        self.prompt.queued = bool(self._queue)
        line = self.screen_stack[0].query_one("#queue", Static)
        line.update(Content("\n").join(Content(f"queued: {flat(each)}") for each in self._queue))
        line.display = bool(self._queue)

    async def send(self, text: str) -> None:
        await self.transcript.ask(text)
        self._outcome = "failed"
        self.activity.begin()
        self._idle.clear()
        self._turn = self._run(text)

    @work(exit_on_error=False)
    async def _run(self, text: str) -> None:
        failure = ""
        try:
            await self.desk.ask(text, emit=self._emit, approve=self._approve)
        except ModelError as error:
            failure = str(error)
        except Exception as error:
            failure = f"the turn failed in ogcode itself: {type(error).__name__}: {error}"
        finally:
            self.transcript.post_message(TurnOver(failure))

    def _emit(self, event: Event) -> None:
        self.transcript.post_message(Happened(event))

    @on(Happened)
    def _follow(self, happened: Happened) -> None:
        match happened.event:
            case TextDelta():
                self.activity.say("answering")
                return
            case SummedUp():
                self.activity.say("working")
            case Answered(_, _, usage):
                self.activity.fill(usage.tokens, self.desk.status().window)
            case ToolStarted(call):
                self.activity.say(f"running {call.name}")
            case ToolFinished():
                self.activity.say("working")
            case Retrying():
                self.activity.say("waiting to try again")
            case Waiting(reason):
                self.activity.say(reason)
            case TurnFinished(turn):
                self._outcome = turn.outcome
        self.look()

    @on(TurnOver)
    async def _over(self) -> None:
        self._turn = None
        self._idle.set()
        self.activity.end()
        if not self.app_focus:
            self.bell()
        queued, self._queue = self._queue, []
        if queued and self._outcome == "done":
            self._queue = queued[1:]
            await self.send(queued[0])
        elif queued:
            self.prompt.put("\n\n".join(filter(None, [*queued, self.prompt.whole])))
        self._show_queue()
        self.look()

    def look(self) -> None:
        for line in self.screen.query(StatusLine):
            line.look()

    async def _approve(self, call: ToolCall, why: str) -> Verdict:
        return await self.approvals.ask(call, why, self.desk.preview(call))

    @on(Approvals.Changed)
    def _make_room(self) -> None:
        """Give the prompt's place to the card that waits, or give it back."""
        waits = self.approvals.waits
        self.screen_stack[0].query_one("#entry").display = not waits
        self.activity.display = self._turn is not None and not waits
        if waits and len(self.screen_stack) > 1:
            self.notify("a call waits for your answer; Esc goes to it", markup=False)
        if waits and not self.app_focus:
            self.bell()
        elif not waits:
            self.screen_stack[0].set_focus(self.prompt)

    @on(ApprovalCard.Stopped)
    def action_interrupt(self) -> None:
        """End the running turn."""
        if self._turn is not None:
            self.activity.say("interrupting")
            self._turn.cancel()

    @on(ApprovalCard.Mistyped)
    def _type(self, mistyped: ApprovalCard.Mistyped) -> None:
        self.prompt.insert(mistyped.character)

    async def _command(self, text: str, name: str, argument: str) -> None:
        command = named(name)
        if command is None:
            near = nearest(name)
            hint = f"did you mean {near}?" if near else "/help lists what there is"
            await self.transcript.say(f"there is no command {flat(name)}; {hint}", "warning")
            self.prompt.put(text)
        elif command.at_rest and self.running:
            await self.transcript.say(f"a turn is running; Esc interrupts it, then {command.name}", "warning")
        else:
            await command.run(self, argument)
        self.look()

    @work(exclusive=True, group="model")
    async def use_model(self, name: str) -> None:
        try:
            said, kind = await self.desk.use_model(name), "quiet"
        except ModelError as error:
            said, kind = str(error), "warning"
        await self.transcript.say(said, kind)
        self.look()

    @on(Fold.Leave)
    def _back_to_prompt(self, leave: Fold.Leave) -> None:
        if self.approvals.waits:
            self.approvals.focus_first()
            return
        self.screen.set_focus(self.prompt)
        if leave.typed:
            self.prompt.insert(leave.typed)

    def action_to_folds(self) -> None:
        """Go to the last tool call."""
        folds = self.transcript.query(Fold)
        if folds and not self.approvals.waits:
            folds.last().focus()

    def action_page(self, step: int) -> None:
        if step < 0:
            self.transcript.scroll_page_up(animate=False)
        else:
            self.transcript.scroll_page_down(animate=False)

    def action_next_mode(self) -> None:
        mode = self.desk.status().mode
        place = self._cycle.index(mode) if mode in self._cycle else -1
        self.desk.set_mode(self._cycle[(place + 1) % len(self._cycle)])
        self.look()

    def action_unfold(self) -> None:
        self.transcript.toggle()

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)

    def action_clear_or_leave(self) -> None:
        """Copy what is selected; else clear the prompt, or stop the turn; a second time leaves."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            return
        now = self._clock()
        if now - self._pressed < _AGAIN:
            self.leave(0)
            return
        self._pressed = now
        if self.prompt.text:
            self.prompt.put("")
        else:
            self.action_interrupt()
        self.notify("Ctrl+C again leaves", timeout=_AGAIN, markup=False)

    def action_leave_if_empty(self) -> None:
        if self.focused is self.prompt and self.prompt.text:
            self.prompt.action_delete_right()
        else:
            self.leave(0)

    async def action_quit(self) -> None:
        self.leave(0)

    @work(exclusive=True, group="leave")
    async def leave(self, code: int) -> None:
        """End the turn, so that it is recorded, then the app."""
        self.action_interrupt()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), _PATIENCE)
        self.exit(code, return_code=code)


def run_app(desk: Desk, *, first_prompt: str = "") -> int:
    """Run the app to its end and give the exit code."""
    if isinstance(ANSI_SEQUENCES_KEYS, dict):  # Textual reads Alt+Enter of older terminals as Enter
        ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)
    app = Ogcode(desk, first_prompt=first_prompt)
    try:
        app.run()
    finally:
        desk.close()
    return app.return_code or 0
