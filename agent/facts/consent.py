"""When a fact is asked for before it is kept: what was read from elsewhere may be what wants to be remembered."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from ogcode.agent.arguments import Unreadable, read
from ogcode.agent.clean import clean
from ogcode.agent.facts.claim import WRITES
from ogcode.agent.facts.tools import Reach
from ogcode.agent.loop import Approve
from ogcode.agent.rights.permissions import Ask, Denial
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import ToolCall, Verdict

FORGOTTEN = 3
"""The forgetting of one turn from which on each is asked for."""

_OWN = frozenset((*WRITES, "memory_read", "memory_recall", "project_memory_recall", "todo", "ask_user"))
_FILES = frozenset(("read", "write", "edit", "grep", "glob", "codebase_map", "file_map"))
_NET = frozenset(
    """curl wget ssh scp sftp rsync ftp telnet nc ncat socat dig nslookup host whois lynx w3m links http https gh glab
    hub aria2c pip pip3 pipx uv npm npx pnpm yarn bun gem brew apt apt-get docker podman kubectl aws gcloud""".split()
)
_FETCHES = {
    "git": ("clone", "fetch", "pull", "push", "ls-remote", "submodule"),
    "go": ("get", "install", "mod"),
    "cargo": ("add", "install", "update", "fetch"),
}
_HOME = re.compile(r"(?:^|[\s'\"=:(])~(?=[/\w]|\s*$)|\$\{?(?:HOME|OLDPWD|TMPDIR)\b")
_BREAKS = re.compile(r"[\s;|&<>()'\"=`{},$:]+")
_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/dev/null", "/dev/std")


def careful(
    approve: Approve,
    ask: Ask | None,
    *,
    scope_of: Callable[[ToolCall], Reach | None],
    outside: Callable[[ToolCall], str],
    trusted: bool,
    unattended_global: bool,
    denials: list[Denial],
    elsewhere: str = "",
) -> Approve:
    """Ask also for what one turn wants to keep of what it has read elsewhere; without a person, refuse it.

    `scope_of` tells what a call would change; None is nothing. `elsewhere` is what the message itself brought from it.
    """
    forgets = 0

    async def approved(call: ToolCall) -> Verdict:
        nonlocal elsewhere, forgets
        verdict = await approve(call)
        if not verdict.allowed or call.name not in WRITES:
            elsewhere = elsewhere or (outside(call) if verdict.allowed else "")
            return verdict
        forgets += call.name == "memory_forget"
        if (scope := scope_of(call)) is None:
            return verdict
        why = ""
        if elsewhere:
            why = f"this turn has read from outside the trusted folder ({elsewhere})"
        elif scope == "project" and not trusted:
            why = "this folder is not trusted"
        elif forgets >= FORGOTTEN:
            why = f"this turn has forgotten {forgets - 1} things already"
        if ask is None and scope == "global" and not unattended_global:
            why = "a headless run keeps nothing about the user without --allow-global-memory"
        if not why:
            return verdict
        refused = Verdict(False, f"{why}, so a person must agree; nothing was saved: say so, with the fact")
        verdict = refused if ask is None else await ask(call, why)
        if not verdict.allowed:
            denials.append(Denial(call, verdict.reason))
        return verdict

    return approved


def reads_outside(call: ToolCall, workspace: Workspace, *, trusted: bool) -> str:
    """Tell what of a call may be written by others than the user and the trusted folder; empty where nothing is."""
    if call.name in _OWN:
        return ""
    given = _arguments(call)
    if not trusted or (call.name not in _FILES and call.name != "bash"):
        return call.name
    if call.name == "bash":
        return "a job" if given.get("job") else _leaves(str(given.get("command", "")), workspace.top)
    try:
        path = str(given.get("path", ""))
        real = workspace.real(path) if call.name == "read" else workspace.resolve(path)  # that alone may be admitted
    except ToolError:
        return ""  # then it is not read either
    return "" if real.is_relative_to(workspace.top) else clean(str(real))[:80]


def _leaves(command: str, top: Path) -> str:
    """Find in a command what names the net or another place; its text decides only whether a person is asked."""
    if "://" in command or _HOME.search(command):
        return "the net" if "://" in command else "the home folder"
    words = [word for word in _BREAKS.split(command) if word]
    for place, word in enumerate(words):
        name = word.rpartition("/")[2]
        if name in _NET or any(after in _FETCHES.get(name, ()) for after in words[place + 1 : place + 5]):
            return name
        leads = word.startswith("/") or ".." in word.split("/")
        if leads and not word.startswith(_PROGRAMS):
            real = os.path.realpath(top / word)
            if os.path.commonpath([real, top]) != str(top):
                return clean(word)[:80]
    return ""


def _arguments(call: ToolCall) -> dict[str, object]:
    """Read them as the tool does: what is judged is what runs."""
    try:
        return read(call.arguments)
    except Unreadable:
        return {}
