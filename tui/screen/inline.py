"""The app below the shell's prompt: only what goes on is drawn, what is over is printed above, into the scrollback."""

from typing import TYPE_CHECKING

from textual._compositor import Compositor
from textual.geometry import Offset, Size

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


class Inline:
    """Keeps the place where the app is drawn; all that is above it is the terminal's own."""

    def __init__(self, app: "Ogcode") -> None:
        self._app = app

    def restart(self) -> None:
        """Draw anew from where the app begins, whatever the size of the window is now."""
        self._write("")

    async def flush(self) -> None:
        """Print what the transcript holds above the app, and let go of it."""
        transcript = self._app.transcript
        if not transcript.children:
            return
        transcript.scroll_home(animate=False, immediate=True, force=True)
        size = Size(self._app.size.width, transcript.virtual_size.height)
        around = Compositor()
        around.reflow(transcript, size)
        for widget, place in around.full_map.items():
            widget._size_updated(place.region.size, place.virtual_size, place.container_size, layout=False)
        lines = [strip.render(self._app.console) for strip in around.render_strips(size)]
        with self._app.batch_update():
            await transcript.empty()
            self._write("".join(f"{line}\r\n" for line in lines))
        self._app.refresh(layout=True)

    def _write(self, text: str) -> None:
        """Replace the app's picture by a text; the next picture follows it."""
        driver, app = self._app._driver, self._app
        if driver is None:
            return
        driver.write(f"{to_top(app._previous_cursor_position)}\x1b[J{text}")
        app._previous_cursor_position = Offset(0, 0)
        app._previous_inline_height = None


def to_top(cursor: Offset) -> str:
    """Give the way from the cursor's place in the app to the app's beginning."""
    return f"\x1b[{cursor.y}A\r" if cursor.y else "\r"
