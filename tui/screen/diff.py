"""Colours for a unified diff; any other text stays as it is."""

from textual.content import Content

from ogcode.agent.clean import clean

_COLOURS = {"+": "$success", "-": "$error", "@": "$secondary"}


def painted(text: str, limit: int = 2000) -> Content:
    """Make text safe to show, a diff coloured, and say how many lines were left out."""
    lines = clean(text).rstrip("\n").split("\n")
    diff = any(line.startswith("@@ ") for line in lines)
    shown = [Content.styled(line, _colour(line) if diff else "") for line in lines[:limit]]
    if len(lines) > limit:
        shown.append(Content.styled(f"… {len(lines) - limit:,} more lines", "dim"))
    return Content("\n").join(shown)


def _colour(line: str) -> str:
    return "bold" if line.startswith(("+++ ", "--- ")) else _COLOURS.get(line[:1], "")
