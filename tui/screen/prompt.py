"""The prompt: several lines, a history, completion, pastes that stay in one piece."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static, TextArea

from ogcode.agent.clean import clean
from ogcode.tui.prompt_desk import EditorFailed, Found, PromptDesk
from ogcode.tui.screen.frames import draw_now
from ogcode.tui.screen.suggestions import Suggestions
from ogcode.tui.screen.writing.kills import Kills
from ogcode.tui.screen.writing.offers import Offer, commands, files, half_typed_file, same, written
from ogcode.tui.screen.writing.past import Past
from ogcode.tui.screen.writing.pastes import Pastes, dropped
from ogcode.tui.screen.writing.saving import Saving
from ogcode.tui.screen.writing.seeking import Seeking

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
        self._suggestions = suggestions
        self._desk = desk
        self._sign = sign
        self._waits = waits
        """Whether a queued message can be taken back."""
        self._past = Past()
        self._recalled = False
        self._pastes = Pastes()
        self._kills = Kills(self)
        self._saving = Saving(self, desk, lambda: self.whole)
        self._seeking = Seeking(self, desk, self._show_files)
        self._chord = False
        """Ctrl+X was pressed."""
        self._looked = ("", 0)
        """The line and the column that something was offered for."""
        self._silent = ""
        """A text for which nothing is offered: it comes from the history."""

    def put(self, text: str) -> None:
        """Replace what is in the prompt; a long text is shown as one piece."""
        self.load_text("")
        self.insert(self._pastes.fold(clean(text, prose=True)))
        self.move_cursor(self.document.end)

    @property
    def whole(self) -> str:
        """What would be sent: the text with its pastes unfolded."""
        return self._pastes.unfold(self.text)

    def keep(self, text: str) -> None:
        """Add a sent message to the history."""
        self._past.add(text)

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
        self._seeking.want(None)
        self._saving.now()

    async def _arrive(self) -> None:
        """Learn what was said here before, and what was not sent."""
        self._recall(await asyncio.to_thread(self._desk.history))
        if not (left := await asyncio.to_thread(self._desk.take_draft)):
            return
        if self.text:
            self._past.add(clean(left, prose=True))
            self.post_message(self.Said("a message that you had not sent last time: Up brings it back", "quiet"))
        else:
            self.put(left)
            self.post_message(self.Said("the message that you had not sent last time is back in the prompt", "quiet"))

    def _recall(self, said: Sequence[str]) -> None:
        if not self._recalled:
            self._recalled = True
            self._past.recall(said)

    def on_text_area_changed(self) -> None:
        self._saving.changed()
        self._offer()
        self._draw_sign()

    def on_text_area_selection_changed(self) -> None:
        if self._suggestions.chosen:
            self._offer()

    def _draw_sign(self) -> None:
        own = self.document[0].startswith("!")
        sign = "N " if self.vim and self.vim.mode == "normal" else "! " if own else "> "
        if str(self._sign.content) != sign:
            self._sign.update(sign)

    def _offer(self) -> None:
        """Offer what may complete the word before the cursor."""
        row, column = self.cursor_location
        line = self.document[row]
        if self._looked == (line, column):
            return
        self._looked = line, column
        silent, self._silent = self._silent, ""
        word = half_typed_file(line[:column])
        if silent and silent == self.text:
            self._seeking.want(None)
            self._suggestions.offer([])
        elif word:
            self._seeking.want(word[1])
        else:
            self._seeking.want(None)
            first = row == 0 and self.document.line_count == 1 and line.startswith("/")
            self._suggestions.offer(commands(line) if first else [])

    def _show_files(self, word: str, found: Found) -> None:
        row, column = self.cursor_location
        typed = half_typed_file(self.document[row][:column])
        if typed and typed[1] == word:
            self._suggestions.offer(files(found.paths), found.left_out)

    def _shut(self) -> None:
        self._seeking.want(None)
        self._suggestions.offer([])

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if not event.text:
            self._paste_picture()  # some terminals have no other word for it
            return
        text = clean(event.text.replace("\r\n", "\n").replace("\r", "\n"), prose=True)
        path = dropped(text, Path.home())
        self.replace(
            written(path) if path else self._pastes.fold(text), *self.selection, maintain_selection_offset=False
        )
        self.scroll_cursor_visible()

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
            case "up" | "down" if self._suggestions.chosen:
                self._suggestions.move(-1 if key == "up" else 1)
            case "tab" if chosen := self._suggestions.chosen:
                self._complete(chosen)
            case "escape" if self._suggestions.chosen:
                self._shut()
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
        before = self.document[self.cursor_location[0]][: self.cursor_location[1]]
        if before.endswith("\\"):
            self.action_delete_left()
            self.insert("\n")
            return
        chosen, word = self._suggestions.chosen, half_typed_file(before)
        if chosen and chosen.sent:
            self._send(chosen.text)
        elif chosen and not (word and not self._suggestions.moved and same([chosen], word[1])):
            self._complete(chosen)
        else:
            self._send()

    def _send(self, text: str = "", *, steers: bool = False) -> None:
        text = text or self.whole
        if not text.strip():
            return
        self.load_text("")
        self._pastes.clear()
        self._shut()
        if self.vim:
            self.vim.insert()
        self.post_message(self.Sent(text, steers))

    def _complete(self, chosen: Offer) -> None:
        """Put what was chosen in the place of the word."""
        row, column = self.cursor_location
        word = half_typed_file(self.document[row][:column])
        if word is None:
            self.put(chosen.text if chosen.text.endswith(" ") else f"{chosen.text} ")
            return
        start = (row, word[0])
        end = (row, column + (self.document[row][column : column + 1] == '"'))
        self.replace(chosen.text, start, end, maintain_selection_offset=False)
        self.move_cursor((row, word[0] + len(chosen.text)))

    def _walk(self, step: int) -> None:
        if not self._recalled:
            self._recall(self._desk.history())
        text = self._past.walk(step, self.whole)
        if text is not None:
            self.put(text)
            self._silent = self.text

    def _search(self) -> None:
        from ogcode.tui.screen.writing.search import SearchScreen  # only where one searches

        def chosen(text: str | None) -> None:
            if text is not None:
                self.put(text)
                self._silent = self.text

        self.app.push_screen(SearchScreen(self._past), chosen)

    def _edit(self) -> None:
        self.run_worker(self._edited(), group="editor", exclusive=True, exit_on_error=False)

    async def _edited(self) -> None:
        from ogcode.tui.screen.writing.terminal import on_terminal  # only where one edits

        try:
            self.put(await self._desk.edit(self.whole, partial(on_terminal, self.app)))
        except EditorFailed as error:
            self.post_message(self.Said(str(error)))

    def _paste_picture(self) -> None:
        self.run_worker(self._pictured(), group="picture", exit_on_error=False)

    async def _pictured(self) -> None:
        try:
            path = await self._desk.picture()
        except OSError as error:
            self.post_message(self.Said(f"the picture can't be kept: {error.strerror or error}"))
            return
        if path:
            self.insert(written(path))
        elif self.app.clipboard:
            self.insert(self._pastes.fold(clean(self.app.clipboard, prose=True)))
        else:
            self.post_message(self.Said("there is no picture in the clipboard that can be read here", "quiet"))
