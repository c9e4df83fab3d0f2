"""The command line of the Landlock helper: as tight as bubblewrap where it gets namespaces, else by rights alone."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ogcode.agent.sandbox.layout import Level, Mount, Site, hidden

HELPER = Path(__file__).with_name("landlock_exec.py")

_DEVICES = tuple(f"/dev/{name}" for name in "null zero full random urandom tty".split())
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
_UNSEEN = ("/run", "/tmp", "/dev")  # noqa: S108  # of others
_START = "-I", "-S"


def interpreter() -> Path:
    """Name the interpreter itself: beside a link to it may lie a `pyvenv.cfg` that sends it elsewhere."""
    return Path(os.path.realpath(sys.executable))


def apart_line(mounts: Sequence[Mount], command: Sequence[str], *, cwd: Path, network: bool) -> list[str]:
    """Put together the line that makes the mounts, in namespaces of the command's own, and then restricts it."""
    laid = [*mounts, Mount("/dev", "empty"), Mount("/dev/shm", "empty")]  # noqa: S108  # its own
    laid += [Mount(device, "write", device) for device in _DEVICES if Path(device).exists()]
    laid.sort(key=lambda mount: Path(mount.target).parts)
    words = ["apart", *(["net"] if network else [])]
    for mount in laid:
        words += [mount.kind, mount.source, mount.target]
    for name, source in _LINKS.items():
        words += ["link", source, f"/dev/{name}"]
    changed = [mount.target for mount in mounts if mount.kind == "write"]
    return _line(words, ["/"], [*changed, *_DEVICES, "/dev/shm"], command, cwd=cwd)  # noqa: S108


def restricted_line(
    site: Site, level: Level, command: Sequence[str], *, cwd: Path, private: Path, network: bool
) -> list[str]:
    """Put together the line that only restricts: rights add up, so nothing inside the workspace can be left out."""
    work = [str(each) for each in (site.top, *site.beside)]
    changed = [str(private / "tmp"), *_DEVICES, *([] if level == "ro" else work)]
    kept = {*hidden(site), *_UNSEEN}
    seen = [
        *_around(Path("/"), {Path(place) for place in kept}),
        *work,
        str(private),
        *_DEVICES,
    ]
    return _line(["net"] if network else [], seen, changed, command, cwd=cwd)


def _around(folder: Path, unseen: set[Path]) -> Iterator[str]:
    """Name what is in a folder, but for some places in it."""
    if not any(place.is_relative_to(folder) for place in unseen):
        yield str(folder)
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder / entry.name
        if path in unseen or entry.is_symlink():
            continue
        yield from _around(path, unseen) if entry.is_dir(follow_symlinks=False) else (str(path),)


def _line(
    words: Sequence[str], seen: Sequence[str], changed: Sequence[str], command: Sequence[str], *, cwd: Path
) -> list[str]:
    line = [str(interpreter()), *_START, str(HELPER), *words]
    for word, paths in (("see", seen), ("change", changed)):
        for path in paths:
            line += [word, path]
    return [*line, "chdir", str(cwd), "run", *command]
