"""The terminal under the app: taken over from the first frame, kept from stray prints, always given back as it was."""

import errno
import io
import os
import select
import signal
import sys
import time
from codecs import getincrementaldecoder
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import CursorPosition
from textual.geometry import Offset
from textual.screen import Screen

from ogcode.tui.first_frame import FirstFrame
from ogcode.tui.screen.inline import to_top
from ogcode.tui.screen.pace import QUESTION, Pace
from ogcode.tui.screen.parser import QuickParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.app import App
    from textual.message import Message

_MOST = 1_000_000
"""Bytes of a log after which it begins anew."""
_MOMENT = 0.005
_PATIENCE = 2.0
"""Seconds for a last answer of the terminal."""
_LOOK = 0.1
"""Seconds until the thread that reads looks whether the app ends."""


class Canvas(io.TextIOWrapper):
    """What is drawn on; once the terminal is gone, that is told as a hangup and the rest goes nowhere.

    Textual writes in a thread behind a short queue: were it to die of an error, the app would wait for it for ever.
    """

    gone = False

    def write(self, text: str) -> int:
        return len(text) if self.gone else self._done(lambda: super(Canvas, self).write(text))

    def flush(self) -> None:
        if not self.gone:
            self._done(super().flush)

    def _done(self, work: "Callable[[], int | None]") -> int:
        try:
            return work() or 0
        except OSError:
            self.gone = True
            os.kill(os.getpid(), signal.SIGHUP)
            return 0


class TerminalDriver(LinuxDriver):
    """Draws on the terminal itself; file descriptors 1 and 2 are a log meanwhile, whoever writes to them."""

    def __init__(
        self,
        app: "App[object]",
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
        frame: FirstFrame | None = None,
        log: Path | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._frame = frame
        self._log = log
        self._kept = dict[int, int]()
        """What 1 and 2 were."""
        self.pace = Pace()
        self._terminal = os.dup(1)
        self._file: Canvas = Canvas(os.fdopen(self._terminal, "wb", closefd=False), "utf-8", errors="replace")

    def start_application_mode(self) -> None:
        self._turn_away()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual's
        if self._frame and self.attrs_before is not None:
            self.attrs_before = [*self._frame.modes]
            self._frame.hand_over()

    def stop_application_mode(self) -> None:
        super().stop_application_mode()
        self._turn_back()

    def write(self, data: str) -> None:
        super().write(self.pace.send(data))

    def process_message(self, message: "Message") -> None:
        if isinstance(message, CursorPosition):
            self.pace.heard()
        else:
            super().process_message(message)

    def disable_input(self) -> None:
        """Wait for what the terminal still has to say: the shell would take it for typed."""
        if self.pace.answers and self._key_thread and self._key_thread.is_alive():
            self.write(QUESTION)
            until = time.monotonic() + _PATIENCE
            while self.pace.owed and not self._file.gone and time.monotonic() < until:
                time.sleep(_MOMENT)
        super().disable_input()

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again, also where it was never given back: who was stopped from outside had no say."""
        if self._kept and self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()

    def run_input_thread(self) -> None:
        """Hand on what was typed before us, then what is typed."""
        parser, decode = QuickParser(self._debug), getincrementaldecoder("utf-8")("replace").decode
        try:
            if self._frame:
                typed, self._frame.typed = self._frame.typed, b""
                self._hand_on(parser.feed(decode(typed)) if typed else ())
            while not self.exit_event.is_set():
                self._listen(parser, decode, _LOOK if parser.due is None else min(_LOOK, parser.due))
            self._listen(parser, decode, _LOOK)
        except OSError:  # the terminal was closed
            os.kill(os.getpid(), signal.SIGHUP)

    def _listen(self, parser: QuickParser, decode: "Callable[[bytes], str]", seconds: float) -> None:
        """Wait for what is typed, no longer than this.

        Raises:
            OSError: the terminal was closed.
        """
        if select.select([self.fileno], [], [], seconds)[0]:
            if not (data := os.read(self.fileno, 1 << 16)):
                raise OSError(errno.EIO, "the terminal is at its end")
            if text := decode(data):
                self._hand_on(parser.feed(text))
        self._hand_on(parser.tick())

    def _hand_on(self, messages: "Iterable[Message]") -> None:
        for message in messages:
            self.process_message(message)

    def _get_terminal_size(self) -> tuple[int, int]:
        try:
            width, height = os.get_terminal_size(self._terminal)
        except OSError:
            width = height = 0
        return width or 80, height or 24

    def _turn_away(self) -> None:
        """Let everything but us write to the log."""
        if self._kept:
            return
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream:
                stream.flush()
        log = _opened(self._log)
        for number in (1, 2):
            if os.isatty(number):
                self._kept[number] = os.dup(number)
                os.dup2(log, number)
        os.close(log)

    def _turn_back(self) -> None:
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream:
                stream.flush()
        for number, before in self._kept.items():
            os.dup2(before, number)
            os.close(before)
        self._kept.clear()


class InlineDriver(TerminalDriver):
    """Draws below the shell's prompt, on the terminal's own screen: its scrollback and its mouse stay as they are."""

    @property
    def is_inline(self) -> bool:
        return True

    def write(self, data: str) -> None:
        match data:
            case "\x1b[?1049h":  # the place of the first frame is taken; after a pause it is where the cursor is
                data = self._frame.gone if self._frame and self._frame.shown else ""
            case "\x1b[?1049l":
                data = "\x1b[J"
        super().write(data)

    def suspend_application_mode(self) -> None:
        self.write(to_top(self._app._previous_cursor_position))
        self._app._previous_cursor_position = Offset(0, 0)
        self._app._previous_inline_height = None
        super().suspend_application_mode()

    def _enable_mouse_support(self) -> None: ...


class Paced(Screen[None]):
    """Draws a frame once the terminal has shown what came before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.to_folds", show=False)
    ]  # Textual's own goes to the first

    def _on_timer_update(self) -> None:
        driver = self.app._driver
        if not (isinstance(driver, TerminalDriver) and driver.pace.behind):
            super()._on_timer_update()


def _opened(path: Path | None) -> int:
    """Open a log to write behind what is there, or nothing where it can't be."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    if path:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            log = os.open(path, flags, 0o600)
            if os.fstat(log).st_size > _MOST:
                os.ftruncate(log, 0)
        except OSError:
            pass
        else:
            return log
    return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def driver_of(frame: FirstFrame | None, log: Path | None, *, inline: bool = False) -> type[Driver]:
    """Make the driver that goes on where a first frame ends."""
    kind: type[TerminalDriver] = InlineDriver if inline else TerminalDriver

    class Taking(kind):  # type: ignore[valid-type,misc]  # a class that is chosen
        def __init__(
            self,
            app: "App[object]",
            *,
            debug: bool = False,
            mouse: bool = True,
            size: tuple[int, int] | None = None,
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size, frame=frame, log=log)

    return Taking
