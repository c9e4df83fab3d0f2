"""What keeps git from running what a repository names: an environment, and a look at its settings beforehand."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ogcode.agent.files.git_index import GitIndexUnread, submodules
from ogcode.agent.files.root import worktree_folders
from ogcode.agent.memory.beneath import read_beneath

_LARGEST = 200_000
_MOST_REPOSITORIES = 100

_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("safe.bareRepository", "explicit"),
    ("log.showSignature", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.autoRefreshIndex", "false"),
)
PROTECTED: Mapping[str, str] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(_SETTINGS)},
}
"""For commands that only read: no monitor, no hooks, no network, nothing of a bare repository in a folder."""

_KEY = r"(?:^|\])\s*"
_RUNS = re.compile(
    rf"{_KEY}(?:clean|smudge|process|textconv|command|external|\w*program|defaultkeycommand|promisor|partialclone"
    rf"|alternaterefscommand|worktree)\s*(?:[=#;]|$)|{_KEY}fsmonitor\s*(?:=(?!\s*(?:true|false)\s*$)|[#;])|\[\s*include",
    re.IGNORECASE | re.MULTILINE,
)
"""A setting of any section that names a program, another file of settings, or another place.

What a reading git runs comes from `filter`, `diff`, `gpg` and `core`; the environment does not reach submodules.
"""
_RUNS_IN_CHANGES = re.compile(
    r"""(?:\[.*\]\s*)?(?:hookspath|sshcommand|\w*editor|pager|helper|driver|update|[\w-]+\s*=\s*"?!)""", re.IGNORECASE
)
"""What other commands of git run."""


def runs_no_program(folder: Path, top: Path) -> bool:
    """Tell whether a reading git in a folder below `top` runs nothing that its repository names, once `PROTECTED`."""
    places = [folder, *(place for place in folder.parents if place.is_relative_to(top))]
    repository = next((place for place in places if os.path.lexists(place / ".git")), None)
    return repository is not None and all(map(_names_none, _repositories(repository, top)))


def naming_settings(repository: Path) -> list[str]:
    """Give the lines of a repository's settings by which git may run a program.

    Raises:
        OSError: they can't be read.
    """
    lines = (line.strip() for folder, name in _files(repository) for line in _text(folder, name).splitlines())
    return [line for line in lines if _RUNS.search(line) or _RUNS_IN_CHANGES.match(line)]


def _repositories(repository: Path, top: Path) -> Iterator[Path | None]:
    """Give a repository and all that git would look into with it; None for what can't be told."""
    waiting, seen = [repository], 0
    while waiting:
        seen += 1
        here = waiting.pop()
        try:
            inner = [here / name for name in submodules(here)]
        except (GitIndexUnread, OSError):
            yield None
            return
        yield here
        waiting += [each for each in inner if os.path.lexists(each / ".git")]
        if seen > _MOST_REPOSITORIES or any(not each.resolve().is_relative_to(top) for each in waiting):
            yield None
            return


def _names_none(repository: Path | None) -> bool:
    try:
        return repository is not None and not any(
            _RUNS.search(_without_own_worktree(_text(folder, name), folder, repository))
            for folder, name in _files(repository)
        )
    except (OSError, UnicodeDecodeError):
        return False


def _without_own_worktree(text: str, folder: Path, repository: Path) -> str:
    """Leave out how a submodule says where its files are, if that is where they are."""

    def judged(found: re.Match[str]) -> str:
        return "" if (folder / found[1]).resolve() == repository.resolve() else found[0]

    return re.sub(r"(?m)^\s*worktree = (\S+)$", judged, text)


def _files(repository: Path) -> Iterator[tuple[Path, str]]:
    """Give where a repository's settings are.

    Raises:
        OSError: it is not as git makes them.
    """
    entry = repository / ".git"
    common = git = entry
    if entry.is_symlink() or (entry / "commondir").exists():
        raise OSError("settings elsewhere")
    if entry.is_file():
        folders = worktree_folders(repository)
        git = (repository / _text(repository, ".git").removeprefix("gitdir:").strip()).resolve()
        if folders is None and ("modules" not in git.parts or (git / "commondir").exists()):
            raise OSError("neither a worktree that its repository knows nor a submodule")
        git, common = folders or (git, git)
    yield common, "config"
    if (git / "config.worktree").exists():
        yield git, "config.worktree"


def _text(folder: Path, name: str) -> str:
    content = read_beneath(folder, name, _LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError("too large")
    return content.decode().removeprefix("\ufeff")
