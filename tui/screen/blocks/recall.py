"""A recall: what was asked of memory, what was opened for it, and the answer with links to the notes it cites."""

import re
from dataclasses import dataclass, replace

from textual import events
from textual.content import Content
from textual.message import Message
from textual.style import Style

from ogcode.agent.clean import clean
from ogcode.agent.events import ToolFinished
from ogcode.agent.turn import ToolCall
from ogcode.librarian.fence import unfenced
from ogcode.tui.calls import LONGEST
from ogcode.tui.screen.blocks.call import ToolBlock

_LINK = re.compile(r"\[\[([^\[\]\n#|]{1,200})(#[^\[\]\n]{0,200})?\]\]")


@dataclass
class OpenNote(Message):
    """The user wants to read a note."""

    note_id: str


class RecallBlock(ToolBlock):
    """An answer from memory; it is shown at once, and each citation leads to its note."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__(call)
        self._links = list[str]()
        self._chosen = -1

    def finish(self, result: ToolFinished) -> None:
        self.result = replace(result, output=unfenced(result.output))
        self._links = [found[1].strip() for found in _LINK.finditer(self._shown())]
        if result.failed:
            self.draw()
        else:
            self.folded = False

    def gist(self, output: str) -> str:  # noqa: ARG002  # a block's way
        cited = len(set(self._links))
        return f"{cited} note{'' if cited == 1 else 's'} cited" if cited else "nothing cited"

    def output(self) -> list[Content]:
        if self.result is None or self.result.failed:
            return super().output()
        shown = self._shown()
        parts, end = list[Content](), 0
        for place, found in enumerate(_LINK.finditer(shown)):
            parts.append(Content(shown[end : found.start()]))
            tone = "reverse" if place == self._chosen else "underline $accent"
            parts.append(Content.styled(found[0], Style.parse(tone) + Style.from_meta({"note": found[1].strip()})))
            end = found.end()
        return [Content("").join([*parts, Content(shown[end:])])]

    def on_click(self, event: events.Click) -> None:
        note = event.style.meta.get("note")
        if isinstance(note, str):
            event.stop()
            event.prevent_default()
            self.post_message(OpenNote(note))

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "right" | "left" if self._links:
                step = 1 if event.key == "right" else -1
                self._chosen = (max(self._chosen, -1 if step > 0 else 0) + step) % len(self._links)
                self.folded = False
                self.draw()
            case "enter" if self._chosen >= 0 and not self.folded:
                self.post_message(OpenNote(self._links[self._chosen]))
            case _:
                if self._chosen >= 0:
                    self._chosen = -1
                    self.draw()
                return
        event.stop()
        event.prevent_default()  # else a fold does what it does with a key

    def _shown(self) -> str:
        lines = clean(self.result.output if self.result else "", prose=True).strip().split("\n")
        cut = [f"… {len(lines) - LONGEST:,} more lines"] if len(lines) > LONGEST else []
        return "\n".join([*lines[:LONGEST], *cut])
