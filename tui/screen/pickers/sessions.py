"""`/resume`: the sessions of this repository, found as one types, and what was said in them last."""

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from ogcode.agent.clean import clean
from ogcode.tui.desks.desk import NotDone, Status
from ogcode.tui.desks.sessions import SessionLine, SessionsDesk
from ogcode.tui.screen.blocks.lines import flat
from ogcode.tui.screen.pickers.naming import NameScreen
from ogcode.tui.screen.pickers.picker import Picker, Row

_LINES = 12
"""Of one request or answer that are shown."""


class SessionPicker(Picker):
    HEADING = "Go on with a session"
    HINT = (
        "type to search · Enter go on with it · Ctrl+A all folders · Ctrl+R rename · Ctrl+X twice delete · "
        "Shift+↑↓ scroll · Esc back"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+a", "everywhere", show=False, priority=True),
        Binding("ctrl+r", "rename", show=False, priority=True),
        Binding("ctrl+x", "delete", show=False, priority=True),
        Binding("shift+up", "scroll(-3)", show=False, priority=True),
        Binding("shift+down", "scroll(3)", show=False, priority=True),
    ]

    def __init__(self, desk: SessionsDesk, status: Callable[[], Status], *, typed: str = "") -> None:
        super().__init__(status, typed=typed)
        self._desk = desk
        self._lines = dict[str, SessionLine]()
        self._doomed = ""
        """The session that a second Ctrl+X deletes."""
        self._everywhere = False

    def beside(self) -> ComposeResult:
        with VerticalScroll(id="preview", can_focus=False):
            yield Static(markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.tell("looking for sessions…")
        self._load("")

    @work(exclusive=True, group="list")
    async def _load(self, told: str) -> None:
        """List them, and say what has become of one; the choice stays at its place."""
        place = self.query_one(OptionList).highlighted or 0
        try:
            lines = await asyncio.to_thread(self._desk.listed, everywhere=self._everywhere)
        except NotDone as error:
            self.tell(str(error))
            return
        self._lines = {line.session_id: line for line in lines}
        none = "" if lines else "there is no earlier session here: each one begins with your first message"
        self.fill(map(_row, lines), told or none)
        if self._fitting:
            self.query_one(OptionList).highlighted = min(place, len(self._fitting) - 1)

    def looked_at(self, row: Row | None) -> None:
        if self._doomed and self._doomed != (row.value if row else ""):
            self._doomed = ""
            self.tell("")
        self._preview(self._lines[row.value] if row else None)

    @work(exclusive=True, group="preview")
    async def _preview(self, line: SessionLine | None) -> None:
        said = await asyncio.to_thread(self._desk.preview, line.session_id) if line else ()
        self.query_one("#preview > Static", Static).update(_told(line, said) if line else Content(""))
        self.query_one("#preview").scroll_end(animate=False)

    def action_everywhere(self) -> None:
        """List the sessions of all folders, or only those of this one again."""
        self._everywhere = not self._everywhere
        self._load("the sessions of all folders that you trust" if self._everywhere else "")

    def action_rename(self) -> None:
        if not (row := self.chosen):
            return
        line = self._lines[row.value]

        def named(name: str | None) -> None:
            if name is not None:
                self._change(lambda: self._desk.rename(name, line.session_id))

        self.app.push_screen(NameScreen(flat(line.name), flat(line.title)), named)

    def action_delete(self) -> None:
        if not (row := self.chosen):
            return
        if self._doomed != row.value:
            self._doomed = row.value
            self.tell(f"Ctrl+X again moves '{flat(self._lines[row.value].title)[:40]}' to the trash; its notes stay")
            return
        self._doomed = ""
        self._change(lambda: self._desk.delete(row.value))

    def _change(self, do: Callable[[], str]) -> None:
        try:
            said = do()
        except NotDone as error:
            said = str(error)
        self._load(said)

    def action_scroll(self, step: int) -> None:
        self.query_one("#preview").scroll_relative(y=step, animate=False)


def _row(line: SessionLine) -> Row:
    mark = "this one" if line.current else "other checkout" if not line.here and not line.folder else ""
    about = " · ".join(filter(None, [flat(line.folder), flat(line.branch), mark]))
    shown = Content.assemble(
        (f"{line.active:%Y-%m-%d %H:%M}  ", "dim"),
        (flat(line.title)[:200], "bold" if line.name else ""),
        (f"  {about}" if about else "", "dim"),
    )
    when = f"{line.active:%Y-%m-%d %H:%M}"
    words = (line.name, line.first, line.last, line.branch, when, line.session_id, line.folder)
    return Row(line.session_id, shown, "\n".join(words))


def _told(line: SessionLine, said: Sequence[tuple[str, str]]) -> Content:
    turns = "1 turn" if line.turns == 1 else f"{line.turns} turns"
    about = [f"{line.session_id[:8]}", turns, f"{line.active:%Y-%m-%d %H:%M}", flat(line.branch), flat(line.folder)]
    parts = [Content.styled(" · ".join(filter(None, about)), "dim")]
    if line.name:
        parts.insert(0, Content.styled(flat(line.name), "bold"))
    for request, answer in said:
        parts += [Content(""), Content.styled(_cut(request), "bold"), Content(_cut(answer))]
    return Content("\n").join(parts)


def _cut(text: str) -> str:
    lines = clean(text.strip(), prose=True).split("\n")
    return "\n".join([*lines[:_LINES], *([f"… {len(lines) - _LINES:,} more lines"] if len(lines) > _LINES else [])])
