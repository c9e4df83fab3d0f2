"""Whether a call may run: rules and modes over what a call says. Text decides only when to ask; it is no sandbox."""

import json
import posixpath
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ogcode.agent.clean import clean
from ogcode.agent.loop import Approve
from ogcode.agent.tool import Effect, Tool, ToolError
from ogcode.agent.tools.walk import fits
from ogcode.agent.turn import ToolCall, Verdict

Mode = Literal["plan", "ask", "edit", "auto", "yolo"]
Ask = Callable[[ToolCall, str], Awaitable[Verdict]]
"""Shows a call and why it is asked for to a person, who decides."""

_RULE = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_COVERS = {"edit": ("edit", "write"), "read": ("read", "grep", "glob", "file_map", "codebase_map")}
"""A rule for these speaks of every tool that does the like to a path."""

_LONGEST = 10_000
_MOST_WRAPPERS = 30
_SEPARATOR = re.compile(r"[;&|<>$(){}`\n\r]+")
_COMMAND_END = re.compile(r"[;&|\n\r`()]+")
_QUOTING = re.compile(r"[\"'\\]")
_WRAPPER = re.compile(
    r"(?:(?:sudo|doas|env|nohup|nice|ionice|time|timeout|stdbuf|setsid|command|builtin|exec|xargs|watch"
    r"|then|do|else|if|while|until|(?:ba|z|da|k)?sh)\b|[!{]|-\S+|\d+[smhd]?|\w+\+?=\S*)\s+"
)
_ROOTS = re.compile(
    r"(?:/|~|\.|\.\.|\$\{?HOME\}?|/(?:home|root|etc|usr|var))(?:/*|/+\*)|/+\*|\$\{?\w+\}?/+\*?|(?:\S*/)?\.(?:git|ogcode)(?:/*|/+\*)"
)
"""What is lost with `rm -rf`: also a variable with `/` behind it, which is the root where the variable is empty."""
_FORK_BOMB = re.compile(r"(?<![\w:.])([\w:.]{1,40})\s{0,9}\(\s{0,9}\)\s{0,9}\{[^}]{0,200}\1\s{0,9}\|\s{0,9}\1\s{0,9}&")
_DEVICE = re.compile(r"/dev/(?!null\b|zero\b|stdout\b|stderr\b|tty\b|fd/)\w+")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user allowed and denied beforehand, each as `Tool` or `Tool(glob)`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for rule in (*self.allow, *self.deny):
            if not _RULE.fullmatch(rule):
                raise ValueError(f"'{rule}' is not a rule; write Tool or Tool(glob), as in Bash(npm test*)")


@dataclass(frozen=True, slots=True)
class Decision:
    kind: Literal["allow", "ask", "deny"]
    why: str
    """For the person who is asked, or the model that is refused."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A call that did not run for want of a permission."""

    call: ToolCall
    reason: str


def decide(
    call: ToolCall,
    effect: Effect | None,
    *,
    mode: Mode,
    rules: Rules,
    trusted: bool,
    memory_tools: frozenset[str] = frozenset(),
    place: Callable[[str], str] = posixpath.normpath,
) -> Decision:
    """Decide about a call whose tool has this effect at most; None is a tool that nobody knows.

    `memory_tools` touch ogcode's own memory only and are allowed in every mode. `place` gives the name by which
    path rules know what the model named.
    """
    subject = _subject(call, place)
    if mode != "yolo" and call.name == "bash" and (why := _forbidden(subject)):
        return Decision("deny", f"{why}; no permission covers that, the user would have to do it")
    if rule := next((rule for rule in rules.deny if _denies(rule, call.name, subject)), ""):
        return Decision("deny", f"the rule '{rule}' denies it; do it another way, or ask the user")
    if call.name in memory_tools:
        return Decision("allow", "it concerns ogcode's memory only")
    decision = _by_mode(effect, mode, trusted=trusted)
    if decision.kind != "ask" or not trusted or effect is None:
        return decision
    rule = next((rule for rule in rules.allow if _allows(rule, call.name, subject)), "")
    if rule and any(_denies_somewhere(denied, call.name, subject) for denied in rules.deny):
        return Decision("ask", "it may contain what a rule denies")
    return Decision("allow", f"the rule '{rule}' allows it") if rule else decision


def policy(
    ask: Ask | None,
    tools: Sequence[Tool],
    *,
    mode: Mode,
    rules: Rules,
    trusted: bool,
    denials: list[Denial],
    memory_tools: frozenset[str] = frozenset(),
    place: Callable[[str], str] = posixpath.normpath,
) -> Approve:
    """Make what approves calls of these tools; without `ask`, in a headless run, what needs a person is denied.

    Every call that is not allowed is added to `denials`.
    """
    effects = {tool.name: tool.effect for tool in tools}

    async def approve(call: ToolCall) -> Verdict:
        decision = decide(
            call,
            effects.get(call.name),
            mode=mode,
            rules=rules,
            trusted=trusted,
            memory_tools=memory_tools,
            place=place,
        )
        match decision.kind:
            case "allow":
                return Verdict(True)
            case "deny":
                verdict = Verdict(False, decision.why)
            case "ask":
                refused = Verdict(False, _unattended(call, decision.why, trusted=trusted))
                verdict = refused if ask is None else await ask(call, decision.why)
        if not verdict.allowed:
            denials.append(Denial(call, verdict.reason))
        return verdict

    return approve


def rule_for(call: ToolCall) -> str:
    """Give the narrowest rule that allows this call again; empty where no rule but that of the whole tool would."""
    subject = _subject(call, posixpath.normpath)
    escaped = re.sub(r"([*\\])", r"\\\1", subject) if call.name == "bash" else re.sub(r"([*?\[{])", r"[\1]", subject)
    if call.name != "bash" and "/" not in escaped:
        escaped = f"./{escaped}"
    rule = f"{call.name.capitalize()}({escaped})"
    return rule if _allows(rule, call.name, subject) else ""


def _by_mode(effect: Effect | None, mode: Mode, *, trusted: bool) -> Decision:
    if effect == "read":
        return Decision("allow", "it only reads")
    if mode == "plan":
        return Decision("deny", "in plan mode nothing is changed or run; finish the plan, and say what you would do")
    if effect is None:
        return Decision("ask", "nothing is known about this tool")
    if not trusted:
        return Decision("ask", "this folder is not trusted, so every change and every command is asked for")
    if mode == "yolo" or (effect == "write" and mode in ("edit", "auto")):
        return Decision("allow", f"mode {mode} allows it")
    if mode == "auto":
        return Decision("ask", "there is no sandbox yet to run commands in without asking")
    return Decision("ask", "it changes files" if effect == "write" else "it runs a command")


def _unattended(call: ToolCall, why: str, *, trusted: bool) -> str:
    if not trusted:
        return f"needs a person's permission ({why}), and this is a headless run; the user can start it with --trust"
    rule = clean(rule_for(call) or call.name.capitalize())[:200]
    return (
        f"needs a person's permission ({why}), and this is a headless run; "
        f"the user can allow it with --allow '{rule}' or with another --mode"
    )


def _subject(call: ToolCall, place: Callable[[str], str]) -> str:
    """What rules are matched against: the command, or the path by its name in the workspace."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return ""
    if not isinstance(arguments, dict):
        return ""
    if call.name == "bash":
        return str(arguments.get("command", "")).strip()
    path = str(arguments.get("path") or ".")
    try:
        return place(path)
    except ToolError:
        return posixpath.normpath(path)


def _allows(rule: str, name: str, subject: str) -> bool:
    pattern = _pattern(rule, name)
    if pattern is None:
        return False
    if name != "bash":
        return _path_fits(pattern, subject)
    if len(subject) > _LONGEST or clean(subject) != subject:
        return False
    if pattern == "*":
        return True
    return bool(subject) and not _SEPARATOR.search(subject) and _command_fits(pattern, subject)


def _denies(rule: str, name: str, subject: str) -> bool:
    pattern = _pattern(rule, name)
    if pattern is None:
        return False
    if name != "bash":
        return _path_fits(pattern.casefold(), subject.casefold())
    return any(_command_fits(pattern, segment) for segment in _segments(subject))


def _denies_somewhere(rule: str, name: str, subject: str) -> bool:
    """Whether a denied command follows any word, which may be a program that runs it."""
    pattern = _pattern(rule, name)
    if pattern is None or name != "bash":
        return False
    words = [segment.split() for segment in _segments(subject)]
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


@lru_cache(maxsize=1)
def _segments(command: str) -> tuple[str, ...]:
    """Give every piece that could be a command of its own: as written, unquoted, and without what stands before it."""
    pieces = dict.fromkeys((command, *_COMMAND_END.split(command), *_SEPARATOR.split(command)))
    return tuple(dict.fromkeys(segment for piece in pieces for segment in _peeled(piece) if segment))


def _peeled(piece: str) -> Iterator[str]:
    yield " ".join(piece.split())
    bare = " ".join(_QUOTING.sub("", piece).split())
    for _ in range(_MOST_WRAPPERS):
        program, _, arguments = bare.partition(" ")
        bare = f"{posixpath.basename(program)} {arguments}".strip() if "=" not in program else bare
        yield bare
        found = _WRAPPER.match(bare)
        if not found:
            return
        bare = bare[found.end() :]


def _forbidden(command: str) -> str:
    """Name what is denied in every mode but yolo: a last net for accidents, not a boundary."""
    if _FORK_BOMB.search(command):
        return "this is a fork bomb"
    for segment in _segments(command):
        program, *words = segment.split()
        if program == "rm":
            flags = [word for word in words if word.startswith("-")]
            recursive = any(flag == "--recursive" or re.fullmatch(r"-\w*[rR]\w*", flag) for flag in flags)
            if recursive and any(_ROOTS.fullmatch(word) for word in words if not word.startswith("-")):
                return "this would remove a whole root, home, .git or .ogcode folder"
        if program.startswith("mkfs"):
            return "this would format a disk"
        if program == "dd" and any(word.startswith("of=") and _DEVICE.match(word[3:]) for word in words):
            return "this would write over a device"
    return ""
