"""An answer that is complete: a text laid out once for each width, by what is slow to load and so comes late."""

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual
from textual.widget import Widget

from ogcode.agent.clean import clean


class Lines(Widget):
    """Text to select and copy, laid out already; a line is drawn when it is in sight, and once."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._width = 0
        self._lines: Sequence[Content] = ()
        self._strips = dict[int, Strip]()
        self._drawn: tuple[int, Style] | None = None
        """For which width and in which style."""

    def lay(self, lines: Sequence[Content]) -> int:
        """Take other lines; tell how many of the first are the same."""
        pairs = zip(self._lines, lines, strict=False)
        same = next(
            (number for number, (old, new) in enumerate(pairs) if old is not new and not old.is_same(new)),
            min(len(self._lines), len(lines)),
        )
        for number in range(same, len(self._lines)):
            self._strips.pop(number, None)
        self._lines = lines
        return same

    def render(self) -> Content:
        return Content("\n").join(self._lines)

    def render_line(self, y: int) -> Strip:
        drawn = self.content_size.width, self.visual_style
        if drawn != self._drawn:
            self._strips.clear()
            self._drawn = drawn
        if y >= len(self._lines):
            return Strip.blank(drawn[0], drawn[1].rich_style)
        line, selection = self._lines[y], self.text_selection
        if selection is None and (strip := self._strips.get(y)):
            return strip
        if selection is not None and (span := selection.get_span(y)):
            tone = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            line = line.stylize(tone, span[0], None if span[1] < 0 else span[1])
        strip = Visual.to_strips(self, line, drawn[0], 1, drawn[1], apply_selection=False)[0].apply_offsets(0, y)
        if selection is None:
            self._strips[y] = strip
        return strip


class Answer(Lines):
    """Text without a widget for each paragraph.

    After a change of width it keeps its height until it comes into sight: many answers cost no more than one.
    """

    def __init__(self, text: str, lines: Sequence[Content] = (), width: int = 0) -> None:
        """Where it is laid out already, take the lines and the width they are for."""
        super().__init__()
        self._text = clean(text, prose=True).strip()
        self._lines, self._width = lines, width if lines else 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's
        if not self._width:
            self._lay_out(width)
        return len(self._lines)

    def render(self) -> Content:
        self._lay_out(self.content_size.width)
        return super().render()

    def render_lines(self, crop: Region) -> list[Strip]:
        height = len(self._lines)
        self._lay_out(self.content_size.width)
        if len(self._lines) != height:
            self.call_later(self.refresh, layout=True)
        return super().render_lines(crop)

    def _lay_out(self, width: int) -> None:
        if width == self._width:
            return
        from ogcode.tui.screen.document import laid_out

        self._width = width
        self.lay(laid_out(self._text, width, self.app.console, dark=self.app.current_theme.dark))
