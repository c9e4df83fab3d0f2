"""From the command line to what it asks for; every failure becomes one sentence and an exit code."""

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ogcode.tui.first_frame import FirstFrame

COMMANDS = (
    *("recall", "memory", "sessions", "undo", "models", "doctor", "stats", "context", "init", "batch", "demo"),
    *("schema", "completion", "help"),
)

ERROR, USAGE, BAD_INPUT, DENIED, AGAIN = 1, 2, 42, 55, 75


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code."""
    os.umask(0o077)
    _open_streams()
    try:
        code = _run(list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0  # the reader has left: nothing more to say
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        code = complain(error)
    else:
        return code
    with contextlib.suppress(OSError):  # what can't be written now must not be tried again at the end
        sys.stdout.flush()
        return code
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def complain(error: Exception) -> int:
    """Say what went wrong in one sentence; return the exit code."""
    from ogcode.agent.clean import clean
    from ogcode.agent.facts.fact import FactRefused
    from ogcode.agent.memory.trash import TrashRefused
    from ogcode.agent.model import TRANSIENT, ModelError
    from ogcode.agent.models.choice import NoModel
    from ogcode.agent.rights.trust import TrustBroken
    from ogcode.agent.sensitive.secrets import known_secrets, scrub
    from ogcode.agent.settings.config import ConfigBroken
    from ogcode.agent.undo.plan import NothingToUndo
    from ogcode.tui.boundary import SandboxMissing
    from ogcode.tui.commands.change import NotChanged
    from ogcode.tui.commands.notes import NoneNamed
    from ogcode.tui.earlier import SessionTaken, SessionUnknown
    from ogcode.tui.headless.asked import BadInput

    match error:
        case SessionUnknown() | SessionTaken() | NoneNamed() | BadInput() | NothingToUndo():
            code, text = BAD_INPUT, str(error)
        case NotChanged() | TrashRefused() | FactRefused():
            code, text = ERROR, str(error)
        case ConfigBroken() | TrustBroken():
            code, text = USAGE, str(error)
        case SandboxMissing():
            code, text = DENIED, str(error)
        case ModelError():
            code, text = (AGAIN if isinstance(error, TRANSIENT) else ERROR), str(error)
        case FileNotFoundError(filename=None):
            code, text = ERROR, "the working folder is gone; change to one that is there, or name one with --cd"
        case OSError(filename=None):
            code, text = ERROR, error.strerror or str(error)
        case OSError():
            code, text = ERROR, f"{error.filename}: {error.strerror}"
        case _:
            code, text = ERROR, f"something went wrong inside ogcode: {type(error).__name__}: {error}"
    if os.environ.get("OGCODE_DEBUG"):
        import traceback

        traceback.print_exception(error)
    told = text if isinstance(error, NoModel) else " ".join(text.split())
    with contextlib.suppress(OSError):
        sys.stderr.write(f"ogcode: {clean(scrub(told, known_secrets(os.environ)))}\n")
    return code


def _open_streams() -> None:
    """Put the null device where a standard stream is closed, before a file of ours gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123  # None where it was closed
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an answer is not lost for a letter that the locale lacks


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-v"], ["-V"]):
        return _version()
    try:
        if arguments and arguments[0] in COMMANDS:
            from ogcode.tui.subcommands import run_command

            return run_command(arguments[0], arguments[1:])
        return _ask(arguments)
    except SystemExit as left:  # argparse has said why
        return left.code if isinstance(left.code, int) else 0


def _version() -> int:
    from ogcode.agent.version import VERSION

    sys.stdout.write(f"ogcode {VERSION}\n")
    return 0


def _ask(arguments: list[str]) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _asked(arguments, None)
    from ogcode.tui.first_frame import certain, paint, plain_here

    model = arguments[1] if len(arguments) > 1 else os.environ.get("OGCODE_MODEL", "")
    frame = paint(model, inline=arguments == ["--inline"]) if certain(arguments) and not plain_here() else None
    try:
        if frame:
            frame.listen()
        return _asked(arguments, frame)
    finally:
        if frame:
            frame.clear()


def _asked(arguments: list[str], frame: "FirstFrame | None") -> int:
    from pathlib import Path

    from ogcode.tui.arguments import parse

    given = parse(arguments)
    if given.version:
        return _version()
    if given.folder:
        try:
            os.chdir(given.folder)
        except OSError as error:
            sys.stderr.write(f"ogcode: --cd {given.folder}: {error.strerror}\n")
            return USAGE
    folder = Path.cwd()
    if given.print or not (given.screen_reader or (sys.stdin.isatty() and sys.stdout.isatty())):
        if given.picks:
            sys.stderr.write("ogcode: --resume without an ID picks a session in the app; ogcode sessions lists them\n")
            return USAGE
        from ogcode.tui.headless.run import run_headless

        return run_headless(given, folder)
    from ogcode.tui.arguments import headless_only
    from ogcode.tui.interactive import run_interactive

    if flag := headless_only(given):
        sys.stderr.write(f"ogcode: {flag} means nothing in the app; add -p to run headless\n")
        return USAGE
    if given.picks and (given.prompt or given.fork):
        sys.stderr.write("ogcode: --resume needs an ID beside a prompt or --fork-session; ogcode sessions lists them\n")
        return USAGE
    return run_interactive(given, folder, frame)
