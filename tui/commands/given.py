"""What a command was given on its line."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ogcode.agent.facts.fact import FactScope


class Given(argparse.Namespace):
    """The words of any command; each has some of them."""

    command: str
    json: bool
    trust: bool
    tag: str
    name: str
    names: list[str]
    section: str
    words: list[str]
    limit: int | None
    days: int | None
    forgotten: bool
    notes: bool
    conversation: str
    secrets: bool
    for_good: bool
    yes: bool
    all: bool
    seconds: float
    wait: float
    memory: str
    format: str
    turn: int | None
    session: str
    dry_run: bool
    model: str
    scope: "FactScope | None"
    summary: str
    about_user: bool
    apply: bool
    again: bool
    workspace: str


def parser_of(command: str) -> argparse.ArgumentParser:
    """Begin the parser of a command; it ends the program with 2 and a line on stderr where the words make no sense."""
    parser = argparse.ArgumentParser(prog=f"ogcode {command}", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--trust", action="store_true", help="trust this folder from now on")
    return parser


def count(text: str) -> int:
    """Read a positive whole number."""
    if text.isascii() and text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}' is not a positive whole number")


def seconds(text: str) -> float:
    """Read a number of seconds."""
    if text.isascii() and text.replace(".", "", 1).isdecimal():
        return float(text)
    raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
