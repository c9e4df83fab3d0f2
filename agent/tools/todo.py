"""The tool that keeps the steps of a task, which a model loses sight of when its work is long."""

import re
from collections.abc import Callable, Iterable, Mapping

from ogcode.agent.arguments import Unreadable, read
from ogcode.agent.clean import clean
from ogcode.agent.tool import Tool, ToolError, tool

_MOST = 50
_LONGEST = 200
_STEP = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*(?:\[(?P<mark>[ xX>~*-]?)\])?\s*(?P<text>.*?)\s*")
_MARKS = {"x": "x", "X": "x", ">": ">", "~": ">", "*": ">", "-": ">"}


def todo_tool(earlier: Callable[[], str] = str) -> Tool:
    """Make `todo`; `earlier` gives the list that an earlier run of the session has left, and is asked once at most."""
    kept: list[str] | None = None

    @tool(effect="read")
    async def todo(items: str = "") -> str:
        """Keep your steps: lines with [ ], [>] or [x]."""
        nonlocal kept
        if items.strip():
            kept = _steps(items)
        elif kept is None:
            kept = _steps(earlier())
        done = sum(step.startswith("[x]") for step in kept)
        return "\n".join([*kept, f"{done} of {len(kept)} done"]) if kept else "(the list is empty)"

    return todo


def last_list(rows: Iterable[Mapping[str, object] | None]) -> str:
    """Find the list that a session's transcript ends with."""
    found = ""
    for row in rows:
        if row and row.get("type") == "tool_finished" and row.get("name") == "todo" and row.get("failed") is not True:
            try:
                items = read(str(row.get("arguments"))).get("items")
            except Unreadable:
                continue
            found = items if isinstance(items, str) and items.strip() else found
    return found


def _steps(items: str) -> list[str]:
    steps = list[str]()
    for line in items.splitlines():
        step = _STEP.fullmatch(line)
        if step and step["text"]:
            steps.append(f"[{_MARKS.get(step['mark'] or '', ' ')}] {clean(step['text'], prose=True)}")
    if len(steps) > _MOST or any(len(step) > _LONGEST for step in steps):
        raise ToolError(f"a list has at most {_MOST} lines of {_LONGEST} characters; sum up what is done")
    return steps
