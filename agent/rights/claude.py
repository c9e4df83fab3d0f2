"""Permissions that were written down for another agent, in `.claude/settings.json`: read as rules of ours."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from ogcode.agent.rights.permissions import Rules

_TOOLS = {
    **{name: name for name in ("Bash", "Read", "Edit", "Write", "Grep", "Glob")},
    "MultiEdit": "Edit",
}
_RULE = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)


class ClaudeSettingsBroken(Exception):
    """Such a file is there but can't be read; the text says which and why."""


def claude_rules(folder: Path, names: Iterable[str], *, allow: bool, home: Path) -> Rules:
    """Read what these files of a folder deny and ask for, and what they allow where `allow` says so.

    Rules for tools that there are none of here are left out.

    Raises:
        ClaudeSettingsBroken: a file is not what it should be.
    """
    rules = Rules()
    for name in names:
        given = _permissions(folder / name)
        told = {kind: _rules(folder / name, kind, given.get(kind), home) for kind in ("allow", "deny", "ask")}
        try:
            rules |= Rules(told["allow"] if allow else (), told["deny"], told["ask"])
        except ValueError as error:
            raise ClaudeSettingsBroken(f"{folder / name}: {error}") from error
    return rules


def _permissions(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_bytes()) if path.is_file() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise ClaudeSettingsBroken(f"{path}: can't be read, and may deny something: {error}") from error
    given = content.get("permissions") if isinstance(content, dict) else None
    return given if isinstance(given, dict) else {}


def _rules(path: Path, kind: str, given: object, home: Path) -> tuple[str, ...]:
    if not isinstance(given, list | None) or not all(isinstance(each, str) for each in given or ()):
        raise ClaudeSettingsBroken(f"{path}: permissions.{kind} must be a list of rules")
    return tuple(rule for each in given or () if (rule := translated(str(each), home)))


def translated(rule: str, home: Path) -> str:
    """Say it as a rule of ours; empty where it speaks of a tool that there is none of."""
    found = _RULE.fullmatch(rule.strip())
    tool = _TOOLS.get(found[1]) if found else None
    if found is None or tool is None:
        return ""
    pattern = found[2]
    if pattern is None or tool == "Bash":
        return tool if pattern is None else f"{tool}({pattern})"
    if pattern.startswith("//"):
        pattern = pattern[1:]
    elif pattern.startswith("~/"):
        pattern = f"{home}{pattern[1:]}"
    return f"{tool}({pattern})"
