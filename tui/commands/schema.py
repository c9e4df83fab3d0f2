"""`ogcode schema`: the shapes of what headless runs print."""

import json
from pathlib import Path

from ogcode.tui.commands.terminal import answer

NAMES = ("result", "events")


def schema_of(name: str) -> str:
    """Give the JSON schema of the result object, or of the other lines of stream-json."""
    return (Path(__file__).parents[1] / "schemas" / f"{name}.json").read_text("utf-8")


def show_schema(name: str, *, as_json: bool) -> int:
    """Print one, or all in one object."""
    every = {each: json.loads(schema_of(each)) for each in NAMES}
    answer(json.dumps(every[name] if name else every, indent=None if as_json else 2))
    return 0
