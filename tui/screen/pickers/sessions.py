"""`/resume`: the sessions of this repository, found as one types, and what was said in them last."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ogcode.agent.clean import clean
from ogcode.tui.desk import Status
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.pickers.picker import Picker, Row
from ogcode.tui.sessions_desk import SessionLine, SessionsDesk

_LINES = 12
"""Of one request or answer that are shown."""


class SessionPicker(Picker):
    HEADING = "Go on with a session"
    HINT = "type to search · ↑↓ choose · Enter go on with it · Shift+↑↓ scroll · Esc back"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+up", "scroll(-3)", show=False, priority=True),
        Binding("shift+down", "scroll(3)", show=False, priority=True),
    ]

    def __init__(self, desk: SessionsDesk, status: Callable[[], Status], *, typed: str = "") -> None:
        super().__init__(status, typed=typed)
        self._desk = desk
        self._lines = dict[str, SessionLine]()

    def beside(self) -> ComposeResult:
        with VerticalScroll(id="preview", can_focus=False):
            yield Static(markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._load()

    @work(exclusive=True, group="list")
    async def _load(self) -> None:
        self.tell("looking for sessions…")
        lines = await asyncio.to_thread(self._desk.listed)
        self._lines = {line.session_id: line for line in lines}
        none = "" if lines else "there is no earlier session here: each one begins with your first message"
        self.fill(map(_row, lines), none)

    def looked_at(self, row: Row | None) -> None:
        self._preview(self._lines[row.value] if row else None)

    @work(exclusive=True, group="preview")
    async def _preview(self, line: SessionLine | None) -> None:
        said = await asyncio.to_thread(self._desk.preview, line.session_id) if line else ()
        self.query_one("#preview > Static", Static).update(_told(line, said) if line else Content(""))
        self.query_one("#preview").scroll_end(animate=False)

    def action_scroll(self, step: int) -> None:
        self.query_one("#preview").scroll_relative(y=step, animate=False)


def _row(line: SessionLine) -> Row:
    marks = [name for name, holds in (("this one", line.current), ("other checkout", not line.here)) if holds]
    about = " · ".join(filter(None, [flat(line.branch), *marks]))
    shown = Content.assemble(
        (f"{line.active:%Y-%m-%d %H:%M}  ", "dim"),
        (flat(line.title)[:200], "bold" if line.name else ""),
        (f"  {about}" if about else "", "dim"),
    )
    words = (line.name, line.first, line.last, line.branch, f"{line.active:%Y-%m-%d %H:%M}", line.session_id)
    return Row(line.session_id, shown, "\n".join(words))


def _told(line: SessionLine, said: Sequence[tuple[str, str]]) -> Content:
    turns = "1 turn" if line.turns == 1 else f"{line.turns} turns"
    about = [f"{line.session_id[:8]}", turns, f"{line.active:%Y-%m-%d %H:%M}", flat(line.branch)]
    parts = [Content.styled(" · ".join(filter(None, about)), "dim")]
    if line.name:
        parts.insert(0, Content.styled(flat(line.name), "bold"))
    for request, answer in said:
        parts += [Content(""), Content.styled(_cut(request), "bold"), Content(_cut(answer))]
    return Content("\n").join(parts)


def _cut(text: str) -> str:
    lines = clean(text.strip(), prose=True).split("\n")
    return "\n".join([*lines[:_LINES], *([f"… {len(lines) - _LINES:,} more lines"] if len(lines) > _LINES else [])])
