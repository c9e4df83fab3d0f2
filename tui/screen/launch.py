"""The app from its start to its end."""

from pathlib import Path

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys

from ogcode.tui.desks.desk import Desk
from ogcode.tui.first_frame import FirstFrame
from ogcode.tui.screen.app import Ogcode
from ogcode.tui.screen.driver import driver_of


def run_app(
    desk: Desk,
    *,
    first_prompt: str = "",
    frame: FirstFrame | None = None,
    log: Path | None = None,
    inline: bool = False,
) -> int:
    """Run the app to its end and give the exit code; stray prints go to `log`.

    Raises:
        Exception: what ended it before its time; the terminal is as it was.
    """
    if isinstance(ANSI_SEQUENCES_KEYS, dict):  # Textual reads Alt+Enter of older terminals as Enter
        ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)
    app = Ogcode(desk, first_prompt=first_prompt, driver=driver_of(frame, log, inline=inline))
    try:
        app.run()
    finally:
        desk.close()
    if failure := app.opening.failure or app._exception:
        raise failure
    return app.return_code or 0
