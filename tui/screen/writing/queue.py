"""The messages that wait: some for the next step of the turn, the others for its end."""

from textual.content import Content
from textual.widgets import Static

from ogcode.tui.screen.blocks.lines import flat

_SHOWN = 5
_HINT = "  · Up changes it"
_SIDES = 4


class Queue(Static):
    def __init__(self) -> None:
        super().__init__(markup=False, id="queue")
        self._steering = list[str]()
        self._queued = list[str]()
        self.display = False

    def on_resize(self) -> None:
        self._draw()

    @property
    def waits(self) -> bool:
        """Whether a message waits that Up can take back."""
        return bool(self._queued)

    def add(self, text: str) -> None:
        """Let a message wait for the end of the turn."""
        self._queued.append(text)
        self._draw()

    def steer(self, text: str) -> None:
        """Let it wait until the turn takes it up."""
        self._steering.append(text)
        self._draw()

    def taken(self, text: str) -> None:
        """The turn has taken it up."""
        if text in self._steering:
            self._steering.remove(text)
            self._draw()

    def take_back(self) -> str:
        """Give the last one back, to be changed."""
        text = self._queued.pop()
        self._draw()
        return text

    def next(self) -> str:
        """The turn has come to its end: give what is sent now; empty where nothing waits."""
        self._queued = [*self._steering, *self._queued]
        self._steering = []
        text = self._queued.pop(0) if self._queued else ""
        self._draw()
        return text

    def give_up(self) -> list[str]:
        """The turn was cut short: give back all that waits."""
        left = [*self._steering, *self._queued]
        self._steering, self._queued = [], []
        self._draw()
        return left

    def _draw(self) -> None:
        rows, room = [f"queued: {flat(each)}" for each in self._queued], max(_SHOWN - len(self._steering), 2)
        if len(rows) > room:
            rows[: 1 - room] = [f"… {len(rows) - room + 1} more"]
        shown = [Content(row) for row in (*(f"steering: {flat(each)}" for each in self._steering), *rows)]
        if self._queued:
            room = max(self.app.size.width - _SIDES - len(_HINT), 1)
            shown[-1] = shown[-1].truncate(room, ellipsis=True) + _HINT
        self.update(Content("\n").join(shown))
        self.display = bool(shown)
