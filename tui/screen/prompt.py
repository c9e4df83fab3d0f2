"""The prompt: several lines, a history, pastes that stay in one piece."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from ogcode.agent.clean import clean
from ogcode.tui.screen.actions.catalogue import matching
from ogcode.tui.screen.suggestions import Suggestions

_LONG = 2000
_TALL = 20
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

    class TakenBack(Message):
        """Up was pressed on an empty prompt: the last queued message may come back."""

    def __init__(self, suggestions: Suggestions, history: Callable[[], Sequence[str]]) -> None:
        super().__init__(compact=True, placeholder="Ask for something, or / for commands")
        self.queued = False
        self._suggestions = suggestions
        self._read_history = history
        self._history: list[str] | None = None
        self._place = 0
        self._draft = ""
        self._pastes: dict[str, str] = {}

    def put(self, text: str) -> None:
        """Replace what is in the prompt; a long text is shown as one piece."""
        self.load_text("")
        self.insert(self._folded(clean(text, prose=True)))
        self.move_cursor(self.document.end)

    @property
    def whole(self) -> str:
        """What would be sent: the text with its pastes unfolded."""
        if not self._pastes:
            return self.text
        tokens = "|".join(map(re.escape, self._pastes))
        return re.sub(tokens, lambda found: self._pastes[found[0]], self.text)

    def keep(self, text: str) -> None:
        """Add a sent message to the history."""
        history = self._past()
        if not history or history[-1] != text:
            history.append(text)
        self._place = len(history)

    def on_text_area_changed(self) -> None:
        self._suggestions.offer(matching(self.text))

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = clean(event.text.replace("\r\n", "\n").replace("\r", "\n"), prose=True)
        self.replace(self._folded(text), *self.selection, maintain_selection_offset=False)
        self.scroll_cursor_visible()

    async def _on_key(self, event: events.Key) -> None:
        if self._take(event.key):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _take(self, key: str) -> bool:
        """Do what a key means here; False leaves it to the text area."""
        match key:
            case "enter":
                self._enter()
            case _ if key in _NEWLINES:
                self.insert("\n")
            case "up" | "down" if self._suggestions.chosen:
                self._suggestions.move(-1 if key == "up" else 1)
            case "tab" if chosen := self._suggestions.chosen:
                self.put(f"{chosen.name} ")
            case "escape" if self._suggestions.chosen:
                self._suggestions.offer([])
            case "up" if self.cursor_at_first_line and self.queued and not self.text:
                self.post_message(self.TakenBack())
            case "up" if self.cursor_at_first_line:
                self._walk(-1)
            case "down" if self.cursor_at_last_line:
                self._walk(1)
            case _:
                return False
        return True

    def _enter(self) -> None:
        before = self.document[self.cursor_location[0]][: self.cursor_location[1]]
        if before.endswith("\\"):
            self.action_delete_left()
            self.insert("\n")
            return
        chosen = self._suggestions.chosen
        text = chosen.name if chosen else self.whole
        if not text.strip():
            return
        self.load_text("")
        self._pastes.clear()
        self._draft = ""
        self._suggestions.offer([])
        self._place = len(self._past())
        self.post_message(self.Sent(text))

    def _folded(self, text: str) -> str:
        lines = text.count("\n") + 1
        if len(text) < _LONG and lines < _TALL:
            return text
        token = f"[pasted {len(self._pastes) + 1}: {f'{lines:,} lines' if lines > 1 else f'{len(text):,} characters'}]"
        self._pastes[token] = text
        return token

    def _past(self) -> list[str]:
        if self._history is None:
            self._history = [clean(each, prose=True) for each in self._read_history()]
            self._place = len(self._history)
        return self._history

    def _walk(self, step: int) -> None:
        history = self._past()
        place = self._place + step
        if not 0 <= place <= len(history):
            return
        if self._place == len(history):
            self._draft = self.whole
        self._place = place
        self.put(self._draft if place == len(history) else history[place])
