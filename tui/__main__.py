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
    """Drop what would make the working directory's files importable."""
    here = os.path.realpath(".")
    sys.path[:] = [place for place in sys.path if place and not _inside(os.path.realpath(place), here)]


def _inside(place: str, folder: str) -> bool:
    """Tell whether a path entry lies in the working directory, but for the interpreter's own packages."""
    return place == folder or (place.startswith(folder.rstrip("/") + "/") and not place.startswith(sys.prefix))


if __name__ == "__main__":
    sys.exit(main())
