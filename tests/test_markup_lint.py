"""Nothing that others wrote may be read as markup: a rule for the sources of the app, and proof that the rule bites."""

import ast
from pathlib import Path

import pytest

TUI = Path(__file__).resolve().parents[1] / "tui"

SWITCHED = {"Static", "Label", "OptionList", "SelectionList", "RichLog", "notify", "from_text"}
"""These parse markup unless `markup=False`."""
ALWAYS = {
    "Button",
    "Checkbox",
    "Collapsible",
    "DataTable",
    "Option",
    "RadioButton",
    "TabbedContent",
    "TabPane",
    "Tree",
    "add_column",
    "add_row",
    "from_markup",
    "to_content",
}
"""These parse markup always, so a text in them must be ours or a `Content`."""
NAMES = {"border_title", "border_subtitle", "placeholder", "tooltip", "help"}
"""Setting one of these parses markup."""
PLAIN = {"add", "add_argument"}
"""The flags of argparse, whose help is plain text."""


def ours(node: ast.expr) -> bool:
    """Tell whether an argument is written here, or is a value that can't be parsed as markup."""
    match node:
        case ast.Constant():
            return True
        case ast.IfExp():
            return ours(node.body) and ours(node.orelse)
        case ast.Call(
            func=ast.Name(id="Content") | ast.Attribute(value=ast.Name(id="Content"), attr="assemble" | "styled")
        ):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name == "_row"
    return False


def called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def switched_off(call: ast.Call) -> bool:
    return any(
        each.arg == "markup" and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in call.keywords
    )


def faults(source: str) -> list[str]:
    """List what could show a text as markup, by line."""
    found = list[tuple[int, str]]()
    tree = ast.parse(source)
    switched = SWITCHED | {
        f"super of {node.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in SWITCHED for base in node.bases)
    }
    for owner in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]:
        for call in [node for node in ast.walk(owner) if isinstance(node, ast.Call)]:
            parent = ast.unparse(call.func) == "super().__init__"
            if parent and f"super of {owner.name}" in switched and not switched_off(call):
                found.append((call.lineno, f"{owner.name} leaves markup on"))
    for node in ast.walk(tree):
        match node:
            case ast.Call() if called(node) in SWITCHED and not switched_off(node):
                found.append((node.lineno, f"{called(node)} without markup=False"))
            case ast.Call() if called(node) in ALWAYS and not all(map(ours, node.args)):
                found.append((node.lineno, f"{called(node)} of a text that is not ours"))
            case ast.Call() if called(node) not in PLAIN and any(
                each.arg in NAMES and not ours(each.value) for each in node.keywords
            ):
                found.append((node.lineno, f"{called(node)} with a title or placeholder that is not ours"))
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if name in NAMES and not ours(value):
                found.append((node.lineno, f"{name} is set to a text that is not ours"))
    return [f"line {line}: {fault}" for line, fault in sorted(found)]


@pytest.mark.parametrize("file", sorted(TUI.rglob("*.py")), ids=lambda file: file.name)
def test_no_widget_reads_markup_in_what_others_wrote(file: Path) -> None:
    assert faults(file.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "bad",
    [
        "Static(title)",
        "Static()",
        "Label(f'{name}', markup=True)",
        "self.notify(text)",
        "OptionList(*names)",
        "Option(name, markup=False)",
        "Button(name)",
        "Content.from_markup(text)",
        "widget.border_title = title",
        "Input(placeholder=question)",
        "class Line(Static):\n    def __init__(self, text):\n        super().__init__(text)",
    ],
)
def test_the_rule_bites(bad: str) -> None:
    assert faults(bad)


@pytest.mark.parametrize(
    "good",
    [
        "Static(title, markup=False)",
        "self.notify(text, markup=False)",
        "Option(Content(name))",
        "Input(placeholder='Filter')",
        "class Line(Static):\n    def __init__(self, text):\n        super().__init__(text, markup=False)",
    ],
)
def test_the_rule_lets_plain_text_pass(good: str) -> None:
    assert faults(good) == []
