"""`/help` and `?`: which keys and commands there are; any key closes it."""

from collections.abc import Callable, Iterator, Mapping
from textwrap import wrap

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Key, Resize
from textual.screen import Screen
from textual.widgets import Static

from ogcode.tui.behind.keys import ACTIONS
from ogcode.tui.desks.desk import Status
from ogcode.tui.screen.actions.catalogue import COMMANDS
from ogcode.tui.screen.status import StatusLine

_TWO_COLUMNS = 150
_HINT = "↑↓ scroll · any other key closes · keys of your own: ~/.ogcode/keys.toml"
_SCROLLING: Mapping[str, str] = {
    "up": "scroll_up",
    "down": "scroll_down",
    "pageup": "scroll_page_up",
    "pagedown": "scroll_page_down",
    "home": "scroll_home",
    "end": "scroll_end",
}
_GROUPS: Mapping[str, tuple[str | tuple[str, str], ...]] = {
    "Writing": (
        ("Enter", "send; while a turn runs, queue"),
        ("Shift+Enter", "a new line; also Alt+Enter, Ctrl+J, or \\ before Enter"),
        ("Up, Down", "earlier messages; Up on an empty prompt takes a queued one back"),
        ("/  @  !", "a command of ogcode's; a file; a command of the shell (!! keeps it from the model)"),
        "history",
        "editor",
        "picture",
    ),
    "While it works": (
        ("Esc", "interrupt the turn; the draft stays. Twice on an empty prompt: back to before a turn"),
        "steer",
        "mode",
        "steps",
        "jobs",
    ),
    "Looking": (
        "unfold",
        ("PgUp, PgDn", "scroll"),
        "palette",
        ("?", "this sheet, on an empty prompt"),
        "redraw",
    ),
    "Leaving": (
        "clear",
        "leave",
        "suspend",
    ),
}
"""Keys with what they do, and the names of actions."""


class HelpScreen(Screen[None]):
    CSS_PATH = "pickers.tcss"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012  # declared so by Textual
        (0, "-narrow"),
        (_TWO_COLUMNS, "-wide"),
    ]

    def __init__(self, keys: Mapping[str, tuple[str, ...]], status: Callable[[], Status]) -> None:
        super().__init__()
        self._keys = keys
        self._status = status

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False), Container():
            yield Static(markup=False, id="keys")
            yield Static(markup=False, id="commands")
        yield Static(_HINT, markup=False, classes="keys")
        yield StatusLine(self._status)

    def on_resize(self, event: Resize) -> None:
        wide = event.size.width - 9
        wide = wide // 2 if event.size.width >= _TWO_COLUMNS else wide
        self.query_one("#keys", Static).update(Content("\n").join(self._of_keys(wide)))
        self.query_one("#commands", Static).update(Content("\n").join(_of_commands(wide)))

    def on_key(self, event: Key) -> None:
        event.stop()
        if scrolling := _SCROLLING.get(event.key):
            getattr(self.query_one(VerticalScroll), scrolling)(animate=False)
        else:
            self.dismiss(None)

    def _of_keys(self, wide: int) -> Iterator[Content]:
        for group, rows in _GROUPS.items():
            yield Content.styled(group, "bold")
            for row in rows:
                key, says = (shown(self._keys[row]), ACTIONS[row].says) if isinstance(row, str) else row
                yield _row(key, says, 15, wide)
            yield Content("")


def _of_commands(wide: int) -> Iterator[Content]:
    yield Content.styled("Commands", "bold")
    for each in COMMANDS:
        yield _row(f"{each.name} {each.argument}", each.does, 25, wide)


def _row(key: str, says: str, left: int, wide: int) -> Content:
    """Put what a key does beside it, in as many lines as it takes."""
    lines = wrap(says, max(20, wide - left - 2), break_on_hyphens=False)
    return Content.assemble((f"  {key:<{left - 2}}", "$accent"), f"\n{' ' * left}".join(lines))


def shown(keys: tuple[str, ...]) -> str:
    """Write keys as they stand on a keyboard."""
    return ", ".join("+".join(part.capitalize() for part in key.split("+")) for key in keys)
