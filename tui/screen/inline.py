"""The app below the shell's prompt: only what goes on is drawn, what is over is printed above, into the scrollback."""

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual._compositor import Compositor
from textual.geometry import Offset, Size
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widget import Widget

    from ogcode.tui.screen.app import Ogcode


class Inline:
    """Keeps the place where the app is drawn; all that is above it is the terminal's own."""

    def __init__(self, app: "Ogcode") -> None:
        self._app = app

    def restart(self) -> None:
        """Draw anew from where the app begins, whatever the size of the window is now."""
        self._write("")

    async def flush(self, blocks: "Sequence[Widget]" = ()) -> None:
        """Print what the transcript holds above the app, or only the first of its blocks, and let go of it."""
        transcript = self._app.transcript
        if not transcript.children:
            return
        transcript.scroll_home(animate=False, immediate=True, force=True)
        size = Size(self._app.size.width, transcript.virtual_size.height)
        around = Compositor()
        around.reflow(transcript, size)
        for widget, place in around.full_map.items():
            widget._size_updated(place.region.size, place.virtual_size, place.container_size, layout=False)
        left = transcript.children[len(blocks)] if len(blocks) < len(transcript.children) else None
        end = around.full_map[left].region.y - left.styles.margin.top if blocks and left else size.height
        lines = [_trimmed(strip).render(self._app.console) for strip in around.render_strips(size)[:end]]
        with self._app.batch_update():
            await (transcript.remove_children(blocks) if blocks else transcript.empty())
            self._write("".join(f"{line}\r\n" for line in lines))
            transcript.anchor()
        self._app.refresh(layout=True)

    def _write(self, text: str) -> None:
        """Replace the app's picture by a text; the next picture follows it."""
        driver, app = self._app._driver, self._app
        if driver is None:
            return
        driver.write(f"{to_top(app._previous_cursor_position)}\x1b[J{text}")
        app._previous_cursor_position = Offset(0, 0)
        app._previous_inline_height = None


def _trimmed(strip: Strip) -> Strip:
    """Leave out the blanks at the end of a line: nobody who copies it wants them, and a narrower window breaks them."""
    segments = [*strip]
    while segments and _bare(segments[-1].style):
        last = segments.pop()
        if text := last.text.rstrip():
            return Strip([*segments, Segment(text, last.style)])
    return Strip(segments)


def _bare(style: Style | None) -> bool:
    """Tell whether a blank in this style is not seen."""
    return not style or not (style.reverse or style.underline or (style.bgcolor and not style.bgcolor.is_default))


def to_top(cursor: Offset) -> str:
    """Give the way from the cursor's place in the app to the app's beginning."""
    return f"\x1b[{cursor.y}A\r" if cursor.y else "\r"
