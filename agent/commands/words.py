"""A shell text as a flat list of commands made of literal words, or nothing at all."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ogcode.agent.clean import clean
from ogcode.agent.grammars import shell_tree

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST = 10_000
"""Characters; a longer text is not told apart."""

_LISTS = {"program", "list", "pipeline", "redirected_statement"}
_JOINTS = {";", "\n", "&&", "||", "|", "|&"}
_ARGUMENTS = {"word", "number", "string", "raw_string", "concatenation"}
_PROGRAM = re.compile(r"[A-Za-z0-9_][\w.+-]*", re.ASCII)
_QUIET = re.compile(r"[12&]?>>?[ \t]*/dev/null|[12]?>&[12]|0?<[ \t]*/dev/null")
_INPUT = re.compile(r"0?<[ \t]*(?=[^<>&(\s])")
_PIECE = re.compile(
    r"""'(?P<raw>[^']*)'"""
    r'''|"(?P<quoted>(?:[^"\\$`]|\\.|\$(?=["|)\s/.\\]|$))*)"'''
    r"""|\\(?P<escaped>[^\n])"""
    r"""|(?P<bare>[\w./:=,+@%^#!-]+|~(?!\w*/)|\]|\{[\w+-]*\})"""
    r"""|(?P<pattern>[*?])""",
    re.DOTALL,
)
"""What a word is made of; what fits none of these (`$`, a backtick, `{a,b}`, `[ab]`) makes the text unclear."""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    pattern: bool = False
    """Holds `*` or `?` that the shell replaces by the names of files."""


@dataclass(frozen=True, slots=True)
class Command:
    words: tuple[Word, ...]
    text: str
    """As it was written, without its redirections."""
    inputs: tuple[Word, ...] = ()
    """Files that it is given to read by `<`."""


class _Unclear(Exception):
    """There is more in the text than commands made of words."""


@lru_cache(maxsize=8)
def commands(text: str) -> tuple[Command, ...] | None:
    """Reduce a text to its commands; None where anything but literal words decides what runs."""
    if len(text) > LONGEST or clean(text) != text or not text.strip():
        return None
    tree = shell_tree(text)
    if tree is None or tree.root_node.has_error:
        return None
    try:
        return tuple(_commands(tree.root_node, ())) or None
    except _Unclear:
        return None


def _commands(node: "Node", inputs: tuple[Word, ...]) -> Iterator[Command]:
    if node.type == "command":
        yield _command(node, inputs)
        return
    if node.type not in _LISTS:
        raise _Unclear
    _only_gaps(node, " \t\n")
    redirects = [child for child in node.children if child.type == "file_redirect"]
    inputs = (*inputs, *(word for each in redirects for word in _redirected(_text(each))))
    for child in node.children:
        if child.type not in ("comment", "file_redirect", *_JOINTS):
            yield from _commands(child, inputs)


def _command(node: "Node", inputs: tuple[Word, ...]) -> Command:
    _only_gaps(node, " \t")
    name, *arguments = node.children
    if name.type != "command_name" or not _PROGRAM.fullmatch(_text(name)):
        raise _Unclear
    if any(each.type not in _ARGUMENTS for each in arguments):
        raise _Unclear
    return Command((Word(_text(name)), *(_word(_text(each)) for each in arguments)), _text(node), inputs)


def _only_gaps(node: "Node", allowed: str) -> None:
    """Make sure that nothing of a text is skipped: between what the parser tells there is only space."""
    source, first = node.text or b"", node.start_byte
    ends = [first, *(child.end_byte for child in node.children)]
    starts = [*(child.start_byte for child in node.children), node.end_byte]
    for end, start in zip(ends, starts, strict=True):
        gap = source[end - first : start - first].decode()
        joined = gap.replace("\\\n", "")  # a line that goes on
        if joined.strip(allowed) or (gap and not joined):
            raise _Unclear


def _redirected(text: str) -> tuple[Word, ...]:
    """Give the file that is read; output goes nowhere but to `/dev/null` or another stream."""
    if _QUIET.fullmatch(text):
        return ()
    start = _INPUT.match(text)
    if not start:
        raise _Unclear
    return (_word(text[start.end() :]),)


def _word(text: str) -> Word:
    """Take the quotes off."""
    parts, at = list[str](), 0
    quoted_stars = bare_stars = False
    while at < len(text):
        found = _PIECE.match(text, at)
        if not found:
            raise _Unclear
        at = found.end()
        kind = found.lastgroup or ""
        part = found[kind]
        if kind == "quoted":
            part = re.sub(r'\\(["$`\\])', r"\1", part)
            if "\\\n" in part:
                raise _Unclear
        bare_stars |= kind == "pattern"
        quoted_stars |= kind != "pattern" and any(each in part for each in "*?[")
        parts.append(part)
    if text.startswith("~") or "=~" in text or ":~" in text or (bare_stars and quoted_stars):
        raise _Unclear
    return Word("".join(parts), bare_stars)


def _text(node: "Node") -> str:
    return (node.text or b"").decode()
