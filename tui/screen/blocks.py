"""The blocks of a transcript, apart from answers."""

import json
from dataclasses import replace

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widgets import Static

from ogcode.agent.clean import clean
from ogcode.agent.events import Event, ToolFinished, ToolStarted, TurnFinished, Warned
from ogcode.agent.turn import ToolCall
from ogcode.librarian.fence import unfenced
from ogcode.tui.screen.diff import painted
from ogcode.tui.screen.status import short

_FIRST = ("command", "question", "path", "pattern", "name", "file", "folder", "query", "topic")
_RECALLS = ("memory_recall", "project_memory_recall")
_LONGEST = 400
_TALLEST = 20


def flat(text: str) -> str:
    """Make text safe to show in one line."""
    return " ".join(clean(text).split())


def subject(call: ToolCall) -> str:
    """Name what a call is about: its main argument, in one line."""
    try:
        given = json.loads(call.arguments or "{}")
    except ValueError:
        return flat(call.arguments)[:_LONGEST]
    if not isinstance(given, dict):
        return flat(call.arguments)[:_LONGEST]
    words = [given[key] for key in _FIRST if isinstance(given.get(key), str)]
    words += [value for value in given.values() if isinstance(value, str)]
    return flat(words[0])[:_LONGEST] if words else ""


class UserBlock(Static):
    """What the user said; of a long paste, its beginning."""

    def __init__(self, text: str) -> None:
        lines = clean(text, prose=True).split("\n")
        cut = [f"… {len(lines) - _TALLEST:,} more lines"] if len(lines) > _TALLEST else []
        super().__init__(Content("\n".join([*lines[:_TALLEST], *cut])), markup=False)


class Line(Static):
    """Something the app says: plain, quiet, or a warning."""

    def __init__(self, text: str | Content, kind: str = "quiet") -> None:
        super().__init__(Content(clean(text)) if isinstance(text, str) else text, markup=False, classes=kind)


class Ending(Line):
    """How a turn ended: what it used, and the note to come."""

    def __init__(self, finished: TurnFinished) -> None:
        turn = finished.turn
        parts = [
            turn.outcome if turn.outcome != "limit" else "stopped at a limit",
            f"{short(turn.usage.tokens)} tokens",
            f"replay would be {short(finished.with_replay)}" if finished.replay_tokens else "",
            f"note {finished.note}" if finished.note else "",
        ]
        said = " · ".join(part for part in parts if part)
        reason = "" if turn.outcome == "interrupted" else flat(turn.reason)
        super().__init__(f"{reason}\n{said}" if reason else said, "quiet" if turn.outcome == "done" else "warning")


class Fold(Vertical, can_focus=True):
    """One line that unfolds."""

    folded = var(True, toggle_class="folded")

    class Leave(Message):
        """The user is done here; `typed` belongs in the prompt."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    def __init__(self) -> None:
        super().__init__()
        self._head = Static(markup=False, classes="head")
        self._body = Static(markup=False, classes="body")

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._body

    def on_mount(self) -> None:
        self.draw()

    def head(self) -> Content:
        raise NotImplementedError

    def body(self) -> Content:
        raise NotImplementedError

    def draw(self) -> None:
        """Show what holds now."""
        self._head.update(Content.assemble(("▸ " if self.folded else "▾ ", "dim"), self.head()), layout=False)
        if not self.folded:
            self._body.update(self.body())

    def watch_folded(self) -> None:
        if self.is_mounted:
            self.draw()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self._head:
            self.folded = not self.folded

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "enter" | "space":
                self.folded = not self.folded
            case "up":
                self.screen.focus_previous(Fold)
            case "down":
                self.screen.focus_next(Fold)
            case "escape":
                self.post_message(self.Leave())
            case _ if event.character and event.is_printable:
                self.post_message(self.Leave(event.character))
            case _:
                return
        event.stop()


class ToolBlock(Fold):
    """A call and what came of it."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__()
        self.call = call
        self._result: ToolFinished | None = None
        self._inner = list[str]()
        self._folds = call.name not in _RECALLS

    @property
    def running(self) -> bool:
        return self._result is None

    def finish(self, result: ToolFinished) -> None:
        """Show what came of it; an answer from memory is shown at once."""
        self._result = result if self._folds else replace(result, output=unfenced(result.output))
        if self._folds or result.failed:
            self.draw()
        else:
            self.folded = False

    def note(self, event: Event) -> None:
        """Show what a helper inside the call does."""
        match event:
            case ToolStarted(call):
                self._inner.append(f"{flat(call.name)} {subject(call)}".rstrip())
            case Warned(text):
                self._inner.append(flat(text))
            case _:
                return
        self.draw()

    def stop(self) -> None:
        """Say that it did not get to its end."""
        if self.running:
            self.finish(ToolFinished(self.call, "stopped", failed=True))

    def head(self) -> Content:
        name, about = Content.styled(flat(self.call.name), "bold"), subject(self.call)
        if self._result is None:
            state = Content.styled(f"… {self._inner[-1]}" if self._inner else "…", "dim")
        elif self._result.failed:
            state = Content.assemble(("✗ ", "$error"), flat(self._result.output.removeprefix("error: "))[:_LONGEST])
        else:
            lines = len(self._result.output.splitlines())
            state = Content.assemble(("✓ ", "$success"), (f"{lines:,} line{'' if lines == 1 else 's'}", "dim"))
        room = max(self.size.width - 2, 40) - name.cell_length - min(state.cell_length, 40) - 4
        shown = Content(about).truncate(max(room, 12), ellipsis=True)
        return Content("  ").join(part for part in (name, shown, state) if part.plain)

    def body(self) -> Content:
        inner = [Content.styled(f"· {each}", "dim") for each in self._inner]
        output = painted(self._result.output, _LONGEST) if self._result else Content(flat(self.call.arguments))
        return Content("\n").join([*inner, output])

    def on_resize(self) -> None:
        self.draw()


class ReasoningBlock(Fold):
    """What the model thought; it is shown to nobody else and never remembered."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""

    def write(self, piece: str) -> None:
        whole_line = "\n" in piece
        self._text += piece
        if self.folded or whole_line:
            self.draw()

    def head(self) -> Content:
        return Content.styled(f"thought, {len(self._text.split()):,} words", "dim")

    def body(self) -> Content:
        return Content.styled(clean(self._text, prose=True).strip(), "dim")
