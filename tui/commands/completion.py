"""`ogcode completion`: what shells offer when Tab is pressed, made from the command line's own parsers."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ogcode.tui.arguments import FILES, FOLDERS, MODES, parser
from ogcode.tui.commands.batch import batch_parser
from ogcode.tui.commands.memory import COMMANDS as MEMORY
from ogcode.tui.commands.memory import memory_parser
from ogcode.tui.commands.schema import NAMES as SCHEMAS
from ogcode.tui.commands.terminal import answer
from ogcode.tui.commands.undo import COMMANDS as UNDO
from ogcode.tui.entry import COMMANDS
from ogcode.tui.subcommands import command_parser

SHELLS = ("bash", "zsh", "fish")
WORDS: Mapping[str, Sequence[str]] = {
    "memory": MEMORY,
    "sessions": ("list", "show", "export", "delete"),
    "undo": UNDO,
    "completion": SHELLS,
    "schema": SCHEMAS,
    "help": ("flags",),
}
"""What may follow a command."""


@dataclass(frozen=True, slots=True)
class Flag:
    names: tuple[str, ...]
    help: str
    takes: str
    """`file`, `folder`, the values that there are, `text`, or empty for a flag that takes nothing."""


def flags(command: str = "") -> list[Flag]:
    """Tell the flags of a command, or of the main one; those of `memory` are those of all that it can do."""
    match command:
        case "":
            readers = [parser(whole=True)]
        case "help":
            readers = []
        case "batch":
            readers = [batch_parser()]
        case "memory":
            readers = [memory_parser(each) for each in MEMORY]
        case _:
            readers = [command_parser(command)]
    found = [_flag(action) for reader in readers for action in reader._actions if action.option_strings]
    return list({flag.names: flag for flag in found}.values())


def show_completion(shell: str) -> int:
    """Print the script for a shell."""
    match shell:
        case "bash":
            answer(_bash())
        case "zsh":
            answer(_zsh())
        case _:
            answer(_fish())
    return 0


def _flag(action: argparse.Action) -> Flag:
    names, text = tuple(action.option_strings), (action.help or "").replace("%%", "%")
    if action.nargs == 0:
        return Flag(names, text, "")
    if "--mode" in names or "--permission-mode" in names:
        return Flag(names, text, " ".join(MODES))
    if action.choices:
        return Flag(names, text, " ".join(map(str, action.choices)))
    return Flag(names, text, "file" if {*FILES} & {*names} else "folder" if {*FOLDERS} & {*names} else "text")


def _bash() -> str:
    return "\n".join(
        [
            "# ogcode completion bash > ~/.local/share/bash-completion/completions/ogcode",
            "_ogcode() {",
            '  local IFS=$\'\\n\' word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command=',
            '  ((COMP_CWORD > 1)) && command="${COMP_WORDS[1]}"',
            '  case "$command" in',
            *(line for command in COMMANDS for line in (f"    {command})", *_bash_flags(command), "      ;;")),
            "    *)",
            *_bash_flags(""),
            "      ;;",
            "  esac",
            "  if [[ -z $command ]]; then",
            f"    {_reply(' '.join(COMMANDS))}",
            "  else",
            f"    {_reply('file')}",
            "  fi",
            "}",
            "complete -o filenames -F _ogcode ogcode",
        ]
    )


def _bash_flags(command: str) -> list[str]:
    """Offer the values of flags and the flags themselves, and return; else go on."""
    named = flags(command)
    values = [("|".join(flag.names), _reply(flag.takes)) for flag in named if flag.takes]
    offered = " ".join(name for flag in named for name in flag.names)
    return [
        '      case "$before" in',
        *(f"        {names}) {reply}; return ;;" for names, reply in values),
        "      esac",
        *([f'      case "$word" in -*) {_reply(offered)}; return ;; esac'] if offered else []),
        *(
            [f"      if ((COMP_CWORD == 2)); then {_reply(' '.join(WORDS[command]))}; return; fi"]
            if command in WORDS
            else []
        ),
    ]


def _reply(takes: str) -> str:
    """Give what bash is to offer; it takes its words apart at the ends of lines."""
    match takes:
        case "text":
            return "COMPREPLY=()"
        case "file" | "folder":
            return f'COMPREPLY=($(compgen -{"f" if takes == "file" else "d"} -- "$word"))'
    words = takes.replace(" ", "\\n")
    return f"COMPREPLY=($(compgen -W $'{words}' -- \"$word\"))"


def _zsh() -> str:
    return "\n".join(
        [
            "#compdef ogcode",
            "# ogcode completion zsh > a folder of $fpath, as _ogcode",
            "_ogcode() {",
            "  local -a flags",
            "  if (( CURRENT > 2 )); then",
            "    case $words[2] in",
            *(line for command in COMMANDS for line in _zsh_command(command)),
            "    esac",
            "  fi",
            "  flags=(",
            *_zsh_flags(""),
            "  )",
            f"  _arguments -S $flags '1:command:({' '.join(COMMANDS)})' '*:file:_files'",
            "}",
            'if [ "$funcstack[1]" = "_ogcode" ]; then _ogcode "$@"; else compdef _ogcode ogcode; fi',
        ]
    )


def _zsh_command(command: str) -> list[str]:
    words = f" '1:command:({' '.join(WORDS[command])})'" if command in WORDS else ""
    return [
        f"      {command})",
        "        flags=(",
        *_zsh_flags(command),
        "        )",
        "        shift words; (( CURRENT-- ))",
        f"        _arguments -S $flags{words} '*:file:_files'; return ;;",
    ]


def _zsh_flags(command: str) -> list[str]:
    lines = []
    for flag in flags(command):
        told = flag.help.translate({ord(letter): f"\\{letter}" for letter in "[]:\\"}).replace("'", "'\\''")
        value = {"": "", "file": ":file:_files", "folder": ":folder:_files -/", "text": ":value: "}.get(flag.takes)
        value = f":value:({flag.takes})" if value is None else value
        lines += [f"    '*{name}[{told}]{value}'" for name in flag.names]
    return lines


def _fish() -> str:
    commands = " ".join(COMMANDS)
    return "\n".join(
        [
            "# ogcode completion fish > ~/.config/fish/completions/ogcode.fish",
            "function __ogcode_does",
            "  set -l words (commandline -opc)",
            "  test (count $words) -gt 1; and contains -- $words[2] $argv",
            "end",
            *_fish_flags("", f"not __ogcode_does {commands}"),
            f"complete -c ogcode -n __fish_use_subcommand -f -a '{commands}'",
            *(line for command in COMMANDS for line in _fish_command(command)),
        ]
    )


def _fish_command(command: str) -> list[str]:
    does = f"__ogcode_does {command}"
    words = [f"complete -c ogcode -n '{does}' -f -a '{' '.join(WORDS[command])}'"] if command in WORDS else []
    return [*words, *_fish_flags(command, does)]


def _fish_flags(command: str, holds: str) -> list[str]:
    lines = []
    for flag in flags(command):
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
        value = {"": "", "file": " -r -F", "folder": " -x -a '(__fish_complete_directories)'", "text": " -x"}.get(
            flag.takes
        )
        value = f" -x -a '{flag.takes}'" if value is None else value
        told = flag.help.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c ogcode -n '{holds}' {names}{value} -d '{told}'")
    return lines
