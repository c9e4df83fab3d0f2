"""Which folders the user believes: asked once and again when what runs there changes, kept outside the folder."""

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.commands.git import naming_settings
from ogcode.agent.files.durable import make_folder, replace_file
from ogcode.agent.files.root import Root
from ogcode.agent.rights.accepted import Accepted
from ogcode.agent.rules import Written

_GET_GENERATION = 0x80087601
"""FS_IOC_GETVERSION of 64-bit Linux."""

CLAUDE_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")

_SHOWN = 40
_WIDEST = 400
"""Lines of each file, and characters of a line, that are shown of what changed."""

_VERSIONS = 20
"""Of each file that are trusted at most, the latest."""


class TrustBroken(Exception):
    """A folder can't be trusted, or `trust.json` can't be read; the text says what to do."""


class Trust:
    def __init__(self, home: Path) -> None:
        self._path = home / "trust.json"
        self._home = home

    def holds(self, root: Root) -> bool:
        """Tell whether the user trusts the folder that is there now.

        Raises:
            TrustBroken: the file is there but is not what it should be.
        """
        return self._was_given(root) and not self.changed(root)

    def changed(self, root: Root) -> tuple[str, ...]:
        """Name what runs or sets permissions in a trusted folder and is not as it was when the user trusted it.

        Raises:
            TrustBroken: the file is there but is not what it should be.
        """
        if not self._was_given(root):
            return ()
        accepted = _accepted(self._read()[str(root.path)])
        return tuple(name for name, content in _runs_there(root) if _digest(content) not in accepted.get(name, ()))

    def differences(self, root: Root) -> str:
        """Show what of it has changed since the user trusted it, for a person; bounded.

        Raises:
            TrustBroken: the file is there but is not what it should be.
        """
        changed, book = self.changed(root), Accepted(self._home, root.top)
        shown = list[str]()
        for name, content in _runs_there(root):
            if name in changed:
                lines = book.difference(_written(name, content)).split("\n")
                more = [f"… {len(lines) - _SHOWN:,} more lines: look into the file"] if len(lines) > _SHOWN else []
                shown += [clean(name), *(line[:_WIDEST] for line in lines[:_SHOWN]), *more]
        return "\n".join(shown)

    def _was_given(self, root: Root) -> bool:
        given = self._read().get(str(root.path), {})
        return root.sound and all(given.get(key) == value for key, value in _identity(root).items())

    def give(self, root: Root, now: datetime) -> None:
        """Trust a folder from now on.

        Raises:
            TrustBroken: the folder can't be trusted.
            OSError: the user's home can't be written; nothing was changed.
        """
        if not root.sound:
            raise TrustBroken(
                f"{root.top} can't be trusted: its .git file points at a repository that does not know this worktree"
            )
        known = self._read()
        accepted = _accepted(known.get(str(root.path), {}) if self._was_given(root) else {})
        for name, content in _runs_there(root):
            digest = _digest(content)
            accepted[name] = [*(each for each in accepted.get(name, ()) if each != digest), digest][-_VERSIONS:]
            Accepted(self._home, root.top).accept([_written(name, content)])
        since = now.isoformat(timespec="seconds")
        known[str(root.path)] = {**_identity(root), "since": since, "accepted": accepted}
        make_folder(self._path.parent)
        replace_file(self._path, json.dumps(known, indent=1).encode())

    def folders(self) -> Sequence[str]:
        """Name the folders that are trusted.

        Raises:
            TrustBroken: the file can't be read.
        """
        return list(self._read())

    def _read(self) -> dict[str, dict[str, object]]:
        try:
            known = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise TrustBroken(f"{self._path}: can't be read ({error}); mend or remove it") from error
        if not isinstance(known, dict) or not all(isinstance(each, dict) for each in known.values()):
            raise TrustBroken(f"{self._path}: not a table of folders; mend or remove it")
        return known


def _accepted(given: Mapping[str, object]) -> dict[str, list[str]]:
    """Give the digests of each file that were trusted: worktrees and branches may each have their own."""
    accepted = given.get("accepted")
    pairs = accepted.items() if isinstance(accepted, dict) else ()
    return {str(name): [str(each) for each in digests] for name, digests in pairs if isinstance(digests, list)}


def _written(name: str, content: bytes) -> Written:
    return Written(name, content.decode("utf-8", "replace"), theirs=True)


def _runs_there(root: Root) -> Iterator[tuple[str, bytes]]:
    """Give what a folder sets of permissions and what git would run there."""
    for name in (".ogcode/config.toml", *CLAUDE_SETTINGS):
        if (root.top / name).is_file():
            yield name, (root.top / name).read_bytes()
    try:
        if named := naming_settings(root.top):
            yield ".git/config", "\n".join(sorted(named)).encode()
    except (OSError, UnicodeDecodeError):
        if (root.top / ".git").exists():
            yield ".git/config", b"unreadable"
    for hook in sorted((root.path / ".git" / "hooks").glob("*")):
        if hook.suffix != ".sample" and hook.is_file():
            yield f".git/hooks/{hook.name}", hook.read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _identity(root: Root) -> dict[str, object]:
    facts = root.path.stat()
    return {"device": facts.st_dev, "inode": facts.st_ino, "generation": _generation(root.path)}


def _generation(folder: Path) -> int:
    """Tell a folder from the next one that gets its inode (ext4 gives it away at once); 0 where that can't be told."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return 0
    try:
        return int.from_bytes(fcntl.ioctl(descriptor, _GET_GENERATION, bytes(8))[:4], sys.byteorder)
    except OSError:
        return 0
    finally:
        os.close(descriptor)
