"""The worktrees and branches of a batch: what was worked there is on a branch before its folder goes."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ogcode.agent.commands.git import PROTECTED, naming_settings
from ogcode.agent.files.durable import make_folder
from ogcode.agent.files.root import worktree_folders

_NOBODY = ("-c", "user.name=ogcode", "-c", "user.email=ogcode@localhost")
_SUBMODULE = b"160000 "


class GitFailed(Exception):
    """Git could not do what was needed; one sentence."""


@dataclass(frozen=True, slots=True)
class Diff:
    files: int
    insertions: int
    deletions: int


class Worktrees:
    """One for each task of a batch, below a folder outside the repository.

    `lock` is an open descriptor that each git holds too: whoever gets its lock knows that the last one has ended.
    """

    def __init__(
        self, top: Path, folder: Path, batch: str, *, git: Path, environ: Mapping[str, str], lock: int
    ) -> None:
        self._top, self._folder, self._batch, self._program = top, folder, batch, git
        kept = {name: value for name, value in environ.items() if not name.startswith(("GIT_", "PYTHON", "OGCODE_"))}
        self._environ = {**kept, **PROTECTED}
        self._lock = lock
        self._alone = asyncio.Lock()
        self._settings = self._named()

    def path(self, task: str) -> Path:
        """Give the folder of a worktree: it has the checkout's own name, by which programs and models may go."""
        return self._folder / task / self._top.name

    def branch(self, task: str) -> str:
        return f"ogcode/{self._batch}/{task}"

    async def head(self) -> str:
        """Give the commit that worktrees are made of.

        Raises:
            GitFailed: there is none.
        """
        if not (commit := await self._tip("HEAD^{commit}")):
            raise GitFailed(f"{self._top} has no commit to begin with; make one, or use --in-place")
        return commit

    async def in_the_way(self) -> str:
        """Name a branch below which git can make none of ours; empty where there is none."""
        for name in ("ogcode", f"ogcode/{self._batch}"):
            if await self._tip(f"refs/heads/{name}"):
                return name
        return ""

    async def changed(self) -> bool:
        """Tell whether the checkout holds what no worktree will."""
        return bool(await self._ask("status", "--porcelain", "--ignore-submodules=all"))

    async def make(self, task: str, base: str, *, settings: Path | None) -> None:
        """Make a worktree on a new branch, or on the branch that is there where `base` is empty.

        Raises:
            GitFailed, OSError: there is none, or it is not all there.
        """
        path, branch = self.path(task), self.branch(task)
        make_folder(path.parent)
        async with self._alone:
            made = ("-b", branch, str(path), base) if base else (str(path), branch)
            await self._ask("worktree", "add", "--quiet", "--force", "--no-track", *made)
        ours = path / ".ogcode"
        if settings and not (ours / "config.toml").exists() and not ours.is_symlink():
            ours.mkdir(mode=0o700, exist_ok=True)
            shutil.copyfile(settings, ours / "config.toml")
            if not (ours / ".gitignore").exists():
                (ours / ".gitignore").write_text("*\n", "utf-8")

    async def keep(self, task: str, message: str) -> str:
        """Put all that is in a worktree on its branch, whatever was checked out meanwhile; give the commit.

        Raises:
            GitFailed: it is not on the branch; the worktree is as it was.
        """
        path, ref = self.path(task), f"refs/heads/{self.branch(task)}"
        folders = worktree_folders(path)
        if folders is None:
            raise GitFailed(f"{path} is not a worktree that this repository knows; it was left as it is")
        here = {"GIT_DIR": str(folders[0]), "GIT_WORK_TREE": str(path)}

        async def ask(*words: str) -> str:
            return await self._ask(*words, at=path, environ=here)

        (folders[0] / "index.lock").unlink(missing_ok=True)  # of a git that was killed: nobody works here any more
        async with self._alone:
            await ask("add", "--all")
            tree, head = await ask("write-tree"), await ask("rev-parse", "HEAD")
            tip = await self._tip(ref)
            parents = [head]
            if tip and not await self._is_ancestor(tip, head):
                parents.append(tip)
            if len(parents) > 1 or tree != await ask("rev-parse", "HEAD^{tree}"):
                which = [word for parent in parents for word in ("-p", parent)]
                identity = () if await self._said(("config", "user.email")) else _NOBODY
                head = await ask(*identity, "commit-tree", *which, "-m", message, tree)
            await ask("update-ref", "-m", "ogcode batch", ref, head)
            await ask("symbolic-ref", "HEAD", ref)
        return head

    async def holds_repositories(self, task: str) -> str:
        """Name a repository inside a worktree, whose own work is on no branch of ours; empty where there is none."""
        listed = await self._said(("ls-tree", "-r", "-z", self.branch(task)))
        for line in (listed or b"").split(b"\0"):
            name = os.fsdecode(line.partition(b"\t")[2])
            if line.startswith(_SUBMODULE) and os.path.lexists(self.path(task) / name / ".git"):
                return name
        return ""

    async def remove(self, task: str) -> None:
        """Remove a worktree, and what a removal that was cut off has left of one; the branch stays.

        Raises:
            GitFailed, OSError: something of it is still there.
        """
        path, going = self.path(task), self._folder / task / ".going"
        for _ in range(2):  # half of a worktree must never be taken for one
            if os.path.lexists(going):
                await asyncio.to_thread(shutil.rmtree, going)
            if os.path.lexists(path):
                path.rename(going)
        async with self._alone:
            if await self._listed(path):
                await self._ask("worktree", "remove", "--force", "--force", str(path))
        for folder in (self._folder / task, self._folder, self._folder.parent):
            with suppress(OSError):
                folder.rmdir()

    async def set_aside(self, task: str) -> str:
        """Give the branch of an earlier attempt another name, or drop it where it holds nothing of its own.

        Raises:
            GitFailed: it is still there.
        """
        branch = self.branch(task)
        async with self._alone:
            if not (tip := await self._tip(f"refs/heads/{branch}")):
                return ""
            if await self._is_ancestor(tip, "HEAD"):
                await self._ask("branch", "--quiet", "-D", branch)
                return ""
            for number in count(1):
                name = f"{branch}.attempt-{number}"
                if not await self._tip(f"refs/heads/{name}"):
                    await self._ask("branch", "-m", branch, name)
                    break
            return name

    async def tip(self, task: str) -> str:
        """Give the commit of a task's branch; empty where there is none."""
        return await self._tip(f"refs/heads/{self.branch(task)}")

    async def diff(self, base: str, commit: str) -> Diff:
        """Count what lies between two commits."""
        words = ("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", base, commit)
        lines = [line.split("\t") for line in (await self._ask(*words)).split("\0") if line]
        added, removed = (sum(int(line[place]) for line in lines if line[place].isdecimal()) for place in (0, 1))
        return Diff(len(lines), added, removed)

    async def _listed(self, path: Path) -> bool:
        listed = await self._ask("worktree", "list", "--porcelain", "-z")
        return f"worktree {path}" in listed.split("\0")

    async def _tip(self, ref: str) -> str:
        return (await self._said(("rev-parse", "--verify", "--quiet", ref)) or b"").decode().strip()

    async def _is_ancestor(self, commit: str, of: str) -> bool:
        return await self._said(("merge-base", "--is-ancestor", commit, of)) is not None

    async def _ask(self, *words: str, at: Path | None = None, environ: Mapping[str, str] | None = None) -> str:
        failures = list[str]()
        if (said := await self._said(words, at, environ, failures.append)) is None:
            what = next(word for word in words if not word.startswith(("-", "user.")))
            raise GitFailed(f"git {what}: {' '.join(failures) or 'it failed without a word'}")
        return os.fsdecode(said).strip()

    async def _said(
        self,
        words: tuple[str, ...],
        at: Path | None = None,
        environ: Mapping[str, str] | None = None,
        complain: Callable[[str], None] | None = None,
    ) -> bytes | None:
        """Run git to its end, also where nobody waits any more; None where it failed."""
        if self._named() != self._settings:
            raise GitFailed(f"{self._top}/.git/config names other programs than at the start; look at what changed it")
        process = await asyncio.create_subprocess_exec(
            str(self._program),
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=at or self._top,
            env={**self._environ, **(environ or {})},
            pass_fds=(self._lock,),
            start_new_session=True,
        )
        out, err = await asyncio.shield(process.communicate())
        if process.returncode and complain:
            complain(" ".join(err.decode("utf-8", "replace").split())[:300])
        return None if process.returncode else out

    def _named(self) -> list[str]:
        try:
            return naming_settings(self._top)
        except (OSError, UnicodeDecodeError) as error:
            raise GitFailed(f"{self._top}/.git: its settings can't be read ({error})") from error
