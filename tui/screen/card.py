"""A card that takes the prompt's place until one key has answered it, and takes no key that was not meant for it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

_BLIND = 0.3
"""Seconds without a key before a new card takes one: what is typed until then is meant for the prompt."""

Given = TypeVar("Given")


class Stopped(Message):
    """The turn is to end, and with it the wait for an answer."""


@dataclass
class Mistyped(Message):
    """A key that came too early to be an answer."""

    character: str


class Card(Vertical, can_focus=True):
    """Asks one thing. What is long is scrolled, the body first; the keys stay in sight."""

    def __init__(self, title: Content, clock: Callable[[], float]) -> None:
        super().__init__()
        self._asks = title
        self._title = Static(title, markup=False, classes="title")
        self._clock = clock
        self._quiet = 0.0
        self.scroll_keys = "↑↓"

    def told(self) -> ComposeResult:
        """Give what stands above the body, and is always seen."""
        yield from ()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def below(self) -> ComposeResult:
        """Give what stands below the body, and is always seen."""
        yield from ()

    def writing(self) -> Input:
        """Give the line for what no key says."""
        return Input(placeholder="Say it in your own words", select_on_focus=False)

    def keys(self) -> tuple[tuple[str, str], ...]:
        """Name the keys and what they do."""
        raise NotImplementedError

    def press(self, key: str, character: str) -> bool:
        """Take a key; tell whether it was one of ours."""
        raise NotImplementedError

    def written(self, text: str) -> None:
        """Take what was written, where a card lets write."""

    def compose(self) -> ComposeResult:
        yield self._title
        yield from self.told()
        with VerticalScroll(can_focus=False):
            yield from self.body()
        yield from self.below()
        writing = self.writing()
        writing.display = False
        yield writing
        yield Static(markup=False, classes="keys")

    def on_mount(self) -> None:
        self.take_keys()
        for part in self._scrolled:
            self.watch(part, "show_vertical_scrollbar", self._tell_keys)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Leave room for the frame, the line of status and some of the transcript."""
        above = viewport.height // 5 if self.app.is_inline else 1
        return min(super().get_content_height(container, viewport, width), max(viewport.height - above - 3, 1))

    def count(self, place: int, number: int) -> None:
        """Say which of how many that wait this is."""
        many = Content.styled(f"  {place} of {number}", "dim") if number > 1 else Content("")
        self._title.update(self._asks + many, layout=False)

    def take_keys(self) -> None:
        """Listen to keys, once there has been none for a moment."""
        self._quiet = self._clock()
        self.screen.set_focus(self)

    async def on_key(self, event: events.Key) -> None:
        if event.key in ("tab", "shift+tab"):
            event.stop()
            event.prevent_default()
            return
        writing = self._writing.has_focus
        if writing and event.key != "escape":
            return
        event.stop()
        event.prevent_default()
        now = self._clock()
        if now - self._quiet < _BLIND:
            self._quiet = now
            if event.character and event.is_printable:
                self.post_message(Mistyped(event.character))
            return
        if writing:
            self.write(None)
        elif event.key == "escape":
            self.leave()
        elif not self.press(event.key, event.character if event.is_printable and event.character else ""):
            self._scroll(event.key)

    def leave(self) -> None:
        """Give no answer: the turn ends with its question."""
        self.post_message(Stopped())

    def write(self, begun: str | None) -> None:
        """Let words be written, of which some are there already; None leaves it at keys."""
        self._writing.display = begun is not None
        self.screen.set_focus(self if begun is None else self._writing)
        self._tell_keys()
        if begun is not None:
            self._writing.insert_text_at_cursor(begun)
            self.call_after_refresh(self._writing.scroll_visible, animate=False)

    @property
    def _writing(self) -> Input:
        return self.query_one(Input)

    @on(Input.Submitted)
    def _submitted(self, submitted: Input.Submitted) -> None:
        submitted.stop()
        self.written(submitted.value.strip())

    @property
    def _scrolled(self) -> tuple[Widget, Widget]:
        return self.query_one(VerticalScroll), self

    def _tell_keys(self) -> None:
        hidden = any(part.show_vertical_scrollbar for part in self._scrolled)
        keys = (*self.keys(), *(((self.scroll_keys, "see the rest"),) if hidden else ()))
        if self._writing.display:
            keys = ("Enter", "send"), ("Esc", "back")
        told = [Content.assemble((key, "bold $accent"), " ", words) for key, words in keys]
        self.query_one(".keys", Static).update(Content("   ").join(told))

    def _scroll(self, key: str) -> None:
        up = key in ("up", "pageup", "home")
        body, card = self._scrolled
        part = body if (body.scroll_offset.y > 0 if up else body.scroll_offset.y < body.max_scroll_y) else card
        match key:
            case "up":
                part.scroll_up(animate=False)
            case "down":
                part.scroll_down(animate=False)
            case "pageup":
                part.scroll_page_up(animate=False)
            case "pagedown":
                part.scroll_page_down(animate=False)
            case "home":
                part.scroll_home(animate=False)
            case "end":
                part.scroll_end(animate=False)


class Asks(Card, Generic[Given]):
    """A card whose `answer` is set by a key."""

    def __init__(self, title: Content, clock: Callable[[], float]) -> None:
        super().__init__(title, clock)
        self.answer: asyncio.Future[Given] = asyncio.get_running_loop().create_future()

    def decide(self, answer: Given) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


def paragraph(text: Content, classes: str) -> Widget:
    return Static(text, markup=False, classes=classes)
