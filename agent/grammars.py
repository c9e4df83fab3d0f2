"""Syntax trees: the definitions of a source file, the parts of a shell text."""

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
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".h", ".hpp", ".hh"), ("tree_sitter_cpp", "language")),
    ".cs": ("tree_sitter_c_sharp", "language"),
    **dict.fromkeys((".rb", ".rake", ".gemspec"), ("tree_sitter_ruby", "language")),
    ".php": ("tree_sitter_php", "language_php"),
    **dict.fromkeys((".sh", ".bash"), ("tree_sitter_bash", "language")),
}
_DEFINITIONS = {
    *("function_definition", "class_definition", "function_declaration", "generator_function_declaration"),
    *("class_declaration", "abstract_class_declaration", "method_definition", "interface_declaration"),
    *("type_alias_declaration", "enum_declaration", "method_declaration", "constructor_declaration", "type_spec"),
    *("type_alias", "internal_module", "struct_declaration", "trait_declaration", "namespace_declaration"),
    *("function_item", "struct_item", "enum_item", "trait_item", "impl_item", "mod_item", "macro_definition"),
    *("union_item", "record_declaration", "class", "module", "method", "singleton_method"),
}
_WITH_BODY = {"struct_specifier", "class_specifier", "enum_specifier", "union_specifier", "namespace_definition"}
"""Without one these only name what is defined elsewhere."""

_HOLDING = {"variable_declarator", "field_definition", "public_field_definition"}
"""Definitions where what they hold is a function or a class."""

_HELD = {"arrow_function", "function_expression", "generator_function", "class"}


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
    tree = tree_of(path, text)
    open_nodes: list[tuple[Node, str]] = [(tree.root_node, "")] if tree else []
    while open_nodes:
        node, prefix = open_nodes.pop()
        if _defines(node) and (name := _name(node)):
            prefix = f"{prefix}.{name}" if prefix else name
            yield Definition(prefix, node.start_point[0] + 1, node.end_point[0] + 1)
        open_nodes.extend((child, prefix) for child in reversed(node.named_children) if _holds(child, lines))


def has_grammar(path: str) -> bool:
    """Tell whether files of that name can be parsed."""
    return PurePath(path).suffix.lower() in _GRAMMARS


def tree_of(path: str, text: str) -> "Tree | None":
    """Parse a source file; None where there is no grammar for it, or it is not worth the time."""
    grammar = _GRAMMARS.get(PurePath(path).suffix.lower())
    source = text.encode("utf-8", "replace")
    return None if grammar is None or len(source) > LARGEST else _tree(grammar, source)


def shell_tree(text: str) -> "Tree | None":
    """Parse a shell text; None where it is not worth the time."""
    return _tree(_GRAMMARS[".sh"], text.encode("utf-8", "replace"))


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


def _defines(node: "Node") -> bool:
    if node.type in _HOLDING:
        value = node.child_by_field_name("value")
        return value is not None and value.type in _HELD
    if node.type == "type_definition":  # of something without a name of its own
        named = node.child_by_field_name("type")
        return named is not None and named.type in _WITH_BODY and named.child_by_field_name("name") is None
    return node.type in _DEFINITIONS or (node.type in _WITH_BODY and node.child_by_field_name("body") is not None)


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
    place = named or next(filter(None, map(node.child_by_field_name, ("declarator", "property", "type"))), None)
    while place is not None and (inner := place.child_by_field_name("declarator")) is not None:
        place = inner
    return (place.text or b"").decode("utf-8", "replace")[:80] if place is not None else ""
