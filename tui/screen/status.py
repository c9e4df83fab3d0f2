"""The line at the bottom of every screen, and the one that says what a turn is doing."""

from collections.abc import Callable, Iterator

from textual.content import Content
from textual.widgets import Static

from ogcode.agent.clean import clean
from ogcode.tui.desks.desk import Status

Part = tuple[int, Content]
"""A rank, and what is said: where there is no room for all, the highest rank goes first."""

_CENT = 0.005
_NEARLY_FULL = 80


def short(count: int) -> str:
    """Write a number of tokens for a narrow place: `950`, `1.9k`, `24k`."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"


def status_line(status: Status, width: int) -> Content:
    """Lay out a status in one line; where it does not fit, what matters least goes, and the label of a script never."""
    mode = (0, Content.styled(clean(status.mode), "$accent"))
    untrusted = (1, Content.styled("" if status.trusted else "untrusted", "$warning"))
    parts = [mode, untrusted, (0, _own(status))] if status.own else [*_parts(status, mode, untrusted)]
    kept = [(rank, part) for rank, part in parts if part.plain]
    label = Content.styled(" SCRIPTED ", "reverse bold") + " " if status.scripted else Content("")
    while True:
        line = label + Content.styled(" · ", "dim").join(part for _, part in kept)
        least = max(rank for rank, _ in kept)
        if line.cell_length <= width or not least:
            return line
        kept = [(rank, part) for rank, part in kept if rank != least]


def _parts(status: Status, mode: Part, untrusted: Part) -> Iterator[Part]:
    """Give what there is to say, each with its rank."""
    model = clean(status.model).replace("\n", " ")
    yield 0, Content.styled(model if len(model) < 41 else f"{model[:40]}…", "bold")
    yield mode
    yield 8, _sandbox(status)
    yield untrusted
    yield 5, _window(status)
    yield 4, Content(f"turn {short(status.turn_tokens)}" if status.turn_tokens else "")
    saved = status.replay_tokens > status.turn_tokens
    yield 3, Content(f"replay would be {short(status.replay_tokens)}" if saved else "")
    yield 9, Content(f"session {short(status.session_tokens)}" if status.session_tokens > status.turn_tokens else "")
    yield 7, Content(f"${status.cost:.2f}" if status.cost is not None and status.cost >= _CENT else "")
    yield 2 if status.memory == "on" else 1, _memory(status)
    yield 6, Content(clean(status.branch).replace("\n", " "))


def _own(status: Status) -> Content:
    from ogcode.tui.screen.own_line import coloured  # only where there is one

    return coloured(status.own)


def _sandbox(status: Status) -> Content:
    if status.sandbox == "off":
        return Content.styled("no sandbox", "$warning")
    return Content(f"sandbox {status.sandbox}" if status.sandbox else "")


def _window(status: Status) -> Content:
    """Tell how much of the window the last request took."""
    if not status.window or not status.used_tokens:
        return Content("")
    full = 100 * status.used_tokens // status.window
    return Content.styled(f"{full} % of {short(status.window)}", "$warning" if full >= _NEARLY_FULL else "")


def _memory(status: Status) -> Content:
    """Tell how many notes there are, or that nothing is saved."""
    match status.memory:
        case "off":
            return Content.styled("memory off", "$warning")
        case "read":
            return Content.assemble(f"memory {status.notes} ", ("read only", "$warning"))
        case "on":
            return Content(f"memory {status.notes}{f' +{status.pending}' if status.pending else ''}")


class StatusLine(Static):
    """A status that looks again by itself: notes arrive while nothing happens here."""

    def __init__(self, status: Callable[[], Status]) -> None:
        super().__init__(markup=False)
        self._status = status
        self._shown = Content("")

    def on_mount(self) -> None:
        self.set_interval(2, self.look)

    def on_resize(self) -> None:
        self.look()

    def look(self) -> None:
        """Show what holds now, where that differs from what is shown."""
        line = status_line(self._status(), self.content_size.width)
        if not line.is_same(self._shown):
            self._shown = line
            self.update(line, layout=False)


class Activity(Static):
    """What the running turn is doing, and for how long."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(markup=False)
        self._clock = clock
        self._since = 0.0
        self._doing = ""
        self._full = 0
        self.display = False

    def on_mount(self) -> None:
        self._ticks = self.set_interval(1, self._draw, pause=True)

    def begin(self) -> None:
        self._since = self._clock()
        self._full = 0
        self.say("working")
        self.display = True
        self._ticks.resume()

    def say(self, doing: str) -> None:
        if doing != self._doing:
            self._doing = doing
            self._draw()

    def fill(self, tokens: int, window: int) -> None:
        """Take note of how much of the window the last request held."""
        self._full = 100 * tokens // window if window else 0

    def end(self) -> None:
        self.display = False
        self._ticks.pause()

    def _draw(self) -> None:
        seconds = int(self._clock() - self._since)
        spent = f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
        doing = clean(self._doing).replace("\n", " ")
        full = f" · {self._full} % of the window" if self._full else ""
        tone = "$warning" if self._full >= _NEARLY_FULL else "dim"
        self.update(
            Content.assemble(("● ", "$accent"), doing, (f"  {spent}{full} · Esc interrupts", tone)), layout=False
        )
