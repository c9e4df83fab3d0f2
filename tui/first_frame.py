"""The first frame of the app and the terminal's modes, by plain escape codes: before anything heavy is imported."""

import contextlib
import os
import select
import signal
import sys
import termios

# What the app shows at the same places, so that nothing moves when it takes over.
TITLE = "ogcode · /help shows keys and commands"
PLACEHOLDER = "Ask for something, or / for commands"

_MODEL_FLAGS = ("-m", "--model")
_ALONE = ("--inline", "-c", "--continue", "-r", "--resume", "-y", "--yolo")
_DISABLED = b"\0"
_GONE_INLINE = "\x1b[1A\r\x1b[J"
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def certain(arguments: list[str]) -> bool:
    """Tell whether a command line can mean nothing but the app, and can't be wrong, before it is parsed."""
    match arguments:
        case []:
            return True
        case [flag]:
            return flag in _ALONE
        case [flag, value]:
            return flag in _MODEL_FLAGS and value[:1] not in ("", "-")
    return False


def plain_here() -> bool:
    """Tell whether the user's settings ask for plain lines, without reading them as settings: there is no time yet."""
    home = os.environ.get("OGCODE_HOME") or f"{os.environ.get('HOME', '')}/.ogcode"
    try:
        file = os.open(f"{home}/config.toml", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        lines = os.read(file, 1 << 16).split(b"\n")
    except OSError:
        return False
    finally:
        os.close(file)
    return any(line.split(b"#")[0].replace(b" ", b"").strip() == b"screen_reader=true" for line in lines)


def all_letters() -> bool:
    """Tell whether the locale lets every letter be shown, and the lines that are drawn with them."""
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def paint(model: str, *, inline: bool = False) -> "FirstFrame | None":
    """Draw the frame where there is a terminal that can show it; `model` is what is known by now, or empty."""
    if os.environ.get("TERM", "dumb") in ("", "dumb", "unknown") or not os.isatty(0) or not os.isatty(1):
        return None
    if not all_letters():
        return None
    try:
        return FirstFrame(model, inline=inline)
    except termios.error:
        return None


class FirstFrame:
    """Keeps the terminal as the app wants it until `clear`; keys that are typed meanwhile stay to be read.

    Signals wait until `listen`, which is for who has made sure of `clear`.
    """

    def __init__(self, model: str, *, inline: bool) -> None:
        self.modes = termios.tcgetattr(0)
        """As they were before us: whoever leaves last puts them back."""
        self.typed = b""
        """What was typed before us, and before a question had to be asked in the plain terminal."""
        self.shown = True
        self.gone = _GONE_INLINE if inline else "\x1b[?1049l"
        """What takes it from the terminal."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
        signal.signal(signal.SIGTERM, _leave)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, _leave)
        modes = termios.tcgetattr(0)
        modes[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        modes[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)  # Ctrl+C ends us, until the app is there
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
        modes[6][termios.VSUSP] = _DISABLED  # a terminal in this state is nothing to go back to a shell with
        termios.tcsetattr(0, termios.TCSANOW, modes)
        self._take()
        self.typed = self.typed.replace(b"\n", b"\r")  # Enter, as the terminal gave it then
        _write(_drawn_inline(model) if inline else _drawn(model))

    def listen(self) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)

    def clear(self) -> None:
        """Give the terminal back as it was; what was typed is kept. Does nothing the second time."""
        if not self.shown:
            return
        self.shown = False
        self._take()
        with contextlib.suppress(OSError):
            _write(f"\x1b[?2004l{self.gone}\x1b[?25h")
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, self.modes)

    def _take(self) -> None:
        """Take what was typed and nobody has read."""
        with contextlib.suppress(OSError):  # the terminal may be gone
            while select.select([0], [], [], 0)[0] and (got := os.read(0, 1 << 16)):
                self.typed += got

    def hand_over(self) -> None:
        """Leave it to the app from here on."""
        self.shown = False


def _leave(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _drawn(model: str) -> str:
    """Lay the frame out for the size that the terminal has now."""
    width, height = _size()

    def at(row: int, text: str) -> str:
        return f"\x1b[{row};1H{text}"

    rule, entry, status = _rows(model, width)
    return "".join(
        (
            "\x1b[?1049h\x1b[?2004h\x1b[H\x1b[2J",
            at(1, f"  {_inked('2', TITLE[: width - 4])}"),
            at(height - 3, rule),
            at(height - 2, entry),
            at(height - 1, rule),
            at(height, status),
            f"\x1b[{height - 2};3H",
        )
    )


def _drawn_inline(model: str) -> str:
    """Lay out what the app begins with below the shell's prompt; the cursor is in the second of its lines."""
    _, entry, status = _rows(model, _size()[0])
    return f"\x1b[?2004h\r\x1b[J\r\n{entry}\r\n{status}\x1b[1A\x1b[3G"


def _rows(model: str, width: int) -> tuple[str, str, str]:
    """Give the rule, the line of entry and that of the status."""
    status = " · ".join(part for part in ("".join(filter(str.isprintable, model)), "starting") if part)
    entry = _inked("32", "> ") + _inked("2", PLACEHOLDER[: max(width - 3, 0)])
    return _inked("34", "─" * width), entry, f"  {status[: max(width - 4, 0)]}"


def _inked(codes: str, text: str) -> str:
    return text if os.environ.get("NO_COLOR") else f"\x1b[{codes}m{text}\x1b[0m"


def _size() -> tuple[int, int]:
    try:
        width, height = os.get_terminal_size(1)
    except OSError:
        width, height = 80, 24
    return width or 80, height or 24


def _write(text: str) -> None:
    left = text.encode("utf-8", "replace")
    while left:
        left = left[os.write(1, left) :]
