"""What is counted while the app is open: tokens of the turn and of its last request, notes and what waits for one."""

import os
from pathlib import Path

from ogcode.agent.events import Answered, Event, Nested, SummedUp, TurnFinished
from ogcode.agent.turn import Usage
from ogcode.tui.calls import changed_lines


class Tally:
    """The tokens of the turn that runs, or was the last."""

    def __init__(self) -> None:
        self.turn = Usage()
        self.replay = 0
        """Tokens that it would have taken with the whole conversation in each request."""
        self.used = 0
        """Tokens of the last request and its answer."""
        self.running = Usage()
        """Of the turn that runs: the session counts it when it has ended."""
        self.added = self.removed = 0
        """Lines that edits of this session have changed."""

    def begin(self) -> None:
        """A turn begins."""
        self.turn, self.replay = Usage(), 0

    def forget(self) -> None:
        """Another session begins."""
        self.begin()
        self.used = self.added = self.removed = 0

    def change(self, difference: str) -> None:
        """Count the lines of a change that was made."""
        added, removed = changed_lines(difference)
        self.added += added
        self.removed += removed

    def add(self, event: Event) -> None:
        if isinstance(event, Answered):
            self.used = event.usage.tokens
        match event:
            case Answered(_, _, usage) | Nested(_, Answered(_, _, usage)) | SummedUp(_, usage):
                self.running += usage
                self.turn = self.running
            case TurnFinished():
                self.running = Usage()
                self.replay = event.with_replay


class Names:
    """The ids that a folder's files bear, listed again only where the folder has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp = -1
        self._names = frozenset[str]()

    def now(self) -> frozenset[str]:
        try:
            stamp = self._folder.stat().st_mtime_ns
            if stamp != self._stamp:
                found = (entry.name for entry in os.scandir(self._folder) if entry.name.endswith((".md", ".json")))
                self._names = frozenset("--".join(Path(name).stem.split("--")[:2]) for name in found if name[0] != ".")
                self._stamp = stamp
        except OSError:
            return frozenset()
        return self._names
