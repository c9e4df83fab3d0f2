"""Syntax trees: the definitions of a source file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

LARGEST = 500_000
"""Bytes; larger sources are not parsed."""

PATIENCE = 300
"""Reports of progress (a hundred steps each) after which a source with errors is given up on."""

_PIECE = 65_536

_GRAMMARS = {
    **dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    **dict.fromkeys((".c", ".h"), ("tree_sitter_c", "language")),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), ("tree_sitter_cpp", "language")),
    **dict.fromkeys((".sh", ".bash"), ("tree_sitter_bash", "language")),
}
_DEFINITIONS = {
    *("function_definition", "class_definition", "function_declaration", "generator_function_declaration"),
    *("class_declaration", "abstract_class_declaration", "method_definition", "interface_declaration"),
    *("type_alias_declaration", "enum_declaration", "method_declaration", "constructor_declaration", "type_spec"),
    *("function_item", "struct_item", "enum_item", "trait_item", "impl_item", "mod_item", "macro_definition"),
    *("record_declaration", "struct_specifier", "class_specifier", "enum_specifier", "namespace_definition"),
}


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    """With the definitions around it: `Backoff.wait`."""
    start: int
    """First line, from 1."""
    end: int


def definitions(path: str, text: str, lines: Sequence[range] = ()) -> Iterator[Definition]:
    """Yield the definitions of a source file in order, or only those that hold some of the `lines`.

    None for a language without a grammar here.
    """
    grammar = _GRAMMARS.get(PurePath(path).suffix.lower())
    source = text.encode("utf-8", "replace")
    if grammar is None or len(source) > LARGEST:
        return
    tree = _tree(grammar, source)
    open_nodes: list[tuple[Node, str]] = [(tree.root_node, "")] if tree else []
    while open_nodes:
        node, prefix = open_nodes.pop()
        if node.type in _DEFINITIONS and (name := _name(node)):
            prefix = f"{prefix}.{name}" if prefix else name
            yield Definition(prefix, node.start_point[0] + 1, node.end_point[0] + 1)
        open_nodes.extend((child, prefix) for child in reversed(node.named_children) if _holds(child, lines))


def _tree(grammar: tuple[str, str], source: bytes) -> "Tree | None":
    """Parse a source; one that is none (binary, another language) is given up on: that would take seconds."""
    from tree_sitter import Parser

    steps = count()
    parser = Parser(_language(*grammar))
    try:
        return parser.parse(
            lambda offset, _: source[offset : offset + _PIECE],
            progress_callback=lambda _, broken: next(steps) > PATIENCE and broken,
        )
    except ValueError:  # it was stopped
        return None


@cache
def _language(module: str, name: str) -> "Language":
    from tree_sitter import Language

    return Language(getattr(import_module(module), name)())


def _holds(node: "Node", lines: Sequence[range]) -> bool:
    if not lines:
        return True
    start, end = node.start_point[0] + 1, node.end_point[0] + 1
    return any(start <= part[-1] and end >= part[0] for part in lines)


def touched(known: Iterable[Definition], lines: range) -> tuple[str, ...]:
    """Name the innermost definitions that hold any of the lines."""
    hit = [each for each in known if each.start <= lines[-1] and each.end >= lines[0]] if lines else []
    inner = [
        each for each in hit if not any(other is not each and other.name.startswith(f"{each.name}.") for other in hit)
    ]
    return tuple(dict.fromkeys(each.name for each in inner))


def _name(node: "Node") -> str:
    """Name a definition; C puts the name of a function inside its declarator, Rust that of an impl in its type."""
    named = node.child_by_field_name("name")
    place = named or node.child_by_field_name("declarator") or node.child_by_field_name("type")
    while place is not None and (inner := place.child_by_field_name("declarator")) is not None:
        place = inner
    return (place.text or b"").decode("utf-8", "replace")[:80] if place is not None else ""
