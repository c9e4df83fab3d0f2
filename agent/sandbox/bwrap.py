"""The command line of bubblewrap for one layout."""

from collections.abc import Sequence
from pathlib import Path

from ogcode.agent.sandbox.layout import Mount

_CLOSED = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --cap-drop ALL".split()
_SYSTEM = "--ro-bind / / --dev /dev --proc /proc".split()


def bwrap_line(
    program: Path, mounts: Sequence[Mount], command: Sequence[str], *, cwd: Path, network: bool, nested: bool
) -> list[str]:
    """Put it together. `nested` leaves user namespaces open inside, for a bubblewrap before 0.8.

    There is no `--die-with-parent`: what a command left behind would be gone before it is seen, and a last line with
    it. Whoever runs the line ends all of it. And no `--new-session`: the process group is how.
    """
    line = [str(program), *_CLOSED]
    line += [] if nested else ["--disable-userns"]
    line += [] if network else ["--unshare-net"]
    line += _SYSTEM
    for mount in mounts:
        match mount.kind:
            case "write":
                line += ["--bind", mount.source, mount.target]
            case "read" | "blank":
                line += ["--ro-bind", mount.source, mount.target]
            case "empty":
                line += ["--tmpfs", mount.target]
    return [*line, "--chdir", str(cwd), "--", *command]
