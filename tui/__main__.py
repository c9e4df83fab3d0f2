"""The `ogcode` command."""

import os
import sys

from ogcode.agent.version import VERSION


def main() -> int:
    """Run `ogcode`; nothing of the working directory can be imported from here on."""
    _close_path()
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-v"], ["-V"]):
        sys.stdout.write(f"ogcode {VERSION}\n")
        return 0
    from ogcode.tui.entry import run

    return run(arguments)


def _close_path() -> None:
    """Drop what would make the working directory's files importable; the interpreter's own folders stay."""
    here = os.path.realpath(".").rstrip("/") + "/"
    own = tuple(os.path.realpath(prefix) + "/" for prefix in (sys.prefix, sys.base_prefix))

    def allowed(place: str) -> bool:
        real = os.path.realpath(place) + "/"
        return place != "" and (not real.startswith(here) or real.startswith(own))

    sys.path[:] = filter(allowed, sys.path)


if __name__ == "__main__":
    sys.exit(main())
