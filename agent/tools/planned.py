"""Changes of files worked out but not made: what a person is shown before, and what is then done."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ogcode.agent.clean import clean
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.store import load
from ogcode.agent.tools.text import Decoded, decode, kind, lines, newline
from ogcode.agent.tools.workspace import Workspace

if TYPE_CHECKING:
    from ogcode.agent.tools.ladder import Replaced

_LISTED = 10


class Replacement(TypedDict):
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A change worked out but not made."""

    path: Path
    before: bytes | None
    after: bytes
    said: str


def planned_write(workspace: Workspace, path: str, content: str) -> Planned:
    """Work out what `write` would do.

    Raises:
        ToolError: it can't be done.
    """
    real, name = _target(workspace, path)
    before = load(workspace, real) if real.exists() else None
    there = Decoded("") if before is None else decode(before)
    if there is None:
        raise ToolError(f"{name} is not text ({kind(before or b'')}); remove it first if it is to be replaced")
    if there.text and _is_shown(content) and not _is_shown(there.text):
        raise ToolError(f"each line of content begins with a number, as read shows {name}: send the text without them")
    if newline(there.text) == "\r\n" and "\r" not in content and there.text.count("\n") == there.text.count("\r\n"):
        content = content.replace("\n", "\r\n")
    done = "created" if before is None else "wrote"
    return Planned(real, before, _encoded(there, content, name), f"{done} {name}: {counted(len(lines(content)))}")


def planned_edit(workspace: Workspace, path: str, edits: Sequence[Replacement], *, every: bool) -> Planned:
    """Work out what `edit` would do: each replacement is made in what those before it have made.

    Raises:
        ToolError: it can't be done.
    """
    real, name = _target(workspace, path)
    if not real.exists():
        raise ToolError(f"there is no {name}{near(workspace, real)}; make a new file with write")
    before = load(workspace, real)
    there = decode(before)
    if there is None:
        raise ToolError(f"{name} is not text ({kind(before)}); edit changes text files only")
    text, made = there.text, list["Replaced"]()
    for number, each in enumerate(edits, 1):
        if each in edits[: number - 1] and each["old"] not in text:
            continue  # it was given twice, and is made
        try:
            made.append(_replaced(text, each, every=every, name=name))
        except ToolError as error:
            raise ToolError(_failed(error, number, len(edits))) from error
        text = made[-1].text
    after = _encoded(there, text, name)
    if after == before:
        raise ToolError(
            f"{name} already reads so at line {made[0].line}, nothing would change; go on with the next step"
        )
    return Planned(real, before, after, f"edited {name}: {_told(made)}")


def _is_shown(text: str) -> bool:
    from ogcode.agent.tools.ladder import numbered

    return numbered(text)


def _failed(error: ToolError, number: int, count: int) -> str:
    from ogcode.agent.tools.ladder import AlreadyThere

    there = isinstance(error, AlreadyThere)
    if count == 1:
        done = ": this edit is done, so go on with the next step; or else you exchanged old and new" if there else ""
        return f"{error}{done}"
    without = ": leave that one out and send the others again; or else you exchanged old and new" if there else ""
    return f"nothing was changed: replacement {number} of {count} fails: {error}{without}"


def _replaced(text: str, edit: Replacement, *, every: bool, name: str) -> "Replaced":
    if not edit["old"]:
        raise ToolError(f"old is empty; give the text of {name} to replace, or use write for the whole file")
    if edit["old"] == edit["new"]:
        raise ToolError("old and new are the same, nothing would change; put into new what it should read instead")
    from ogcode.agent.tools.ladder import replaced  # only where a file is edited

    return replaced(text, edit["old"], edit["new"], every=every, name=name)


def _told(made: Sequence["Replaced"]) -> str:
    first, places = made[0], sum(each.places for each in made)
    if len(made) > 1:
        where = "at " + ", ".join(str(each.line) for each in made)
    else:
        where = f"at {first.line}" if places == 1 else f"in {places} places, first at {first.line}"
    rungs = " and ".join(dict.fromkeys(each.rung for each in made if each.rung))
    noted = f" (old did not match exactly: overlooked {rungs})" if rungs else ""
    return f"{counted(sum(each.lines * each.places for each in made))} replaced {where}{noted}"


def near(workspace: Workspace, real: Path) -> str:
    """Name files that the model may have meant: alike in that folder, or of that name elsewhere."""
    try:
        beside = get_close_matches(real.name, [each.name for each in real.parent.iterdir()], 3, 0.6)
    except OSError:
        beside = []
    found = [workspace.display(real.parent / name) for name in beside]
    looked = 0
    for folder, folders, names in os.walk(workspace.top):
        folders[:] = sorted(name for name in folders if name not in (".git", ".ogcode", "node_modules", ".venv"))
        if real.name in names:
            found.append(workspace.display(Path(folder) / real.name))
        looked += len(names)
        if looked > 20_000 or len(found) >= 5:
            break
    return f"; did you mean {' or '.join(dict.fromkeys(found))}?" if found else ""


def counted(number: int) -> str:
    return f"{number:,} line{'' if number == 1 else 's'}"


def _target(workspace: Workspace, path: str) -> tuple[Path, str]:
    real = workspace.writable(path)
    name = workspace.display(real)
    if real.is_dir() or path.endswith("/"):
        raise ToolError(f"{name} is a folder; give the path of a file{_files_in(real)}")
    return real, name


def _files_in(folder: Path) -> str:
    try:
        names = sorted(each.name for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
    except OSError:
        return ""
    more = ", …" if len(names) > _LISTED else ""
    return f", as {', '.join(map(clean, names[:_LISTED]))}{more}" if names else ""


def _encoded(there: Decoded, text: str, name: str) -> bytes:
    try:
        return there.encode(text)
    except UnicodeEncodeError as error:
        bad = error.object[error.start]
        raise ToolError(
            f"{name} is encoded in {there.encoding}, which has no {clean(bad)!r} (U+{ord(bad):04X}); "
            "do without it, or convert the file to UTF-8 first"
        ) from error
