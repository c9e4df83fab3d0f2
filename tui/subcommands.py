"""The commands that are not a turn: recall, memory, sessions, models, doctor and their like."""

import os
from argparse import ArgumentParser
from pathlib import Path

from ogcode.tui.commands.given import Given, count, parser_of
from ogcode.tui.commands.memory import parse_memory, run_memory
from ogcode.tui.commands.terminal import remark
from ogcode.tui.place import Here, closed_here, look_around, utc_now


def run_command(name: str, words: list[str]) -> int:
    """Run one of the commands; return its exit code.

    Raises:
        SystemExit: the words make no sense, and that has been said.
    """
    if name == "batch":
        from ogcode.tui.commands.batch import run_batch

        return run_batch(words)
    if name == "help":
        from ogcode.tui.help import show_help

        return show_help(words)
    given = parse_memory(words) if name == "memory" else _parsed(name, words)
    if isinstance(given, int):
        return given
    match name:
        case "demo":
            from ogcode.tui.demo import run_demo

            return run_demo()
        case "schema":
            from ogcode.tui.commands.schema import show_schema

            return show_schema(given.name or "", as_json=given.json)
        case "completion":
            from ogcode.tui.commands.completion import show_completion

            return show_completion(given.name)
    return _run(name, look_around(Path.cwd(), dict(os.environ), utc_now, trust=given.trust), given)


def _parsed(name: str, words: list[str]) -> Given:
    parser = command_parser(name)
    given = parser.parse_intermixed_args(words, Given())
    if name == "sessions" and bool(given.names) == (given.command == "list"):
        parser.error("name the sessions" if given.command != "list" else "list takes no names; show ID shows one")
    if name == "undo" and (given.turn is None) == (given.command == "to"):
        parser.error("to needs a turn: ogcode undo to TURN" if given.command == "to" else "only to takes a turn")
    return given


def command_parser(name: str) -> ArgumentParser:
    """Build the reader of what follows a command, but for memory and batch, which have their own."""
    parser = parser_of(name)
    match name:
        case "recall":
            parser.add_argument("words", nargs="+", metavar="QUESTION", help="what was done, decided, and why")
            parser.add_argument("--conversation", default="", metavar="TAG", help="ask of one conversation only")
        case "sessions":
            parser.add_argument(
                "command",
                nargs="?",
                choices=("list", "show", "export", "delete"),
                default="list",
                metavar="COMMAND",
                help="list (without one), show what was said, export all of it, or delete: to the trash, notes stay",
            )
            parser.add_argument("names", nargs="*", metavar="ID", help="sessions; the start of an id is enough")
            parser.add_argument("--format", choices=("md", "json", "html"), default="md", help="of show and export")
            parser.add_argument("--yes", action="store_true", help="don't ask whether delete is meant")
        case "undo":
            from ogcode.tui.commands.undo import COMMANDS, HELP

            parser.add_argument("command", nargs="?", choices=COMMANDS, default="list", metavar="COMMAND", help=HELP)
            parser.add_argument("turn", nargs="?", type=count, metavar="TURN", help="of to: the first that is undone")
            parser.add_argument("--session", default="", metavar="ID", help="not the last one that changed files")
            parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
        case "schema":
            parser.add_argument("name", nargs="?", choices=("result", "events"), help="one of the two only")
        case "completion":
            parser.add_argument("name", choices=("bash", "zsh", "fish"), metavar="bash|zsh|fish")
        case "doctor":
            parser.add_argument("-m", "--model", default="", metavar="NAME", help="check this one")
        case "context":
            parser.add_argument("-m", "--model", default="", metavar="NAME", help="for the window of this one")
            parser.add_argument("--session", default="", metavar="ID", help="of a session; without it, of a new one")
        case "stats":
            parser.add_argument("--days", type=count, metavar="N", help="of the last N days, today included")
        case "init":
            parser.add_argument(
                "--memory",
                choices=("commit", "ignore"),
                default="",
                help="commit notes with the repository, or keep them out of git; without it: how things stand",
            )
    return parser


def _run(name: str, here: Here, given: Given) -> int:
    if closed := closed_here(here):
        remark(f"ogcode: {closed}")
    match name:
        case "memory":
            return run_memory(here, given)
        case "recall":
            from ogcode.tui.commands.recall import ask_librarian

            return ask_librarian(here, " ".join(given.words), given.conversation, as_json=given.json)
        case "sessions":
            from ogcode.tui.commands.sessions import run_sessions

            return run_sessions(here, given)
        case "undo":
            from ogcode.tui.commands.undo import run_undo

            return run_undo(here, given)
        case "stats":
            from ogcode.tui.commands.spending import show_spending

            return show_spending(here, given.days, as_json=given.json)
        case "context":
            from ogcode.tui.commands.context import show_context

            return show_context(here, given.model, given.session, as_json=given.json)
        case "init":
            from ogcode.tui.commands.init import init

            return init(here, given.memory, as_json=given.json)
        case "doctor":
            from ogcode.tui.commands.checks import check_up

            return check_up(here, given.model, as_json=given.json)
        case _:
            from ogcode.tui.commands.models import list_models

            return list_models(here, as_json=given.json)
