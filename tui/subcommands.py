"""The commands that are not a turn: recall, memory, sessions, models, init, demo."""

import os
from pathlib import Path

from ogcode.tui.commands.given import Given, parser_of
from ogcode.tui.commands.memory import parse_memory, run_memory
from ogcode.tui.place import Here, look_around, utc_now


def run_command(name: str, words: list[str]) -> int:
    """Run one of the commands; return its exit code.

    Raises:
        SystemExit: the words make no sense, and that has been said.
    """
    given = parse_memory(words) if name == "memory" else _parsed(name, words)
    if isinstance(given, int):
        return given
    if name == "demo":
        from ogcode.tui.demo import run_demo

        return run_demo()
    return _run(name, look_around(Path.cwd(), dict(os.environ), utc_now, trust=given.trust), given)


def _parsed(name: str, words: list[str]) -> Given:
    parser = parser_of(name)
    match name:
        case "recall":
            parser.add_argument("words", nargs="+", metavar="QUESTION", help="what was done, decided, and why")
            parser.add_argument("--conversation", default="", metavar="TAG", help="ask of one conversation only")
        case "sessions":
            parser.add_argument("command", nargs="?", choices=("list",), default="list", help="the sessions here")
        case "init":
            parser.add_argument(
                "--memory",
                choices=("commit", "ignore"),
                default="",
                help="commit notes with the repository, or keep them out of git; without it: how things stand",
            )
    return parser.parse_intermixed_args(words, Given())


def _run(name: str, here: Here, given: Given) -> int:
    match name:
        case "memory":
            return run_memory(here, given)
        case "recall":
            from ogcode.tui.commands.recall import ask_librarian

            return ask_librarian(here, " ".join(given.words), given.conversation, as_json=given.json)
        case "sessions":
            from ogcode.tui.commands.sessions import list_sessions

            return list_sessions(here, as_json=given.json)
        case "init":
            from ogcode.tui.commands.init import init

            return init(here, given.memory, as_json=given.json)
        case _:
            from ogcode.tui.commands.sessions import show_model

            return show_model(here, as_json=given.json)
