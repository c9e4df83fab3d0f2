"""A change of a file: the difference it makes."""

import difflib

from textual.content import Content

from ogcode.agent.clean import clean
from ogcode.agent.tools.preview import DOOMED
from ogcode.agent.turn import ToolCall
from ogcode.tui.calls import changed_lines, given
from ogcode.tui.screen.blocks.call import ToolBlock
from ogcode.tui.screen.diff import Diff, is_diff

_MOST = 200_000
"""Characters of a change that are compared."""


class ChangeBlock(ToolBlock):
    """An edit, which unfolds to its difference; a change that failed shows why."""

    def __init__(self, call: ToolCall, difference: str) -> None:
        super().__init__(call)
        known = difference if difference and not difference.startswith(DOOMED) else ""
        self.difference = known or told(call)
        self._body = self._diff = Diff(classes="body")
        self._sizes = changed_lines(self.difference)

    def gist(self, output: str) -> str:
        added, removed = self._sizes
        return f"+{added:,} -{removed:,}" if added or removed else super().gist(output)

    def given(self) -> list[Content]:
        return []  # the difference has it

    def body(self) -> Content:
        """Show the difference where it was made, or is being made."""
        failed = self.result is not None and self.result.failed
        if failed or not is_diff(self.difference):
            return super().body()
        return self._diff.of(self.difference)


def told(call: ToolCall) -> str:
    """Make a difference of what a call was given, for where nobody looked at the file before it changed."""
    told = given(call)
    path = told.get("path")
    match told:
        case {"old": str(old), "new": str(new)}:
            more = told.get("more")
            pairs = [(old, new)]
            for each in more if isinstance(more, list) else ():
                match each:
                    case {"old": str(before), "new": str(after)}:
                        pairs.append((before, after))
        case {"content": str(content)}:
            pairs = [("", content)]
        case _:
            return ""
    if sum(len(before) + len(after) for before, after in pairs) > _MOST:
        return ""
    name = clean(str(path)).replace("\n", " ")
    hunks = [
        line
        for before, after in pairs
        for line in list(difflib.unified_diff(_lines(before), _lines(after), lineterm=""))[2:]
    ]
    return "\n".join([f"--- {name}", f"+++ {name}", *hunks]) if hunks else ""


def _lines(text: str) -> list[str]:
    lines = clean(text).split("\n")
    return lines if lines[-1] else lines[:-1]
