"""The command line: its flags, and the page of help."""

import argparse
import contextlib

from ogcode.agent.memory.switch import SWITCHES, MemorySwitch
from ogcode.agent.permissions import Mode

USAGE = """ogcode [PROMPT]            the app, in this repository
       ogcode -p [PROMPT]         headless: the answer on stdout, everything else on stderr
       ogcode recall QUESTION     ask what was done and why
       ogcode memory list|show|search|edit|forget|undo|status|wait|rescribe|stats|doctor|path
       ogcode init                whether notes are committed with the repository
       ogcode sessions | models | demo"""

EXAMPLES = """examples:
  ogcode                                     work here, interactively
  ogcode -p "fix the failing test" --mode edit --allow 'Bash(pytest*)'
  git diff | ogcode -p "review this" --output-format json
  ogcode -p -c "and now the docs"            go on with the last session
  ogcode recall "why did we drop the cache?"

exit codes:
  0 done   1 error   2 usage   3 time limit   42 bad input   53 step limit or loop
  54 token, cost or window limit   55 a needed permission was denied
  75 the provider failed, try again   130 interrupted   143 terminated"""

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


class Arguments(argparse.Namespace):
    prompt: str | None
    print: bool
    output_format: str
    model: str
    go_on: bool
    resume: str | None
    fork: bool
    mode: Mode | None
    allow: list[str]
    deny: list[str]
    trust: bool
    max_turns: int | None
    max_tokens: int | None
    max_cost: float | None
    time_limit: float | None
    memory: MemorySwitch | None
    memory_wait: float | None
    folder: str


def parse(arguments: list[str]) -> Arguments:
    """Read the flags. Exits with 2 and a line on stderr where they make no sense."""
    parser = argparse.ArgumentParser(
        prog="ogcode",
        usage=USAGE,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", nargs="?", metavar="PROMPT", help="the first message; '-' reads stdin")
    add("-p", "--print", action="store_true", help="headless; stdin is appended, or is the prompt")
    add(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        metavar="FORMAT",
        help="text, json or stream-json",
    )
    add("-m", "--model", default="", metavar="NAME", help="ollama/NAME, openai/NAME, anthropic/NAME, …")
    add("-c", "--continue", dest="go_on", action="store_true", help="go on with the last session of this folder")
    add("-r", "--resume", type=_name, metavar="ID", help="go on with a session")
    add("--fork-session", dest="fork", action="store_true", help="leave the old session as it is")
    add(
        "--mode",
        "--permission-mode",
        dest="mode",
        type=_mode,
        metavar="MODE",
        help="plan, ask, edit, auto or yolo",
    )
    add("-y", "--yolo", dest="mode", action="store_const", const="yolo", help="as --mode yolo: nothing is asked")
    add("--allow", action="append", default=[], metavar="RULE", help="Tool(glob), as in 'Bash(npm test*)'")
    add("--deny", action="append", default=[], metavar="RULE", help="Tool(glob); goes before every --allow")
    add("--trust", action="store_true", help="trust this folder from now on")
    add("--max-turns", type=_count, metavar="N", help="model requests at most")
    add("--max-tokens", type=_count, metavar="N", help="tokens at most, sent and received")
    add("--max-cost", "--max-budget-usd", dest="max_cost", type=_amount, metavar="USD", help="cost at most")
    add("--time-limit", type=_amount, metavar="SECONDS", help="wall clock at most")
    add("--memory", choices=SWITCHES, metavar="SWITCH", help="on, read (recall, but save nothing) or off")
    add("--no-memory", dest="memory", action="store_const", const="off", help="as --memory off")
    add("--memory-wait", type=_amount, metavar="SECONDS", help="wait for the note before leaving (60 where CI is set)")
    add("-C", "--cd", dest="folder", default="", metavar="DIR", help="work there")
    add("-v", "--version", action="store_true", help="print the version")
    return parser.parse_args(arguments, Arguments())


def _mode(text: str) -> Mode:
    if text not in MODES:
        raise argparse.ArgumentTypeError(f"there is no mode '{text}'; modes are plan, ask, edit, auto and yolo")
    return MODES[text]


def _name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it names nothing; ogcode sessions lists what there is")
    return text.strip()


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
