"""`ogcode completion`: what shells offer when Tab is pressed, made from the command line's own parser."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ogcode.tui.arguments import FILES, FOLDERS, MODES, parser
from ogcode.tui.commands.memory import COMMANDS as MEMORY
from ogcode.tui.commands.schema import NAMES as SCHEMAS
from ogcode.tui.commands.terminal import answer
from ogcode.tui.commands.undo import COMMANDS as UNDO
from ogcode.tui.entry import COMMANDS

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


def flags() -> list[Flag]:
    """Tell the flags of the main command."""
    return [_flag(action) for action in parser(whole=True)._actions if action.option_strings]


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
    named = flags()
    cases = [(flag.names, _reply(flag.takes)) for flag in named if flag.takes]
    cases += [((name,), _reply(" ".join(words))) for name, words in WORDS.items()]
    return "\n".join(
        [
            "# ogcode completion bash > ~/.local/share/bash-completion/completions/ogcode",
            "_ogcode() {",
            "  local IFS=$'\\n' word=\"${COMP_WORDS[COMP_CWORD]}\"",
            '  case "${COMP_WORDS[COMP_CWORD-1]}" in',
            *(f"    {'|'.join(names)}) {reply}; return ;;" for names, reply in cases),
            "  esac",
            '  case "$COMP_CWORD $word" in',
            f"    *\\ -*) {_reply(' '.join(name for flag in named for name in flag.names))} ;;",
            f"    1\\ *) {_reply(' '.join(COMMANDS))} ;;",
            f"    *) {_reply('file')} ;;",
            "  esac",
            "}",
            "complete -o filenames -F _ogcode ogcode",
        ]
    )


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
    lines = []
    for flag in flags():
        told = flag.help.translate({ord(letter): f"\\{letter}" for letter in "[]:\\"}).replace("'", "'\\''")
        value = {"": "", "file": ":file:_files", "folder": ":folder:_files -/", "text": ":value: "}.get(flag.takes)
        value = f":value:({flag.takes})" if value is None else value
        lines += [f"    '*{name}[{told}]{value}'" for name in flag.names]
    follow = [f"    {name}) _values {name} {' '.join(words)}; return ;;" for name, words in WORDS.items()]
    return "\n".join(
        [
            "#compdef ogcode",
            "# ogcode completion zsh > a folder of $fpath, as _ogcode",
            "_ogcode() {",
            "  if (( CURRENT == 3 )); then",
            "    case $words[2] in",
            *("  " + line for line in follow),
            "    esac",
            "  fi",
            "  local -a flags=(",
            *lines,
            "  )",
            f"  _arguments -S $flags '1:command:({' '.join(COMMANDS)})' '*:file:_files'",
            "}",
            'if [ "$funcstack[1]" = "_ogcode" ]; then _ogcode "$@"; else compdef _ogcode ogcode; fi',
        ]
    )


def _fish() -> str:
    lines = ["# ogcode completion fish > ~/.config/fish/completions/ogcode.fish"]
    for flag in flags():
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
        value = {"": "", "file": " -r -F", "folder": " -x -a '(__fish_complete_directories)'", "text": " -x"}.get(
            flag.takes
        )
        value = f" -x -a '{flag.takes}'" if value is None else value
        told = flag.help.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c ogcode {names}{value} -d '{told}'")
    lines.append(f"complete -c ogcode -n __fish_use_subcommand -f -a '{' '.join(COMMANDS)}'")
    lines += [
        f"complete -c ogcode -n '__fish_seen_subcommand_from {name}' -f -a '{' '.join(words)}'"
        for name, words in WORDS.items()
    ]
    return "\n".join(lines)
