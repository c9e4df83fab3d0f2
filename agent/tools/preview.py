"""Show what a call would do before it does it."""

import difflib
import json
import re
from collections.abc import Iterator

from ogcode.agent.clean import clean
from ogcode.agent.tool import ToolError, records
from ogcode.agent.tools.planned import Planned, Replacement, planned_edit, planned_write
from ogcode.agent.tools.text import decode
from ogcode.agent.tools.workspace import Workspace
from ogcode.agent.turn import ToolCall

_MOST_LINES = 400
_MOST_COMPARED = 4_000
_GAP = re.compile(r"[ \t]{100,}")
"""Blanks that would push the rest of a command out of sight."""
_ODD_BLANK = re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
"""To a shell they are letters."""
DOOMED = "this will fail: "
"""How the preview of a change begins that can't be made as it was asked for."""

_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@", re.MULTILINE)


def preview(workspace: Workspace, call: ToolCall) -> str:
    """Show a call to a person who is to allow it: the command, or the change as a diff. Never raises."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return _bounded(clean(call.arguments))
    given = {str(key): value for key, value in arguments.items()}
    if call.name == "bash" and isinstance(given.get("command"), str):
        return _command(str(given["command"]))
    try:
        match call.name, given:
            case "write", {"path": str(path), "content": str(content)}:
                return _diff(workspace, path, planned_write(workspace, path, content))
            case "edit", {"path": str(path), "old": str(old), "new": str(new)}:
                every = given.get("all") in (True, "true")
                edits = [Replacement(old=old, new=new), *_further(given)]
                return _diff(workspace, path, planned_edit(workspace, path, edits, every=every))
    except (ToolError, OSError, ValueError) as error:
        return _bounded(f"{DOOMED}{clean(str(error))}")
    return _bounded("\n".join(f"{clean(key)}: {clean(str(value))}" for key, value in given.items()))


def _command(text: str) -> str:
    shown = _ODD_BLANK.sub(lambda blank: f"<U+{ord(blank[0]):04X}>", clean(text))
    return _bounded(_GAP.sub(lambda gap: f" <{len(gap[0]):,} blanks> ", shown))


def _further(given: dict[str, object]) -> Iterator[Replacement]:
    """Read them as the tool does: what is shown is what is made."""
    return (Replacement(old=each["old"], new=each["new"]) for each in records(given.get("more") or [], Replacement))


def _diff(workspace: Workspace, asked: str, planned: Planned) -> str:
    name = workspace.display(planned.path)
    led = f"{clean(asked)} leads to {name}\n" if clean(asked) not in (name, f"./{name}", str(planned.path)) else ""
    return _bounded(led) + difference(name, planned.before, planned.after)


def difference(name: str, before: bytes | None, after: bytes | None) -> str:
    """Compare what a file held with what it holds, as a bounded unified diff; None is no file."""
    old, new = _text(before), _text(after)
    if old == new and (before is None) == (after is None):
        return f"{name}: no change of the text"
    sides = (name if before is not None else "/dev/null", name if after is not None else "/dev/null")
    return _bounded(f"--- {sides[0]}\n+++ {sides[1]}\n" + _hunks(_lines(old), _lines(new)))


def _hunks(old: list[str], new: list[str]) -> str:
    """Compare only what lies between the first and the last difference, so that big files are quick."""
    most = min(len(old), len(new))
    same = next((at for at in range(most) if old[at] != new[at]), most)
    most -= same
    tail = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    skipped, kept = max(0, same - 3), max(0, tail - 3)
    old, new = old[skipped : len(old) - kept], new[skipped : len(new) - kept]
    if len(old) + len(new) > _MOST_COMPARED:
        removed, added = old[: _MOST_LINES // 2], new[: _MOST_LINES // 2]
        return "\n".join(
            [f"@@ {len(old):,} lines become {len(new):,} from line {skipped + 1} on; their beginnings: @@"]
            + [f"-{line}" for line in removed]
            + [f"+{line}" for line in added]
        )
    compared = "\n".join(list(difflib.unified_diff(old, new, lineterm=""))[2:])
    return _HUNK.sub(
        lambda at: f"@@ -{int(at[1]) + skipped}{at[2] or ''} +{int(at[3]) + skipped}{at[4] or ''} @@", compared
    )


def _text(body: bytes | None) -> str:
    decoded = decode(body or b"")
    return decoded.text if decoded else ""


def _lines(text: str) -> list[str]:
    """Lines with what is not seen made visible; a changed line ending too, where the file has both kinds."""
    mixed = 0 < text.count("\r\n") < text.count("\n")
    split = (text if mixed else text.replace("\r\n", "\n")).split("\n")
    return [clean(line.replace("\r", "␍")) for line in (split if split[-1] else split[:-1])]


def _bounded(text: str) -> str:
    split = [_shortened(line) for line in text.split("\n")]
    if len(split) <= _MOST_LINES:
        return "\n".join(split)
    head, tail = split[: _MOST_LINES - 50], split[-49:]
    return "\n".join([*head, f"… {len(split) - len(head) - len(tail):,} lines left out …", *tail])


def _shortened(line: str) -> str:
    return line if len(line) <= 2_000 else f"{line[:1_500]}… {len(line) - 1_900:,} characters left out …{line[-400:]}"
