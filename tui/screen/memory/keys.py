"""What is said of the keys of the memory view."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

_LAST = ("? keys", "Esc back")

_HINTS: Mapping[str, Sequence[str]] = {
    "places": ("Enter its notes", "/ search", "R ask", *_LAST),
    "items": ("Enter read", "/ search", "x forget", "p pin", "e edit", "h conversations", "m mark", "R ask", *_LAST),
    "page": ("Tab links", "v source", "e edit", "g f its file", "1–9 where it leads", "x forget", *_LAST),
    "search": ("Enter to the list", "Esc ends the search"),
    "nothing": _LAST,
    "prefix": ("g the first", "f its file"),
}
"""What may be done in each place, what matters most first, but for the last two."""

_KEYS = """\
j k ↓ ↑      move; PgDn PgUp by a page
g g, G       the first, the last
Enter l →    into it
h ←          back: the list, the conversations
/            search notes and facts
n N          the next hit, the one before
Space b      scroll the note
v            as it is read, or as written
Tab          the next link; Enter follows it
1–9          where it leads, as numbered
g f          open the file it worked on
e            edit in $VISUAL or $EDITOR
p            pin, unpin; pinned come first
m M          mark; mark all that are listed
x x          forget it, or what is marked
u            take back what was done last
r            have it written anew, or now
y            copy its path
R            ask the librarian
Esc q        back"""


def hints(pane: str, width: int) -> str:
    """Name the keys of a place, as many as there is room for."""
    told = [*_HINTS[pane]]
    while len(line := " · ".join(told)) > width and len(told) > len(_LAST):
        del told[-len(_LAST) - 1]
    return line


class KeySheet(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "leave", show=False)]

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Content(_KEYS), markup=False)

    def action_leave(self) -> None:
        self.dismiss(None)
