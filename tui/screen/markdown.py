"""An answer: a live markdown widget while it streams, then a text laid out once for each width."""

import re

from markdown_it import MarkdownIt
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.syntax import Syntax
from rich.theme import Theme
from textual.app import RenderResult as Rendered
from textual.content import Content, Span
from textual.geometry import Size
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Markdown

from ogcode.agent.clean import clean

STYLES = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "default",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold italic",
        "markdown.link": "blue",
        "markdown.link_url": "blue",
        "markdown.list": "default",
        "markdown.item.bullet": "blue",
        "markdown.item.number": "blue",
        "markdown.table.header": "bold",
        "markdown.table.border": "dim",
        "markdown.block_quote": "dim",
    }
)
"""Colours by the terminal's own palette, so that they can be read on dark and on light."""

_ESCAPE = re.compile("[\x1b\x80-\x9f]")


def parser() -> MarkdownIt:
    """Parse what models write; a tag in it is text like any other, and nothing is fetched or linked."""
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class LiveAnswer(Markdown):
    """The answer that is being written."""

    def __init__(self) -> None:
        super().__init__(parser_factory=parser, open_links=False)
        self.text = ""
        self._held = ""
        self._stream = Markdown.get_stream(self)

    async def write(self, piece: str) -> None:
        """Show another piece; a line that holds an escape sequence waits until all of it is there."""
        self.text += piece
        self._held += piece
        cut = self._held.rfind("\n") + 1
        if not _ESCAPE.search(self._held, cut):
            cut = len(self._held)
        ready, self._held = self._held[:cut], self._held[cut:]
        await self._stream.write(clean(ready, prose=True))

    async def finish(self) -> None:
        await self._stream.stop()


class _Heading(rich_markdown.Heading):
    """A heading where text is, instead of in the middle or in a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Code(rich_markdown.CodeBlock):
    """Code from the first column on, so that a copy of it has no spaces before it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.theme, word_wrap=True)


class _Document(rich_markdown.Markdown):
    elements = rich_markdown.Markdown.elements | {"heading_open": _Heading, "fence": _Code, "code_block": _Code}

    def __init__(self, text: str, *, dark: bool) -> None:
        super().__init__("", code_theme="ansi_dark" if dark else "ansi_light", hyperlinks=False)
        self.markup = text
        self.parsed = parser().parse(text)


class Answer(Widget):
    """An answer that is complete: text to select and copy, without a widget for each paragraph.

    After a change of width it keeps its height until it comes into sight: many answers cost no more than one.
    """

    def __init__(self, text: str) -> None:
        super().__init__(markup=False)
        self._text = clean(text, prose=True).strip()
        self._document: _Document | None = None
        self._width = 0
        self._laid_out = Content("")

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's
        if not self._width:
            self._lay_out(width)
        return self._height

    def render(self) -> Rendered:
        height = self._height
        self._lay_out(self.content_size.width)
        if self._height != height:
            self.call_later(self.refresh, layout=True)
        return self._laid_out

    @property
    def _height(self) -> int:
        return self._laid_out.plain.count("\n") + 1

    def _lay_out(self, width: int) -> None:
        if width == self._width:
            return
        if self._document is None:
            self._document = _Document(self._text, dark=self.app.current_theme.dark)
        options = self.app.console_options.update(width=max(width, 1), highlight=False)
        plain, spans = "", list[Span]()
        for line in self.app.console.render_lines(self._document, options, pad=False):
            plain += "\n" if plain else ""
            for text, style, _ in line:
                if style:
                    spans.append(Span(len(plain), len(plain) + len(text), Style.from_rich_style(style)))
                plain += text
        self._width, self._laid_out = width, Content(plain, spans)
