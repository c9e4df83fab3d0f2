"""The colours of a language, for lines of a file; loaded when the first are to be shown."""

from collections.abc import Sequence

from textual.content import Content, Span

_MOST = 60_000
_LONGEST = 1_000
"""Characters in all and of one line: what is more stays plain."""


def coloured(lines: Sequence[str], name: str) -> list[Content] | None:
    """Give lines in the colours of the language that a file's name tells; None where there are none to give."""
    code = "\n".join(lines)
    if len(code) > _MOST or any(len(line) > _LONGEST for line in lines):
        return None
    # slow to load, and only where something is to be coloured
    from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]  # it brings no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # the same

    try:
        lexer = get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    spans, at, text = list[Span](), 0, list[str]()
    for token, piece in lexer.get_tokens(code):
        if tone := _tone(tuple(token)):
            spans.append(Span(at, at + len(piece), tone))
        at += len(piece)
        text.append(piece)
    if "".join(text) != code:
        return None
    return Content(code, spans).split("\n", allow_blank=True) if lines else []


_TONES = {
    ("Comment",): "dim italic",
    ("Keyword",): "ansi_magenta",
    ("Keyword", "Constant"): "ansi_cyan",
    ("Literal", "String"): "ansi_yellow",
    ("Literal", "Number"): "ansi_cyan",
    ("Name", "Builtin"): "ansi_cyan",
    ("Name", "Function"): "ansi_blue",
    ("Name", "Class"): "ansi_blue",
    ("Name", "Decorator"): "ansi_blue",
    ("Name", "Tag"): "ansi_blue",
}
"""By the terminal's own palette; red and green say what goes and what comes."""


def _tone(token: tuple[str, ...]) -> str:
    return next((_TONES[token[:end]] for end in range(len(token), 0, -1) if token[:end] in _TONES), "")
