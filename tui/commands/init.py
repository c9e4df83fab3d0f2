"""`ogcode init`: whether memory is committed with the repository or stays this user's own."""

import errno
from pathlib import Path

from ogcode.agent.durable import replace_file
from ogcode.agent.memory.spool import prepare_store
from ogcode.tui.commands.terminal import answer, answer_json, remark
from ogcode.tui.place import Here

IGNORE = "*\n"
COMMIT = """# Notes, facts and settings are committed; everything else in here is one machine's own.
*
!.gitignore
!config.toml
!memory/
!memory/**/
!memory/**/*.md
!facts/
!facts/**/
!facts/**/*.md
"""
_FORMS = {"ignore": IGNORE, "commit": COMMIT}
_SAYS = {
    "ignore": "ignored by git: git stash and git clean leave it alone",
    "commit": "notes, facts and settings are committed; the rest is ignored by git",
    "none": "not set up: the first turn makes it, ignored by git",
    "other": "by a .gitignore that was written by hand",
}


def init(here: Here, wanted: str, *, as_json: bool) -> int:
    """Write `.ogcode/.gitignore`; without a wish only say how things stand."""
    path = here.root.store / ".gitignore"
    before = _form(path)
    if wanted and before == "other":
        raise OSError(errno.EEXIST, "was written by hand; remove it first", str(path))
    if wanted:
        prepare_store(here.root.store)
        replace_file(path, _FORMS[wanted].encode())
    now = wanted or before
    if as_json:
        answer_json({"memory": now, "path": str(path), "changed": bool(wanted) and wanted != before})
        return 0
    answer(f"memory: {_SAYS[now]}")
    if not wanted:
        answer("ogcode init --memory commit   commit notes, facts and settings with this repository")
        answer("ogcode init --memory ignore   keep all of it out of git (as it is without ogcode init)")
    if wanted == "ignore" and before == "commit":
        remark("what git tracks already it goes on tracking: git rm -r --cached .ogcode")
    if wanted == "commit":
        remark("next: ogcode memory doctor --secrets, then git add .ogcode; what is not added yet, git clean removes")
        if hidden := _hidden_by(here.root.path / ".gitignore"):
            remark(f"{here.root.path / '.gitignore'} hides .ogcode too: remove its line '{hidden}'")
    return 0


def _form(path: Path) -> str:
    try:
        text = path.read_text("utf-8", "replace") if path.is_file() else ""
    except OSError:
        text = ""
    if not text.strip():
        return "none"
    return next((name for name, form in _FORMS.items() if text.split() == form.split()), "other")


def _hidden_by(path: Path) -> str:
    """Find the line of the repository's own .gitignore that would hide all of memory."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    except OSError:
        return ""
    return next((line.strip() for line in lines if line.strip().strip("/") in (".ogcode", ".ogcode/*", ".*")), "")
