"""The terminal under the app: taken over from the first frame, kept from stray prints, always given back as it was."""

import io
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import CursorPosition
from textual.geometry import Offset

from ogcode.tui.first_frame import FirstFrame
from ogcode.tui.screen.inline import to_top
from ogcode.tui.screen.parser import read_quickly

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.message import Message

_MOST = 1_000_000
"""Bytes of a log after which it begins anew."""


class Canvas(io.TextIOWrapper):
    """What is drawn on; once the terminal is gone, that is told as a hangup and the rest goes nowhere.

    Textual writes in a thread behind a short queue: were it to die of an error, the app would wait for it for ever.
    """

    _gone = False

    def write(self, text: str) -> int:
        return len(text) if self._gone else self._done(lambda: super(Canvas, self).write(text))

    def flush(self) -> None:
        if not self._gone:
            self._done(super().flush)

    def _done(self, work: "Callable[[], int | None]") -> int:
        try:
            return work() or 0
        except OSError:
            self._gone = True
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
        self._terminal = os.dup(1)
        self._file = Canvas(os.fdopen(self._terminal, "wb", closefd=False), "utf-8", errors="replace")

    def start_application_mode(self) -> None:
        self._turn_away()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual's
        if self._frame and self.attrs_before is not None:
            self.attrs_before = [*self._frame.modes]
            self._frame.hand_over()

    def stop_application_mode(self) -> None:
        super().stop_application_mode()
        self._turn_back()

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again, also where it was never given back: who was stopped from outside had no say."""
        if self._kept and self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super()._sigcont_application()

    def run_input_thread(self) -> None:
        """Hand on what was typed before us, then what is typed."""
        if self._frame and self._frame.typed:
            typed, self._frame.typed = self._frame.typed, b""
            parser = XTermParser(self._debug)
            try:
                for text in (typed.decode("utf-8", "replace"), ""):
                    for message in (*parser.feed(text), *parser.tick()):
                        self.process_message(message)
            except (EOFError, ParseError):
                pass
        read_quickly()
        try:
            super().run_input_thread()
        except OSError:  # the terminal was closed
            os.kill(os.getpid(), signal.SIGHUP)

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

    def process_message(self, message: "Message") -> None:
        if not isinstance(message, CursorPosition):  # asked for with each picture, and of no use to us
            super().process_message(message)

    def _enable_mouse_support(self) -> None: ...


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
