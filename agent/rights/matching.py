"""Whether a rule, `Tool` or `Tool(glob)`, speaks of a call."""

import posixpath
import re
from collections.abc import Callable

from ogcode.agent.arguments import Unreadable, read
from ogcode.agent.clean import clean
from ogcode.agent.commands.floor import SEPARATOR, segments
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.walk import fits, is_bounded
from ogcode.agent.turn import ToolCall

_RULE = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_COVERS = {"edit": ("edit", "write"), "read": ("read", "grep", "glob", "file_map", "codebase_map")}
"""A rule for these speaks of every tool that does the like to a path."""

_LONGEST = 10_000


def is_rule(text: str) -> bool:
    found = _RULE.fullmatch(text)
    return found is not None and (found[1].casefold() == "bash" or is_bounded(found[2] or "*"))


def rule_for(call: ToolCall) -> str:
    """Give the narrowest rule that allows this call again; empty where no rule but that of the whole tool would."""
    subject = subject_of(call, posixpath.normpath)
    escaped = re.sub(r"([*\\])", r"\\\1", subject) if call.name == "bash" else re.sub(r"([*?\[{])", r"[\1]", subject)
    if call.name != "bash" and "/" not in escaped:
        escaped = f"./{escaped}"
    rule = f"{call.name.capitalize()}({escaped})"
    return rule if allows(rule, call.name, subject) else ""


def subject_of(call: ToolCall, place: Callable[[str], str]) -> str:
    """What rules are matched against: the command, or the path by its name in the workspace."""
    arguments = _arguments(call)
    if call.name == "bash":
        return str(arguments.get("command", "")).strip()
    path = str(arguments.get("path") or ".")
    try:
        return place(path)
    except ToolError:
        return posixpath.normpath(path)


def only_follows_a_job(call: ToolCall) -> bool:
    """Tell whether a call starts nothing: it reads what a job in the background printed, or ends it."""
    from ogcode.agent.tools.jobs import STOP  # only where a command is judged

    arguments = _arguments(call)
    return call.name == "bash" and bool(arguments.get("job")) and arguments.get("command") in ("", STOP)


def _arguments(call: ToolCall) -> dict[str, object]:
    """Read them as the tool does: what is judged is what runs."""
    try:
        return read(call.arguments)
    except Unreadable:
        return {}


def speaks_of(rule: str, name: str) -> bool:
    """Tell whether a rule is about a tool at all."""
    return _pattern(rule, name) is not None


def start_of(rule: str) -> str:
    """Give what a rule for commands says before its first `*`; empty for one without, or for any command."""
    pattern = _pattern(rule, "bash") or ""
    start, star, _ = pattern.removesuffix(":*").partition("*")
    return start if star or pattern.endswith(":*") else ""


def allows(rule: str, name: str, subject: str) -> bool:
    pattern = _pattern(rule, name)
    if pattern is None:
        return False
    if name != "bash":
        return _path_fits(pattern, subject)
    if len(subject) > _LONGEST or clean(subject) != subject:
        return False
    if pattern == "*":
        return True
    return bool(subject) and not SEPARATOR.search(subject) and _command_fits(pattern, subject)


def opens(rule: str, path: str) -> bool:
    """Tell whether a rule lets a path outside be read: only one that names such a path does."""
    pattern = _pattern(rule, "read") or ""
    return pattern.startswith("/") and _path_fits(pattern, path)


def denies(rule: str, name: str, subject: str) -> bool:
    pattern = _pattern(rule, name)
    if pattern is None:
        return False
    if name != "bash":
        return _path_fits(pattern.casefold(), subject.casefold())
    return any(_command_fits(pattern, segment) for segment in segments(subject))


def denies_somewhere(rule: str, name: str, subject: str) -> bool:
    """Whether a denied command follows any word, which may be a program that runs it."""
    pattern = _pattern(rule, name)
    if pattern is None or name != "bash":
        return False
    words = [segment.split() for segment in segments(subject)]
    return any(_command_fits(pattern, " ".join(each[at:])) for each in words for at in range(1, min(len(each), 100)))


def _pattern(rule: str, name: str) -> str | None:
    """Give what a rule wants of a call of this tool; None where it does not speak of the tool."""
    found = _RULE.fullmatch(rule)
    if found is None or name not in _COVERS.get(found[1].casefold(), (found[1].casefold(),)):
        return None
    return "*" if found[2] is None or found[2].strip() in ("", "*", "**") else found[2]


def _path_fits(pattern: str, path: str) -> bool:
    if pattern == "*":
        return True
    if pattern.endswith("/"):
        pattern += "**"
    if path.startswith("/"):
        return pattern.startswith("/") and fits(tuple(path.split("/")[1:]), pattern)
    return path.split("/", 1)[0] != ".." and fits(tuple(path.split("/")), pattern)


def _command_fits(pattern: str, command: str) -> bool:
    """Match a whole command: `*` is any text, `\\*` a star, and `x:*` is `x` alone or with anything behind it."""
    if pattern.endswith(":*"):
        start = pattern[:-2]
        return command == start or command.startswith(f"{start} ")
    first, *rest = (re.sub(r"\\([*\\])", r"\1", part) for part in re.split(r"(?<!\\)(?:\\\\)*\*", pattern))
    if not rest:
        return command == first
    *middle, last = rest
    if not command.startswith(first) or len(command) < len(first) + len(last) or not command.endswith(last):
        return False
    at, end = len(first), len(command) - len(last)
    for part in middle:
        at = command.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
