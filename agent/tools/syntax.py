"""Whether a change broke a source file."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from ogcode.agent.clean import clean
from ogcode.agent.tools.text import decode

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 120
_STATEMENTS = ("statement", "definition", "clause", "block")


def complaint(name: str, before: bytes | None, after: bytes) -> str:
    """Tell where a change broke a file; empty where it did not, where it was broken before, or nobody can tell."""
    now = _broken(name, after)
    if not now or len(now) <= len(_broken(name, before or b"") or ()):
        return ""
    decoded = decode(after)
    line = (decoded.text if decoded else "").split("\n")[now[0] - 1].strip() or "(something is missing here)"
    return (
        f"\nBut {name} does not parse any more, from line {now[0]} on: {clean(line[:_LONGEST], prose=True)}\n"
        "Look at what is around it, and mend it."
    )


def _broken(name: str, body: bytes) -> list[int] | None:
    """Give the lines at which a file makes no sense; None where that can't be told."""
    from ogcode.agent.grammars import tree_of  # only where something is changed

    decoded = decode(body)
    tree = tree_of(name, decoded.text) if decoded else None
    if tree is None:
        return None
    found, open_nodes = list[int](), [tree.root_node]
    while open_nodes:
        node = open_nodes.pop()
        if node.is_error or node.is_missing:
            found.append(node.start_point[0] + 1)
        elif node.has_error:
            open_nodes.extend(reversed(node.children))
    if not found and PurePath(name).suffix.lower() in (".py", ".pyi"):
        found += sorted(_misplaced(tree.root_node))
    return found


def _misplaced(root: "Node") -> Iterator[int]:
    """Give the lines of a Python source that are indented as nothing around them; its grammar takes them all."""
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        children = [child for child in node.named_children if child.type != "comment"]
        if node.type == "block" and not children:
            yield node.start_point[0] + 1
        if node.type in ("block", "module"):
            column, row = 0 if node.type == "module" or not children else children[0].start_point[1], -1
            for child in children:
                if child.start_point[0] != row and child.start_point[1] != column:
                    yield child.start_point[0] + 1
                row = child.end_point[0]
        open_nodes.extend(child for child in children if child.type.endswith(_STATEMENTS))
