"""Markdown laid out as lines of text for one width: what a finished answer is shown as."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import dropwhile
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import markdown as rich_markdown
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme
from textual.content import Content, Span
from textual.style import Style

_STYLES = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "cyan",
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

_WORD = 16
"""Cells of a word for which a column has room: in a table where it has not, rows are told cell by cell."""
_PLAIN = ("", "text", "txt", "plain", "plaintext")


@cache
def _parser() -> MarkdownIt:
    """Parse what models write; a tag in it is text like any other, and nothing is fetched or linked."""
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def laid_out(text: str, width: int, console: Console, *, dark: bool) -> list[Content]:
    """Lay a text out, a line at a time; it must be clean."""
    document = _Document(text, dark=dark)
    options = console.options.update(width=max(width, 1), highlight=False)
    with console.use_theme(_STYLES):
        lines = [_line(pieces) for pieces in console.render_lines(document, options, pad=False)]
    return [*dropwhile(lambda line: not line.plain.strip(), lines)]  # Rich begins a table with an empty one


def _line(pieces: Iterable[Segment]) -> Content:
    plain, spans = "", list[Span]()
    for piece, style, _ in pieces:
        if style:
            spans.append(Span(len(plain), len(plain) + len(piece), _style(style)))
        plain += piece
    return Content(plain, spans).rstrip()  # Rich fills lines with blanks: a copy is to have none


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
        code = str(self.text).rstrip()
        shown = Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True)
        known = self.lexer_name not in _PLAIN and shown.lexer is not None
        yield shown if known else Text(code.expandtabs(4), "markdown.code_block")


class _Item(rich_markdown.ListItem):
    """An item whose number is written as it was, `1.`."""

    def render_number(self, console: Console, options: ConsoleOptions, number: int, last_number: int) -> RenderResult:
        width = len(str(last_number)) + 2
        lines = console.render_lines(self.elements, options.update(width=options.max_width - width), style=self.style)
        tone = console.get_style("markdown.item.number")
        for place, line in enumerate(lines):
            yield Segment(f"{number}. ".rjust(width) if not place else " " * width, tone)
            yield from line
            yield Segment("\n")


class _Rule(rich_markdown.HorizontalRule):
    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.table.border")


class _Table(rich_markdown.TableElement):
    """A table of which no character is cut off."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        head = self.header.row.cells if self.header and self.header.row else []
        rows = [[cell.content for cell in row.cells] for row in (self.body.rows if self.body else [])]
        names = [cell.content for cell in head]
        columns = zip(names, *rows, strict=False)
        if sum(min(max(map(_longest_word, column)), _WORD) + 2 for column in columns) > options.max_width + 2:
            yield from _row_by_row(names, rows)
            return
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
                for column in table.columns:
                    column.overflow = "fold"
            yield table


def _longest_word(text: Text) -> int:
    return max(map(cell_len, text.plain.split()), default=0)


def _row_by_row(names: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Iterator[Text]:
    for place, row in enumerate(rows):
        if place:
            yield Text("")
        for name, cell in zip(names, row, strict=False):
            yield Text.assemble((name.plain, "markdown.table.header"), ": ", cell)


def _linked(tokens: Iterable[Token]) -> Iterator[Token]:
    """Let a picture be a link, and tell an address once where it is its own name."""
    inside = list[Token]()
    """A link that is not over."""
    for token in tokens:
        if token.type == "link_open":
            inside = [token]
        elif token.type == "link_close" and inside:
            yield from _link("".join(each.content for each in inside), str(inside[0].attrs.get("href", "")))
            inside = []
        elif inside:
            inside.append(token)
        elif token.type == "image":
            yield from _link(token.content, str(token.attrs.get("src", "")))
        else:
            yield token


def _link(name: str, address: str) -> Iterator[Token]:
    where = address.removeprefix("mailto:")
    shown = name.strip() or where
    yield Token("link_name_open", "link", 1)
    yield Token("text", "", 0, content=shown)
    yield Token("link_name_close", "link", -1)
    if shown not in (where, unquote(where)) and where:
        yield Token("text", "", 0, content=f" ({where})")


class _Document(rich_markdown.Markdown):
    elements = rich_markdown.Markdown.elements | {
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "list_item_open": _Item,
        "table_open": _Table,
        "hr": _Rule,
    }
    inlines = rich_markdown.Markdown.inlines | {"link"}

    def __init__(self, text: str, *, dark: bool) -> None:  # not Rich's own, which makes a parser and parses with it
        self.markup = text
        self.parsed = _parser().parse(text)
        for token in self.parsed:
            token.children = token.children and [*_linked(token.children)]
        self.code_theme = self.inline_code_theme = "ansi_dark" if dark else "ansi_light"
        self.justify = self.inline_code_lexer = None
        self.style = "none"
        self.hyperlinks = False
