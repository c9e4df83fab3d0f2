"""Markdown laid out as lines of text for one width: what a finished answer is shown as."""

from collections.abc import Iterable
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.syntax import Syntax
from rich.theme import Theme
from textual.content import Content, Span
from textual.style import Style

_STYLES = Theme(
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


@cache
def _parser() -> MarkdownIt:
    """Parse what models write; a tag in it is text like any other, and nothing is fetched or linked."""
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def laid_out(text: str, width: int, console: Console, *, dark: bool) -> list[Content]:
    """Lay a text out, a line at a time; it must be clean."""
    document = _Document(text, dark=dark)
    options = console.options.update(width=max(width, 1), highlight=False)
    with console.use_theme(_STYLES):
        return [_line(pieces) for pieces in console.render_lines(document, options, pad=False)]


def _line(pieces: Iterable[Segment]) -> Content:
    plain, spans = "", list[Span]()
    for piece, style, _ in pieces:
        if style:
            spans.append(Span(len(plain), len(plain) + len(piece), _style(style)))
        plain += piece
    return Content(plain, spans)


@lru_cache(256)
def _style(style: RichStyle) -> Style:
    return Style.from_rich_style(style)


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

    def __init__(self, text: str, *, dark: bool) -> None:  # not Rich's own, which makes a parser and parses with it
        self.markup = text
        self.parsed = _parser().parse(text)
        self.code_theme = self.inline_code_theme = "ansi_dark" if dark else "ansi_light"
        self.justify = self.inline_code_lexer = None
        self.style = "none"
        self.hyperlinks = False
