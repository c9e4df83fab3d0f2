"""The command line: its flags, and what can't be meant together."""

import argparse
import contextlib
import uuid
from collections.abc import Sequence
from typing import NoReturn

from ogcode.agent.memory.switch import SWITCHES, MemorySwitch
from ogcode.agent.model import EFFORTS, Effort
from ogcode.agent.nearest import nearest
from ogcode.agent.rights.permissions import Mode
from ogcode.agent.sandbox.layout import LEVELS, Level
from ogcode.tui.help import ENDS, EXAMPLES, MORE, USAGE

MODES: dict[str, Mode] = {
    "plan": "plan",
    "ask": "ask",
    "default": "ask",
    "edit": "edit",
    "acceptEdits": "edit",
    "auto": "auto",
    "yolo": "yolo",
    "bypassPermissions": "yolo",
    "dontAsk": "auto",
}
_TOOLS = frozenset(
    "read write edit bash grep glob file_map codebase_map todo remember memory_recall project_memory_recall ask_user "
    "agent askuserquestion bashoutput exitplanmode killshell ls multiedit notebookedit notebookread skill slashcommand "
    "task todoread todowrite webfetch websearch".split()
)
_ELSEWHERE = {
    "--full-auto": "--mode auto",
    "--dangerously-bypass-approvals-and-sandbox": "--yolo --no-sandbox",
    "--output-schema": "--json-schema",
    "--workdir": "--cd",
    "--message": "-p PROMPT",
    "--message-file": "--prompt-file",
    "--yes-always": "--yolo",
}
"""What flags of other agents are called here, where they are not taken as they are."""
_PICKED = "\0"
"""`--resume` without an ID: no word of a command line can be this."""
FORMATS = ("text", "json", "stream-json")
FILES = ("--image", "--prompt-file", "--system-prompt-file", "--append-system-prompt-file", "--json-schema", "-o")
FOLDERS = ("--add-dir", "-C")
"""Flags whose values are completed as names of files and of folders."""


class _Reader(argparse.ArgumentParser):
    """Says in one line what is wrong: under a page of usage it would be overlooked."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"ogcode: {message.removeprefix('argument ')}\n")


class Arguments(argparse.Namespace):
    prompt: str | None
    print: bool
    output_format: str
    input_format: str
    partial: bool
    model: str
    effort: Effort | None
    images: list[str]
    prompt_file: str
    system_prompt: str
    system_prompt_file: str
    more_prompt: str
    more_prompt_file: str
    schema: str
    last_message: str
    go_on: bool
    resume: str | None
    fork: bool
    session_id: str | None
    mode: Mode | None
    allow: list[str]
    deny: list[str]
    allowed: list[str]
    disallowed: list[str]
    tools: str | None
    beside: list[str]
    sandbox: Level | None
    trust: bool
    max_turns: int | None
    max_tokens: int | None
    max_cost: float | None
    time_limit: float | None
    memory: MemorySwitch | None
    memory_wait: float | None
    global_memory: bool
    bare: bool
    quiet: bool
    verbose: bool
    inline: bool
    screen_reader: bool
    folder: str

    @property
    def picks(self) -> bool:
        """A session is to be gone on with, and the user will say which."""
        return self.resume == ""


def parse(arguments: list[str]) -> Arguments:
    """Read the flags. Exits with 2 and a line on stderr where they make no sense."""
    reader = parser()
    given, left = reader.parse_known_args(arguments, Arguments())
    if left:
        reader.error(_beyond(left, [name for action in reader._actions for name in action.option_strings]))
    _tell_apart(given)
    if given.session_id and (given.resume or given.go_on) and not given.fork:
        reader.error("--session-id names a new session; with --continue or --resume it needs --fork-session")
    if given.fork and not given.go_on and given.resume is None:
        reader.error("--fork-session needs the session that is to be copied: --continue, or --resume ID")
    if given.resume is not None and given.go_on:
        reader.error("--continue and --resume name two sessions; give one of them")
    if given.system_prompt and given.system_prompt_file:
        reader.error("--system-prompt and --system-prompt-file are two texts for one place; give one of them")
    if given.more_prompt and given.more_prompt_file:
        reader.error("--append-system-prompt and --append-system-prompt-file can't be given together")
    if given.bare and given.memory in ("on", "read"):
        reader.error("--bare goes without memory; leave out one of the two")
    if given.quiet and given.verbose:
        reader.error("--quiet and --verbose can't be given together")
    if given.inline and given.screen_reader:
        reader.error("--inline and --screen-reader can't be given together")
    if given.partial and given.output_format != "stream-json":
        reader.error("--include-partial-messages needs --output-format stream-json")
    if given.input_format == "stream-json" and (given.prompt or given.prompt_file or given.images):
        reader.error("with --input-format stream-json all prompts and pictures come on stdin")
    if given.input_format == "stream-json" and given.output_format == "text":
        reader.error("--input-format stream-json needs --output-format json or stream-json")
    return given


def headless_only(given: Arguments) -> str:
    """Name a flag that was given and means nothing in the app; empty where there is none."""
    meant = {
        "--output-format": given.output_format != "text",
        "--input-format": given.input_format != "text",
        "--image": bool(given.images),
        "--prompt-file": bool(given.prompt_file),
        "--json-schema": bool(given.schema),
        "--output-last-message": bool(given.last_message),
        "--memory-wait": given.memory_wait is not None,
        "--quiet": given.quiet,
        "--verbose": given.verbose,
    }
    return next((flag for flag, there in meant.items() if there), "")


def parser(*, whole: bool = False) -> argparse.ArgumentParser:
    """Build the reader of the command line; its help names the flags that are used daily, or the `whole` of them."""
    made = _Reader(
        prog="ogcode",
        usage=USAGE,
        epilog=ENDS if whole else f"{MORE}\n\n{EXAMPLES}\n\n{ENDS}",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=80),
        allow_abbrev=False,
    )
    add = made.add_argument

    def rare(*names: str, help: str, **options: object) -> None:  # noqa: A002  # argparse's word
        add(*names, help=help if whole else argparse.SUPPRESS, **options)  # type: ignore[arg-type]  # passed through

    add("prompt", nargs="?", metavar="PROMPT", help=argparse.SUPPRESS)
    add("-p", "--print", action="store_true", help="headless; stdin is added, or is the prompt")
    add("--output-format", choices=FORMATS, default="text", metavar="FORMAT", help="text, json or stream-json")
    rare(
        "--json", dest="output_format", action="store_const", const="stream-json", help="as --output-format stream-json"
    )
    add("-m", "--model", default="", metavar="NAME", help="ollama/NAME, openai/NAME, anthropic/NAME, …")
    add("-c", "--continue", dest="go_on", action="store_true", help="go on with the last session here")
    add(
        "-r",
        "--resume",
        nargs="?",
        const=_PICKED,
        type=_name,
        metavar="ID",
        help="go on with a session; without ID, pick one",
    )
    modes = {"dest": "mode", "type": _mode, "metavar": "MODE"}
    add("--mode", **modes, help="plan, ask, edit, auto or yolo")  # type: ignore[arg-type]  # of both names
    rare("--permission-mode", **modes, help="as --mode; default, acceptEdits, dontAsk, bypassPermissions, too")
    yolo = {"dest": "mode", "action": "store_const", "const": "yolo"}
    rare("-y", "--yolo", "--dangerously-skip-permissions", **yolo, help="as --mode yolo: nothing is asked")
    add("--allow", action="append", default=[], metavar="RULE", help="Tool(glob), as in 'Bash(npm test*)'")
    add("--deny", action="append", default=[], metavar="RULE", help="Tool(glob); goes before every --allow")
    many = {"nargs": "+", "action": "extend", "default": [], "metavar": "RULES"}
    rare("--allowedTools", "--allowed-tools", dest="allowed", **many, help="as --allow, a list: 'Bash(git *) Edit'")
    rare(
        *("--disallowedTools", "--disallowed-tools"),
        dest="disallowed",
        **many,
        help="as --deny, a list; a tool without a glob is not offered to the model at all",
    )
    rare("--tools", metavar="NAMES", help="offer these tools only: 'read,grep'; '' is none, 'default' all")
    rare("--add-dir", dest="beside", action="append", default=[], metavar="DIR", help="work in this folder, too")
    rare("--sandbox", choices=LEVELS, metavar="LEVEL", help="close commands in: ro, ws, ws+net or off")
    rare("--no-sandbox", dest="sandbox", action="store_const", const="off", help="as --sandbox off")
    add("--trust", action="store_true", help="trust this folder from now on")
    add("--max-turns", type=_count, metavar="N", help="model requests at most")
    rare("--max-tokens", type=_count, metavar="N", help="tokens at most, sent and received")
    add("--max-cost", type=_amount, metavar="USD", help="cost at most")
    rare("--max-budget-usd", dest="max_cost", type=_amount, metavar="USD", help="as --max-cost")
    add("--time-limit", type=_amount, metavar="SECONDS", help="wall clock at most")
    rare("--effort", choices=tuple(EFFORTS), metavar="EFFORT", help="how long to think: none, low, medium or high")
    rare("--image", dest="images", action="append", default=[], metavar="FILE", help="show the model a picture")
    rare("--prompt-file", default="", metavar="FILE", help="the prompt, or more of it; '-' waits for all of stdin")
    rare("--system-prompt", default="", metavar="TEXT", help="in the place of ogcode's own instructions")
    rare("--system-prompt-file", default="", metavar="FILE", help="the same from a file")
    rare("--append-system-prompt", dest="more_prompt", default="", metavar="TEXT", help="behind the instructions")
    rare("--append-system-prompt-file", dest="more_prompt_file", default="", metavar="FILE", help="from a file")
    rare("--json-schema", dest="schema", default="", metavar="FILE|JSON", help="the answer is JSON that follows it")
    rare("-o", "--output-last-message", dest="last_message", default="", metavar="FILE", help="the answer, there too")
    text = {"choices": ("text", "stream-json"), "default": "text", "metavar": "FORMAT"}
    rare("--input-format", **text, help="stream-json: messages on stdin, a turn each")
    rare("--include-partial-messages", dest="partial", action="store_true", help="stream-json: text as it comes")
    rare("--fork-session", dest="fork", action="store_true", help="leave the old session as it is")
    rare("--session-id", type=_new_id, metavar="UUID", help="of the session that is begun")
    rare(
        "--no-session-persistence",
        dest="memory",
        action="store_const",
        const="read",
        help="as --memory read: no transcript, no note",
    )
    add("--memory", choices=SWITCHES, metavar="SWITCH", help="on, read (recall, but save nothing) or off")
    rare("--no-memory", dest="memory", action="store_const", const="off", help="as --memory off")
    rare("--memory-wait", type=_amount, metavar="SECONDS", help="wait for the note before leaving (60 where CI is set)")
    rare(
        "--allow-global-memory",
        dest="global_memory",
        action="store_true",
        help="headless, too, keep facts about the user",
    )
    rare("--bare", action="store_true", help="no AGENTS.md, no MEMORY.md, no memory")
    rare("--quiet", action="store_true", help="on stderr nothing but errors")
    rare("--verbose", action="store_true", help="on stderr also what tools gave and what requests used")
    rare("--inline", action="store_true", help="the app below the shell's prompt; what is over goes to the scrollback")
    rare("--screen-reader", action="store_true", help="plain lines, one after the other, and questions in words")
    add("-C", "--cd", dest="folder", default="", metavar="DIR", help="work there")
    add("-v", "--version", action="store_true", help="print the version")
    return made


def listed(text: str) -> list[str]:
    """Take a list of rules apart at commas and blanks, but for those inside of brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")" and depth > 0)
        if depth == 0 and (letter == "," or letter.isspace()):
            found.append("")
        else:
            found[-1] += letter
    return [rule for rule in found if rule]


def names_a_tool(rule: str) -> bool:
    """Tell whether a rule speaks of a tool that there is here, or that is known from other agents."""
    name = rule.partition("(")[0].casefold()
    return name in _TOOLS or name.startswith("mcp__")


def _tell_apart(given: Arguments) -> None:
    """Find the prompt where it follows a list of tools, which takes every word up to the next flag."""
    for words in (given.allowed, given.disallowed):
        if given.prompt is None and len(words) > 1 and not all(map(names_a_tool, listed(words[-1]))):
            given.prompt = words.pop()
        words[:] = [rule for word in words for rule in listed(word)]


def _mode(text: str) -> Mode:
    if text not in MODES:
        raise argparse.ArgumentTypeError(f"there is no mode '{text}'; modes are plan, ask, edit, auto and yolo")
    return MODES[text]


def _beyond(left: Sequence[str], known: Sequence[str]) -> str:
    """Say what of a command line has no meaning, and what was probably meant."""
    flag = next((word.partition("=")[0] for word in left if word.startswith("-")), "")
    if not flag:
        return f"'{left[0]}' is one word too many; put the prompt into quotes"
    meant = _ELSEWHERE.get(flag) or nearest(flag, known)
    return f"there is no flag {flag}; {f'did you mean {meant}?' if meant else 'ogcode help flags lists all'}"


def _name(text: str) -> str:
    if text == _PICKED:
        return ""
    if not text.strip():
        raise argparse.ArgumentTypeError("it names nothing; ogcode sessions lists what there is")
    with contextlib.suppress(ValueError):
        return uuid.UUID(text.strip()).hex
    return text.strip()


def _new_id(text: str) -> str:
    with contextlib.suppress(ValueError):
        return uuid.UUID(text).hex
    raise argparse.ArgumentTypeError(f"'{text}' is no UUID, as in {uuid.uuid4()}")


def _count(text: str) -> int:
    with contextlib.suppress(ValueError):
        if (number := int(text)) > 0:
            return number
    raise argparse.ArgumentTypeError(f"'{text}' is not a positive whole number")


def _amount(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (number := float(text)) < 1e9:
            return number
    raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
