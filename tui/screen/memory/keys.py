"""What is said of the keys of the memory view."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

HINTS = "Enter read · / search · e edit · p pin · x forget · u undo · R ask · ? keys · Esc back"
SHORT = "Enter read · / search · x forget · ? keys · Esc back"
AFTER_G = "g the first · f its file · 1–9 where it leads"

_KEYS = """\
j k ↓ ↑      move; PgDn PgUp by a page
Space b      scroll the note
g g, G       the first, the last
Enter l →    into it; h ← back to the list, then to the conversations
Tab          the next link of the note; Enter follows it
1–9          where the note leads, as numbered below it
/            search all notes and facts as you type; n N go through the hits
v            the note as it is read, or as it is written
g f          open the file that it worked on in your editor, else its own
e            edit in $VISUAL or $EDITOR
p            pin or unpin: pinned notes come first
m M          mark; mark all that are listed
x x          forget what is marked, or this
u            take back what was done last
r            have it written anew, or tried again
y            copy its path
R            ask the librarian
Esc q        back"""


class KeySheet(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "leave", show=False)]

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(Content(_KEYS), markup=False)

    def action_leave(self) -> None:
        self.dismiss(None)
