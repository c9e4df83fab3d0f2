"""`ogcode memory …`: from its words to what they ask for."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ogcode.agent.nearest import nearest
from ogcode.tui.commands.given import Given, count, parser_of, seconds
from ogcode.tui.place import Here

if TYPE_CHECKING:
    from ogcode.agent.facts.fact import FactScope

USAGE = """usage: ogcode memory COMMAND …   [--json]
       ogcode memory             all of it to look at, on a terminal

  list [TAG]                notes, newest first; of one conversation  (--limit N; --forgotten: what undo can bring back)
  show NAME [SECTION]       a note, or one section; Verbatim is the turn word for word
  search WORDS              the sections that speak to the words; no model is asked
                            (--limit N; --notes lists notes instead; --conversation TAG)
  status                    what is written, what waits, what could not be written, and why
  stats                     what there is, its size, and what it has cost
  path                      where the notes lie
  doctor [--secrets]        what is wrong, and what to do; exit code 1 where something is

  edit NAME                 in $VISUAL or $EDITOR; the note counts as edited from then on
  forget NAME …             notes or facts, to the trash  (--conversation TAG: all of one; --for-good: not even there)
  undo [NAME]               take back what was last done to notes or facts; by its name also a note that git took away
  wait [SECONDS]            until no turn waits for its note (60); exit code 3 where some still do
  rescribe NAME … | --all   have a model write notes anew, or all that none wrote; exit code 1 where one was not

  facts                     what is always known  (--scope project|global)
  read ID … | WORDS         facts in full
  remember TEXT             keep a fact of this project, or with -g one about yourself  (--summary LINE)
  update ID TEXT            put another text in its place
  import PLACE              what is new in the memory of something else: CLAUDE.md, a folder of markdown (auto-memory,
                            Obsidian, OpenBrowse), an OpenWorker coworker.db, an export  (--apply takes it in)
  export PLACE              all facts, to a folder, or to a file that ends in .jsonl  (--scope)

NAME is a note's id or file name, or a fact's id (m-…); TAG a conversation's id; the start of one is enough. --json: one
object a line.
"""

COMMANDS = (
    *("list", "show", "search", "status", "stats", "path", "doctor"),
    *("edit", "forget", "undo", "wait", "rescribe"),
    *("facts", "read", "remember", "update", "import", "export"),
)


def parse_memory(words: Sequence[str]) -> Given | int:
    """Read the words behind `ogcode memory`; an exit code where there is nothing to be run.

    Raises:
        SystemExit: they make no sense, and that has been said.
    """
    command = next((word for word in words if not word.startswith("-")), "")
    if not {*words} - {"--trust"} and sys.stdin.isatty() and sys.stdout.isatty():
        return Given(command="view", json=False, trust=bool(words))
    if command not in COMMANDS:
        if {"-h", "--help"} & set(words):
            sys.stdout.write(USAGE)
            return 0
        near = nearest(command, COMMANDS) if command else ""
        hint = f"did you mean '{near}'?" if near else f"there are {', '.join(COMMANDS)}"
        sys.stderr.write(f"{USAGE.partition(chr(10))[0]}\nogcode memory: no command {command!a}; {hint}\n")
        return 2
    parser = memory_parser(command)
    at = [*words].index(command)
    given = parser.parse_intermixed_args([*words[:at], *words[at + 1 :]], Given(command=command))
    if command == "forget" and bool(given.names) == bool(given.conversation):
        parser.error("name notes, or one conversation with --conversation TAG")
    if command == "rescribe" and bool(given.names) == given.all:
        parser.error("name notes, or say --all")
    return given


def memory_parser(command: str) -> ArgumentParser:
    """Build the reader of what follows one of the commands."""
    parser = parser_of(f"memory {command}")
    add = parser.add_argument
    match command:
        case "list":
            add("tag", nargs="?", default="", metavar="TAG", help="a conversation")
            add("--limit", type=count, metavar="N", help="so many at most")
            add("--forgotten", action="store_true", help="what undo can bring back")
        case "show":
            add("name", metavar="NAME", help="a note, or a link: '[[id#Section]]'")
            add("section", nargs="?", default="", metavar="SECTION", help="a heading, or Verbatim")
        case "search":
            add("words", nargs="+", metavar="WORDS")
            add("--limit", type=count, metavar="N", help="so many at most")
            add("--notes", action="store_true", help="list notes instead of printing sections")
            add("--conversation", default="", metavar="TAG", help="of one conversation only")
        case "doctor":
            add("--secrets", action="store_true", help="look for secrets in all that is kept")
        case "edit":
            add("name", metavar="NAME")
        case "forget":
            add("names", nargs="*", metavar="NAME")
            add("--conversation", default="", metavar="TAG", help="all notes of a conversation")
            add("--for-good", action="store_true", help="out of the trash too: undo can't bring it back")
            add("--yes", action="store_true", help="don't ask whether that is meant")
        case "undo":
            add("name", nargs="?", default="", metavar="NAME", help="a note; else what was done last")
        case "wait":
            add("seconds", nargs="?", type=seconds, default=60.0, metavar="SECONDS")
        case "facts":
            add("--scope", choices=("project", "global"), help="of this repository, or about yourself")
        case "read":
            add("words", nargs="+", metavar="ID|WORDS")
        case "remember":
            add("words", nargs="+", metavar="TEXT")
            add("-g", "--global", dest="about_user", action="store_true", help="about yourself, in every repository")
            add("--summary", default="", metavar="LINE")
        case "update":
            add("name", metavar="ID")
            add("words", nargs="+", metavar="TEXT")
            add("--summary", default="", metavar="LINE")
        case "import":
            add("name", metavar="PLACE", help="a file or a folder")
            add("--apply", action="store_true", help="take it in; without this it is only told what would be")
            add("-g", "--global", dest="about_user", action="store_true", help="as facts about yourself")
            add("--again", action="store_true", help="also what was forgotten here before")
            add("--workspace", default="", metavar="FOLDER", help="of coworker.db: as this folder was called then")
        case "export":
            add("name", metavar="PLACE", help="a new folder, or a new file that ends in .jsonl")
            add("--scope", choices=("project", "global"), help="of this repository, or about yourself")
        case "rescribe":
            add("names", nargs="*", metavar="NAME")
            add("--all", action="store_true", help="all that no model wrote")
            add("--wait", type=seconds, default=60.0, metavar="SECONDS", help="for the scribe (60)")
    return parser


def run_memory(here: Here, given: Given) -> int:
    """Do what was asked for; return the exit code."""
    as_json = given.json
    match given.command:
        case "view":
            from ogcode.tui.commands.view import view_memory

            return view_memory(here)
        case "facts" | "read" | "remember" | "update" | "import" | "export":
            return _facts(here, given)
        case "list" | "show" | "search" | "path":
            return _look(here, given)
        case "edit" | "forget" | "undo":
            return _change(here, given)
        case "status":
            from ogcode.tui.commands.scribing import show_status

            return show_status(here, as_json=as_json)
        case "wait":
            from ogcode.tui.commands.scribing import wait_for_notes

            return wait_for_notes(here, given.seconds, as_json=as_json)
        case "rescribe":
            from ogcode.tui.commands.scribing import rescribe_notes

            return rescribe_notes(here, given.names, seconds=given.wait, as_json=as_json)
        case "stats":
            from ogcode.tui.commands.stats import show_stats

            return show_stats(here, as_json=as_json)
        case _:
            from ogcode.tui.commands.doctor import examine

            return examine(here, secrets=given.secrets, as_json=as_json)


def _look(here: Here, given: Given) -> int:
    from ogcode.tui.commands import browse
    from ogcode.tui.commands.facts import is_fact, read_facts

    match given.command:
        case "list" if given.forgotten:
            return browse.list_forgotten(here, as_json=given.json)
        case "list":
            return browse.list_notes(here, given.tag, limit=given.limit, as_json=given.json)
        case "show" if is_fact(given.name):
            return read_facts(here, [given.name], as_json=given.json)
        case "show":
            return browse.show_note(here, given.name, given.section, as_json=given.json)
        case "path":
            return browse.show_path(here, as_json=given.json)
        case _:
            wanted = browse.Wanted(" ".join(given.words), given.conversation, given.limit, whole=given.notes)
            return browse.search_notes(here, wanted, as_json=given.json)


def _facts(here: Here, given: Given) -> int:
    from ogcode.tui.commands import facts

    words = " ".join(given.words) if "words" in given else ""
    match given.command:
        case "facts":
            return facts.list_facts(here, given.scope, as_json=given.json)
        case "read":
            return facts.read_facts(here, given.words, as_json=given.json)
        case "remember":
            scope: FactScope = "global" if given.about_user else "project"
            return facts.remember_fact(here, words, scope, summary=given.summary, as_json=given.json)
        case "update":
            return facts.update_fact(here, given.name, words, summary=given.summary, as_json=given.json)
        case "import":
            from ogcode.tui.exchange.commands import Wanted, take_in

            wanted = Wanted(
                given.name, about_user=given.about_user, again=given.again, workspace=given.workspace, apply=given.apply
            )
            return take_in(here, wanted, as_json=given.json)
        case _:
            from ogcode.tui.exchange.commands import give_out

            return give_out(here, given.name, given.scope, as_json=given.json)


def _change(here: Here, given: Given) -> int:
    from ogcode.tui.commands import change

    match given.command:
        case "edit":
            return change.edit_note(here, given.name, as_json=given.json)
        case "undo":
            return change.undo(here, given.name, as_json=given.json)
        case _:
            wanted = change.Unwanted(tuple(given.names), given.conversation, for_good=given.for_good, sure=given.yes)
            return change.forget_named(here, wanted, as_json=given.json)
