"""The `ogcode` command."""

import os
import site
import sys


def main() -> int:
    """Run `ogcode`; nothing of the working directory can be imported from here on."""
    _close_path()
    from ogcode.agent.ending import to_its_end
    from ogcode.tui.entry import run

    return to_its_end(lambda: run(sys.argv[1:]))


def _close_path() -> None:
    """Drop what would make the working directory's files importable; the interpreter's own folders stay."""
    try:
        here = os.path.realpath(".")
    except FileNotFoundError:  # it was removed: nothing can be imported from it
        here = ""
    prefixes = (sys.prefix, sys.base_prefix, site.USER_SITE if site.ENABLE_USER_SITE else None)
    own = tuple(os.path.realpath(prefix) + "/" for prefix in prefixes if prefix)

    def allowed(place: str) -> bool:
        if not place or not here:
            return place.startswith("/")
        real = os.path.realpath(place)
        below = here != "/" and real.startswith(f"{here}/")
        return real != here and (not below or f"{real}/".startswith(own))

    sys.path[:] = filter(allowed, sys.path)


if __name__ == "__main__":
    sys.exit(main())
