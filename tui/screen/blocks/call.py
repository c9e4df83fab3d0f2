"""A tool call in one line, which unfolds to what came of it."""

import json

from textual.content import Content
from textual.events import Resize

from ogcode.agent.clean import clean
from ogcode.agent.events import Answered, Event, ToolFinished, ToolStarted, Warned
from ogcode.agent.turn import ToolCall
from ogcode.tui.calls import LONGEST, given, subject
from ogcode.tui.screen.blocks.fold import Fold
from ogcode.tui.screen.blocks.lines import flat

_MOST_GIVEN = 20_000
"""Characters of an argument that are shown."""


class Inner:
    """A step of a helper inside a call."""

    def __init__(self, text: str, mark: str = "·") -> None:
        self.text = text
        self.mark = mark


class ToolBlock(Fold):
    """A call and what came of it."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__()
        self.call = call
        self.difference = ""
        """What it changed, where that is known."""
        self.result: ToolFinished | None = None
        self._inner = dict[str, Inner]()
        self._width = 0
        self._named = Content("")
        """So much of what it is about has room in its head."""

    @property
    def running(self) -> bool:
        return self.result is None

    def finish(self, result: ToolFinished) -> None:
        """Show what came of it."""
        self.result = result
        self.draw()

    def note(self, event: Event) -> None:
        """Show what a helper inside the call does."""
        match event:
            case ToolStarted(call):
                self._inner[call.id] = Inner(f"{flat(call.name)} {subject(call)}".rstrip())
            case ToolFinished(call, output, failed) if call.id in self._inner:
                step = self._inner[call.id]
                step.mark = "✗" if failed else "✓"
                step.text += f": {flat(output.removeprefix('error: ')[:LONGEST])}" if failed else ""
            case Warned(text):
                self._inner[f"warned {len(self._inner)}"] = Inner(flat(text), "!")
            case Answered(text) if text.strip() and event.calls:
                self._inner[f"said {len(self._inner)}"] = Inner(flat(text[:LONGEST]))
            case _:
                return
        self.draw()

    def stop(self) -> None:
        """Say that it did not get to its end."""
        if self.running:
            self.finish(ToolFinished(self.call, "stopped", failed=True))

    def head(self) -> Content:
        name, state = Content.styled(flat(self.call.name), "bold"), self.state()
        room = max(self.size.width - 2, 40) - name.cell_length - min(state.cell_length, 40) - 4
        self._named = Content(self.about()).truncate(max(room, 12), ellipsis=True)
        return Content("  ").join(part for part in (name, self._named, state) if part.plain)

    def about(self) -> str:
        """Name what it is about, in one line that is safe to show."""
        return subject(self.call)

    def state(self) -> Content:
        """Tell how far it is, or how it ended."""
        if self.result is None:
            last = next(reversed(self._inner.values()), None)
            return Content.styled(f"… {last.text}" if last else "…", "dim")
        if self.result.failed:
            told = self.result.output.removeprefix("error: ")[: 2 * LONGEST]
            return Content.assemble(("✗ ", "$error"), flat(told)[:LONGEST])
        return Content.assemble(("✓ ", "$success"), (self.gist(self.result.output), "dim"))

    def gist(self, output: str) -> str:
        """Sum up what it gave, in a few words that are safe to show."""
        return counted(len(output.splitlines()))

    def body(self) -> Content:
        return Content("\n").join([*self.given(), *self.inner(), *self.output()])

    def given(self) -> list[Content]:
        """Show what the head has no room for of what it was given."""
        told = given(self.call) or {"": self.call.arguments.strip().removeprefix("{}")}
        return [
            printed(text if flat(text) == subject(self.call) or not name else f"{flat(name)}: {text}").stylize("dim")
            for name, value in told.items()
            if (text := _written(value)) and text not in self._named.plain
        ]

    def inner(self) -> list[Content]:
        """Show the steps of the helpers inside it."""
        return [Content.styled(f"{each.mark} {each.text}", "dim") for each in self._inner.values()]

    def output(self) -> list[Content]:
        """Show what it gave."""
        return [printed(self.result.output)] if self.result else []

    def on_resize(self, event: Resize) -> None:
        if event.size.width != self._width:
            self._width = event.size.width
            self.draw()


def _written(value: object) -> str:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:_MOST_GIVEN]


def printed(text: str, limit: int = LONGEST) -> Content:
    """Make an output safe to show, and say how many lines were left out."""
    lines = clean(text, prose=True).rstrip("\n").split("\n")
    shown = [Content(line) for line in lines[:limit]]
    left = len(lines) - limit
    return Content("\n").join([*shown, *([Content.styled(f"… {left:,} more lines", "dim")] if left > 0 else [])])


def counted(number: int) -> str:
    return f"{number:,} line{'' if number == 1 else 's'}"
