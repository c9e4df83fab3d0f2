"""From the command line to what it asks for; every failure becomes one sentence and an exit code."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

COMMANDS = ("recall", "memory", "sessions", "models", "demo")

ERROR, USAGE, BAD_INPUT, AGAIN = 1, 2, 42, 75


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code."""
    os.umask(0o077)
    try:
        if arguments and arguments[0] in COMMANDS:
            from ogcode.tui.subcommands import run_command

            return run_command(arguments[0], list(arguments[1:]))
        return _ask(list(arguments))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has left: nothing more to say
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return complain(error)


def complain(error: Exception) -> int:
    """Say what went wrong in one sentence; return the exit code."""
    from ogcode.agent.clean import clean
    from ogcode.agent.config import ConfigBroken
    from ogcode.agent.model import TRANSIENT, ModelError
    from ogcode.agent.secrets import known_secrets, scrub
    from ogcode.agent.trust import TrustBroken
    from ogcode.tui.wiring import SessionUnknown

    match error:
        case SessionUnknown():
            code, text = BAD_INPUT, str(error)
        case ConfigBroken() | TrustBroken():
            code, text = USAGE, str(error)
        case ModelError():
            code, text = (AGAIN if isinstance(error, TRANSIENT) else ERROR), str(error)
        case OSError() if error.filename:
            code, text = ERROR, f"{error.filename}: {error.strerror}"
        case _:
            code, text = ERROR, f"something went wrong inside ogcode: {type(error).__name__}: {error}"
    if os.environ.get("OGCODE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    sys.stderr.write(f"ogcode: {clean(scrub(' '.join(text.split()), known_secrets(os.environ)))}\n")
    return code


def _ask(arguments: list[str]) -> int:
    from ogcode.tui.arguments import parse

    given = parse(arguments)
    if given.version:
        from ogcode.agent.version import VERSION

        sys.stdout.write(f"ogcode {VERSION}\n")
        return 0
    if given.folder:
        try:
            os.chdir(given.folder)
        except OSError as error:
            sys.stderr.write(f"ogcode: --cd {given.folder}: {error.strerror}\n")
            return USAGE
    folder = Path.cwd()
    if given.print or not sys.stdin.isatty() or not sys.stdout.isatty():
        from ogcode.tui.headless import run_headless

        return run_headless(given, folder)
    from ogcode.tui.interactive import run_interactive

    return run_interactive(given, folder)
