"""`ogcode init`: whether memory is committed with the repository or stays this user's own."""

import contextlib
import errno
from pathlib import Path

from ogcode.agent.files.durable import replace_file
from ogcode.agent.index.cache import Memory, open_index
from ogcode.agent.memory.beneath import read_beneath
from ogcode.agent.memory.notes import LARGEST
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.memory.trash import keep, shield
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
        if wanted == "commit":
            shield(here.root.store)
            _keep_own(here)
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
        remark("next: ogcode memory doctor --secrets, then git add .ogcode and commit")
        remark("git clean and git stash -u take a note that is not committed: its bytes stay in .ogcode/trash for undo")
        if hidden := _hidden_by(here.root.path / ".gitignore"):
            remark(f"{here.root.path / '.gitignore'} hides .ogcode too: remove its line '{hidden}'")
    return 0


def _keep_own(here: Here) -> None:
    """Keep the bytes of every own note before git sees it, as the scribe does from then on."""
    with contextlib.closing(open_index(Memory.of(here.root, here.home))) as index:
        own = [path for (path,) in index.execute("select path from notes where origin = 'own' and pending = 0")]
    for path in own:
        with contextlib.suppress(FileNotFoundError):  # gone meanwhile
            keep(here.root.store, path, read_beneath(here.root.store, path, LARGEST))


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
