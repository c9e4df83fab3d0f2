"""The prompt: several lines, a history, completion, pastes that stay in one piece."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets import Static, TextArea

from ogcode.agent.clean import clean
from ogcode.tui.desks.prompt import PromptDesk
from ogcode.tui.message.mentions import written
from ogcode.tui.screen.frames import draw_now
from ogcode.tui.screen.suggestions import Suggestions
from ogcode.tui.screen.writing.completing import Completing
from ogcode.tui.screen.writing.kills import Kills
from ogcode.tui.screen.writing.outside import paste_picture, use_editor
from ogcode.tui.screen.writing.past import Past
from ogcode.tui.screen.writing.pastes import Pastes, dropped
from ogcode.tui.screen.writing.saving import Saving

if TYPE_CHECKING:
    from ogcode.tui.screen.writing.vim import Vim

_NEWLINES = ("shift+enter", "alt+enter", "ctrl+enter", "ctrl+j", "shift+\r", "ctrl+\r", "\r")
"""The last three are how Textual names them in xterm's `modifyOtherKeys`."""


class Prompt(TextArea):
    """Enter sends; a newline is Shift+Enter, Alt+Enter, Ctrl+J, or a backslash before Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "app.page(-1)", show=False),
        Binding("pagedown", "app.page(1)", show=False),
    ]

    @dataclass
    class Sent(Message):
        text: str
        steers: bool = False
        """It is for the running turn, not for its end."""

    class TakenBack(Message):
        """Up was pressed on an empty prompt: the last queued message may come back."""

    class Asked(Message):
        """`?` was pressed on an empty prompt: which keys there are."""

    @dataclass
    class Said(Message):
        """Something that the user should know."""

        text: str
        kind: str = "warning"

    def __init__(
        self, suggestions: Suggestions, desk: PromptDesk, sign: Static, waits: Callable[[], bool] = lambda: False
    ) -> None:
        super().__init__(compact=True, placeholder="Ask for something, or / for commands")
        self.vim: Vim | None = None
        self.keys: Mapping[str, str] = {}
        """Of keys that the user has moved, which one they stand for."""
        self._desk = desk
        self._sign = sign
        self._waits = waits
        """Whether a queued message can be taken back."""
        self._past = Past()
        self._pastes = Pastes()
        self._kills = Kills(self)
        self._saving = Saving(self, desk, lambda: self.whole)
        self._completing = Completing(self, desk, suggestions)
        self._chord = False
        """Ctrl+X was pressed."""

    def put(self, text: str) -> None:
        """Replace what is in the prompt."""
        self.load_text("")
        self.insert(self._pastes.put(clean(text, prose=True)))
        self.move_cursor(self.document.end)

    def paste(self, text: str) -> None:
        """Put a text in the place of what is selected, or at the cursor; a long one as one piece."""
        text = clean(text.replace("\r\n", "\n").replace("\r", "\n"), prose=True)
        path = dropped(text, Path.home())
        shown = written(path) if path else self._pastes.fold(text)
        self.replace(shown, *self.selection, maintain_selection_offset=False)

    @property
    def whole(self) -> str:
        """What would be sent: the text with its pastes unfolded."""
        return self._pastes.unfold(self.text)

    def keep(self, text: str) -> None:
        """Add a sent message to the history."""
        self._past.add(text)

    def say(self, text: str, kind: str = "warning") -> None:
        """Tell the user something."""
        self.post_message(self.Said(text, kind))

    def use_vim(self, *, on: bool) -> None:
        from ogcode.tui.screen.writing.vim import Vim  # only where it is wanted

        self.vim = Vim(self) if on else None
        self._draw_sign()

    def on_mount(self) -> None:
        if self._desk.vim:
            self.use_vim(on=True)
        self.call_after_refresh(lambda: self.run_worker(self._arrive(), exit_on_error=False))

    def _check_refresh(self) -> None:
        """Show what a key did before the next frame: a frame may hold much else."""
        if self._repaint_required and self.display and draw_now(self):
            self._repaint_required = False
        super()._check_refresh()

    def on_unmount(self) -> None:
        self._completing.shut()
        self._saving.now()

    async def _arrive(self) -> None:
        """Learn what was said here before, and what was not sent."""
        self._past.recall(await asyncio.to_thread(self._desk.history))
        if not (left := await asyncio.to_thread(self._desk.take_draft)):
            return
        if self.text:
            self._past.add(clean(left, prose=True))
            self.say("a message that you had not sent last time: Up brings it back", "quiet")
        else:
            self.put(left)
            self.say("the message that you had not sent last time is back in the prompt", "quiet")

    def on_text_area_changed(self) -> None:
        self._saving.changed()
        self._completing.offer()
        self._draw_sign()

    def on_text_area_selection_changed(self) -> None:
        if self._completing.chosen:
            self._completing.offer()

    def _draw_sign(self) -> None:
        own = self.document[0].startswith("!")
        sign = "N " if self.vim and self.vim.mode == "normal" else "! " if own else "> "
        if str(self._sign.content) != sign:
            self._sign.update(sign)

    def edit(self, edit: Edit) -> EditResult:
        """Change the text, no paste in part, and keep the cursor in view where the text has grown."""
        start, end = self._pastes.around(edit.top, edit.bottom, self.document.get_line)
        if (start, end) != (edit.top, edit.bottom):
            edit = replace(edit, from_location=start, to_location=end, maintain_selection_offset=False)
        result = super().edit(edit)
        self.scroll_cursor_visible()
        return result

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if event.text:
            self.paste(event.text)
        else:
            self._paste_picture()  # some terminals have no other word for it

    async def _on_key(self, event: events.Key) -> None:
        if self._take(event.key, event.character if event.is_printable else None):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _take(self, key: str, character: str | None) -> bool:
        """Do what a key means here; False leaves it to the text area."""
        key = self.keys.get(key, key)
        chord, self._chord = self._chord, False
        match key:
            case "enter":
                self._enter()
            case _ if key in _NEWLINES:
                self.insert("\n")
            case "up" | "down" if self._completing.chosen:
                self._completing.move(-1 if key == "up" else 1)
            case "tab" if chosen := self._completing.chosen:
                self._completing.complete(chosen)
            case "escape" if self._completing.chosen:
                self._completing.shut()
            case _ if self.vim and self.vim.press(key, character):
                self._draw_sign()
            case "up" if self.cursor_at_first_line and not self.text and self._waits():
                self.post_message(self.TakenBack())
            case "up" if self.cursor_at_first_line:
                self._walk(-1)
            case "down" if self.cursor_at_last_line:
                self._walk(1)
            case "question_mark" if not self.text:
                self.post_message(self.Asked())
            case "ctrl+s":
                self._send(steers=True)
            case "ctrl+r":
                self._search()
            case "ctrl+g":
                self._edit()
            case "ctrl+e" if chord:
                self._edit()
            case "ctrl+x" if not self.selected_text:
                self._chord = True
            case "ctrl+v":
                self._paste_picture()
            case _:
                return self._kills.press(key)
        return True

    def _enter(self) -> None:
        if self._completing.before.endswith("\\"):
            self.action_delete_left()
            self.insert("\n")
            return
        chosen = self._completing.chosen
        if chosen and chosen.sent:
            self._send(chosen.text)
        elif chosen and not self._completing.is_whole(chosen):
            self._completing.complete(chosen)
        else:
            self._send()

    def _send(self, text: str = "", *, steers: bool = False) -> None:
        text = text or self.whole
        if not text.strip():
            return
        self.load_text("")
        self._pastes.sent()
        self._completing.shut()
        if self.vim:
            self.vim.insert()
        self.post_message(self.Sent(text, steers))

    def _walk(self, step: int) -> None:
        if not self._past.recalled:
            self._past.recall(self._desk.history())
        self._bring(self._past.walk(step, self.whole))

    def _search(self) -> None:
        from ogcode.tui.screen.writing.search import SearchScreen  # only where one searches

        self.app.push_screen(SearchScreen(self._past), self._bring)

    def _bring(self, text: str | None) -> None:
        """Put an earlier message into the prompt, where there is one."""
        if text is not None:
            self.put(text)
            self._completing.be_silent()

    def _edit(self) -> None:
        self.run_worker(use_editor(self, self._desk), group="editor", exclusive=True, exit_on_error=False)

    def _paste_picture(self) -> None:
        self.run_worker(paste_picture(self, self._desk), group="picture", exit_on_error=False)
