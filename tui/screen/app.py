"""The Textual app: a transcript, a prompt, and the keys that fingers know."""

import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from pathlib import PurePath
from typing import Any, ClassVar

from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.driver import Driver
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Static

from ogcode.agent.model import ModelError
from ogcode.agent.turn import ToolCall, Verdict
from ogcode.tui.desks.desk import Desk
from ogcode.tui.screen.actions.catalogue import named, unknown
from ogcode.tui.screen.actions.command import parse
from ogcode.tui.screen.actions.elsewhere import INSTEAD_IN_APP
from ogcode.tui.screen.actions.memory import show_memory
from ogcode.tui.screen.approvals import Approvals
from ogcode.tui.screen.asking import show_unbelieved
from ogcode.tui.screen.blocks.fold import Fold
from ogcode.tui.screen.blocks.recall import OpenNote
from ogcode.tui.screen.card import Mistyped, Stopped
from ogcode.tui.screen.driver import Paced
from ogcode.tui.screen.inline import Inline
from ogcode.tui.screen.opening import Opening
from ogcode.tui.screen.own_line import OwnLine
from ogcode.tui.screen.parser import Background
from ogcode.tui.screen.prompt import Prompt
from ogcode.tui.screen.status import Activity, StatusLine
from ogcode.tui.screen.steps import turn_steps
from ogcode.tui.screen.suggestions import Suggestions
from ogcode.tui.screen.terminal import call_out, hear_signals
from ogcode.tui.screen.themes import Themed
from ogcode.tui.screen.transcript import Happened, Transcript, TurnOver
from ogcode.tui.screen.turns import Turns
from ogcode.tui.screen.writing.own import OwnCommands, is_own
from ogcode.tui.screen.writing.queue import Queue

_EARLY = ("clear_or_leave", "leave_if_empty", "redraw", "page", "quit", "suspend_process")
"""Actions that need no open desk."""

_MODES = ("ask", "edit", "plan", "auto")
_AGAIN = 2.0
"""Seconds within which a second Ctrl+C leaves."""


class Ogcode(App[int]):
    CSS_PATH: ClassVar[list[str | PurePath]] = ["app.tcss", "work.tcss", "writing/writing.tcss", "inline.tcss"]
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "Prompt"
    INLINE_PADDING = 0
    stop_key = "Esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "clear_or_leave", show=False, priority=True, id="clear"),
        Binding("ctrl+d", "leave_if_empty", show=False, priority=True, id="leave"),
        Binding("ctrl+l", "redraw", show=False, priority=True, id="redraw"),
        Binding("ctrl+o", "unfold", show=False, priority=True, id="unfold"),
        Binding("ctrl+t", "steps", show=False, priority=True, id="steps"),
        Binding("ctrl+b", "jobs", show=False, priority=True, id="jobs"),
        Binding("shift+tab", "next_mode", show=False, priority=True, id="mode"),
        Binding("ctrl+z", "suspend_process", show=False, priority=True, id="suspend"),
        Binding("ctrl+p", "palette", show=False, priority=True, id="palette"),
        Binding("escape", "escape", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    def __init__(
        self,
        desk: Desk,
        *,
        first_prompt: str = "",
        clock: Callable[[], float] = time.monotonic,
        driver: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver, ansi_color=True)
        self.themed = Themed(self)
        self.themed.wear(desk.settings.theme)
        self.desk = desk
        self.opening = Opening(self, first_prompt)
        self._clock = clock
        self._cycle = (*_MODES, "yolo") if desk.status().mode == "yolo" else _MODES
        self.turns = Turns(self)
        self.own = OwnCommands(self, desk.prompt)
        self._own_line = OwnLine(self)
        self._inline = Inline(self)
        self._pressed = self._escaped = float("-inf")

    def get_default_screen(self) -> Screen[None]:
        return Paced(id="_default")

    def compose(self) -> ComposeResult:
        suggestions, sign, queue = Suggestions(), Static("> ", markup=False), Queue()
        yield Transcript()
        yield queue
        yield Activity(self._clock)
        yield Approvals(self._clock)
        with Horizontal(id="entry"):
            yield sign
            yield Prompt(suggestions, self.desk.prompt, sign, lambda: queue.waits)
        yield suggestions
        yield StatusLine(self.desk.status)

    def on_mount(self) -> None:
        keys = self.desk.settings.keys
        self.set_keymap({name: ",".join(chosen) for name, chosen in keys.chosen.items()})
        self.prompt.keys = keys.in_prompt()
        self.call_after_refresh(self._open)
        self.app_resume_signal.subscribe(self, lambda _: self.action_redraw())
        if self.is_inline:
            self.transcript.print_above = self._inline.flush
        if not self.is_headless:
            hear_signals(self.leave)

    @work(group="opening")
    async def _open(self) -> None:
        await self.opening.run()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Before the desk is open, do only what needs none."""
        return (self.opening.over or action in _EARLY) and super().check_action(action, parameters)

    def on_key(self, event: Key) -> None:
        """Give the prompt the keys that come before it has the focus: what is typed early is not lost."""
        if self.focused is None and len(self.screen_stack) == 1 and (event.is_printable or event.key == "enter"):
            event.stop()
            self.prompt.focus()
            self.prompt.post_message(Key(event.key, event.character))

    @property
    def transcript(self) -> Transcript:
        return self.screen_stack[0].query_one(Transcript)

    @property
    def prompt(self) -> Prompt:
        return self.screen_stack[0].query_one(Prompt)

    @property
    def queue(self) -> Queue:
        return self.screen_stack[0].query_one(Queue)

    @property
    def activity(self) -> Activity:
        return self.screen_stack[0].query_one(Activity)

    @property
    def approvals(self) -> Approvals:
        return self.screen_stack[0].query_one(Approvals)

    @on(Prompt.Sent)
    async def sent(self, sent: Prompt.Sent) -> None:
        """Do what was sent: a command, a command of the user's own, or a message."""
        if not self.opening.over:
            self.opening.hold(sent)
            return
        self.prompt.keep(sent.text)
        command = parse(sent.text)
        if command is not None:
            await self.command(sent.text, *command)
            return
        self.desk.prompt.remember(sent.text)
        if is_own(sent.text):
            await self.own.run(sent.text)
        elif not self.turns.running:
            await self.send(sent.text)
        elif sent.steers:
            self.desk.prompt.steer(sent.text)
            self.queue.steer(sent.text)
        else:
            self.queue.add(sent.text)

    @on(Prompt.TakenBack)
    def _take_back(self) -> None:
        self.opening.take_back()
        self.prompt.put(self.queue.take_back())

    @on(Prompt.Asked)
    async def _show_keys(self) -> None:
        await self.command("", "/help", "")

    @on(Prompt.Said)
    async def _tell(self, said: Prompt.Said) -> None:
        await self.transcript.say(said.text, said.kind)

    async def send(self, text: str) -> None:
        await self.turns.begin(text)

    @on(Happened)
    def _follow(self, happened: Happened) -> None:
        self.turns.follow(happened.event)

    @on(TurnOver)
    async def _over(self) -> None:
        self.show_unbelieved()
        await self.turns.over()

    @on(Background)
    def _learn_background(self, told: Background) -> None:
        self.themed.learn(dark=told.dark)

    def on_resize(self) -> None:
        if self.is_inline:
            self._inline.restart()

    def look(self) -> None:
        if self.is_inline and not self.turns.running:
            self.call_after_refresh(self._inline.flush)
        self.show_status()
        self._own_line.look()

    def show_status(self) -> None:
        for line in self.screen.query(StatusLine):
            line.look()

    @work(exclusive=True, group="believe")
    async def show_unbelieved(self) -> None:
        """Show the files that nobody has accepted."""
        await show_unbelieved(self)

    @on(OpenNote)
    def _open_note(self, asked: OpenNote) -> None:
        show_memory(self, note=asked.note_id)

    async def approve(self, call: ToolCall, why: str) -> Verdict:
        return await self.approvals.ask(call, self.desk.rights.asking(call, why))

    @on(Approvals.Changed)
    def _make_room(self) -> None:
        """Give the prompt's place to the card that waits, or give it back."""
        waits = self.approvals.waits
        self.screen_stack[0].set_class(waits, "-asks")
        self.screen_stack[0].query_one("#entry").display = not waits
        self.activity.display = self.turns.running and not waits
        if waits and len(self.screen_stack) > 1:
            self.notify("a call waits for your answer; Esc goes to it", markup=False)
        if waits and not self.app_focus:
            call_out(self, self.desk.settings.notify, "ogcode: a call waits for your answer")
        elif not waits:
            self.screen_stack[0].set_focus(self.prompt)

    async def action_escape(self) -> None:
        """End what runs; where nothing does, a second Esc on an empty prompt goes the way back."""
        idle = not self.turns.running and not self.prompt.text
        now, before = self._clock(), self._escaped
        self._escaped = now if idle else float("-inf")
        if not idle:
            self.action_interrupt()
        elif now - before < _AGAIN:
            self._escaped = float("-inf")
            await self.command("/rewind", "/rewind", "")
        else:
            self.action_interrupt()

    @on(Stopped)
    def action_interrupt(self) -> None:
        """End the user's own command that runs, else the running turn."""
        if not self.own.stop():
            self.workers.cancel_group(self, "examine")
            self.turns.interrupt()

    @on(Mistyped)
    def _type(self, mistyped: Mistyped) -> None:
        self.prompt.insert(mistyped.character)

    async def command(self, text: str, name: str, argument: str) -> None:
        command = named(name)
        self.transcript.anchor()  # what is said to it is to be seen
        if command is None:
            await self.transcript.say(unknown(name), "warning")
            if argument or name not in INSTEAD_IN_APP:
                self.prompt.put(text)
        elif argument and not command.argument:
            await self.transcript.say(f"{name} takes no words; it would do this: {command.does}", "warning")
            self.prompt.put(text)
        elif command.at_rest and self.turns.running:
            await self.transcript.say(f"a turn is running; Esc interrupts it, then {command.name}", "warning")
        else:
            await command.run(self, argument)
        self.look()

    @work(exclusive=True, group="examine")
    async def examine(self, looking: Coroutine[Any, Any, None]) -> None:
        """Look at something at length; Esc stops it."""
        await looking

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

    async def action_steps(self) -> None:
        """Show or hide the list of steps."""
        await turn_steps(self)

    def action_jobs(self) -> None:
        """Show the commands in the background."""
        from ogcode.tui.screen.jobs import show_jobs  # only where they are looked at

        show_jobs(self)

    def action_palette(self) -> None:
        """Show all commands to choose from."""
        from ogcode.tui.screen.pickers.palette import show_palette  # only where one is chosen

        show_palette(self)

    def action_redraw(self) -> None:
        self.refresh(repaint=True, layout=True)

    def action_clear_or_leave(self) -> None:
        """Copy what is selected; else clear the prompt, or stop the turn; a second time leaves."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
            return
        now, before = self._clock(), self._pressed
        self._pressed = now
        if self.prompt.text:
            self.prompt.put("")
        elif now - before < _AGAIN:
            self.leave(0)
            return
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

    def _handle_exception(self, error: Exception) -> None:
        """Of what fails because all is being taken down, tell the log alone."""
        if self._exit:
            traceback.print_exception(error, file=sys.__stderr__)
        else:
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Leave with a sentence; the log has where it was, and none of what variables held."""
        if self._exception and not self.is_headless:
            traceback.print_exception(self._exception, file=sys.__stderr__)
        self._close_messages_no_wait()

    @work(exclusive=True, group="leave")
    async def leave(self, code: int) -> None:
        """End the turn, so that it is recorded, then the app."""
        self.workers.cancel_group(self, "opening")  # it would begin a turn behind the last one
        self.own.stop()
        await self.turns.end()
        if self.is_inline:
            await self._inline.flush()
        self.exit(code, return_code=code)
