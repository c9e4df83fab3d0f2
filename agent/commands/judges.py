"""Programs whose arguments are a language of their own: which of it only reads."""

import re
from collections.abc import Callable, Mapping, Sequence

from ogcode.agent.commands.ground import Spot
from ogcode.agent.commands.programs import programs, told_apart

_ATOM = r"(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?(?:\[:\w+:\]|[^\]\\/\n\[])+\])"
_ADDRESS = rf"(?:\d+|\$|/{_ATOM}+/I?)"
_SUBSTITUTE = rf"s/{_ATOM}+/(?:[^/\\\n]|\\[^\n])*/[gpiI0-9]*"
_EDIT = rf"(?:{_ADDRESS}(?:,[ ]?[+~]?{_ADDRESS})?)?[ ]?!?(?:[pdqPDhHgGxnN=]|{_SUBSTITUTE})"
_SED = re.compile(rf"[ ]*{_EDIT}[ ]*(?:;[ ]*{_EDIT}[ ]*)*;?")
_FIELD = r"(?:\$(?:\d+|NF|\(NF-\d\))|NR|NF|FNR|FILENAME|length(?:\(\$\d+\))?|\"[^\"\\\n|]*\"|\d+)"
_TEST = rf"(?:{_FIELD}\s*(?:==|!=|>=|<=|>|<)\s*{_FIELD}|(?:{_FIELD}\s*!?~\s*)?/{_ATOM}+/)"
_AWK = re.compile(
    rf"\s*(?:{_TEST}(?:\s*(?:&&|\|\|)\s*{_TEST})*)?\s*(?:\{{\s*print(?:\s+{_FIELD}(?:\s*,?\s*{_FIELD})*)?\s*;?\s*\}})?\s*"
)
_FORMAT = re.compile(r"(?:[^%]|%%|%[-+ 0#]*\d*(?:\.\d+)?[diouxXeEfFgGcsbq])*", re.DOTALL)
_FIND = {
    **dict.fromkeys(
        "-not ! -a -and -o -or ( ) -print -print0 -prune -empty -ls -quit -true -false -readable -writable -executable "
        "-xdev -mount -depth -nouser -nogroup -daystart".split(),
        "",
    ),
    **dict.fromkeys(
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size -mtime "
        "-mmin -atime -amin -ctime -cmin -perm -user -group -regextype -links -inum -printf -newermt -uid -gid".split(),
        ":",
    ),
    **dict.fromkeys(("-newer", "-anewer", "-cnewer", "-samefile"), "@"),
}
_PS = {"", "a", "x", "ax", "aux", "auxf", "axjf", "-e", "-f", "-ef", "-eF", "-A", "-aux"}
FLAGS: Mapping[str, Mapping[str, str]] = {
    "awk": {"-F": ":"},
    "date": {},
    "echo": {"-n": "", "-e": ""},
    "find": _FIND,
    "printf": {},
    "sed": dict.fromkeys(("-n", "-E", "-r", "-s", "-u", "-z", "-e"), ""),
    "test": {},
}
"""Flags of theirs by which a rule means to read."""


def _cd(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    """Follow one plain step down: `..` means another folder to the shell than to the system where links are."""
    inside = len(arguments) == 1 and not arguments[0].startswith("-") and ".." not in arguments[0].split("/")
    return () if inside and arguments[0] and here.name(arguments[0]) is not None else None


def _command(arguments: Sequence[str], _: Spot) -> tuple[str, ...] | None:
    return () if len(arguments) > 1 and arguments[0] in ("-v", "-V") and arguments[1][:1] != "-" else None


def _echo(_: Sequence[str], __: Spot) -> tuple[str, ...] | None:
    return ()


def _printf(arguments: Sequence[str], _: Spot) -> tuple[str, ...] | None:
    return () if arguments and arguments[0][:1] != "-" and _FORMAT.fullmatch(arguments[0]) else None


def _date(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    """Show the time: an operand that is no format would set the clock."""
    rest, files = list(arguments), list[str]()
    while rest:
        match rest.pop(0), rest[:1]:
            case "-d", [_]:
                rest.pop(0)
            case "-r", [file]:
                files.append(file)
                rest.pop(0)
            case word, _ if not re.match(r"\+|-u$|-R$|-I|--utc$|--iso-8601|--rfc-3339=|--date=", word):
                return None
    return here.names(files)


def _test(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    """Look for one file; what compares numbers would run what stands in an index."""
    if len(arguments) != 2 or arguments[0] not in ("-f", "-d", "-e", "-s", "-r", "-w", "-x", "-L", "-h"):
        return None
    return None if here.name(arguments[1]) is None else ()


def _sed(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    scripts, paths, rest = list[str](), list[str](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-e", "--expression") and rest:
            scripts.append(rest.pop(0))
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif re.fullmatch(r"-[nErsuz]+|--quiet|--silent|--regexp-extended", word):
            continue
        elif word == "--" or (word.startswith("-") and word != "-"):
            return None
        else:
            paths.append(word)
    if not scripts and paths:
        scripts.append(paths.pop(0))
    return here.names(paths) if scripts and all(_SED.fullmatch(script) for script in scripts) else None


def _awk(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    rest = list(arguments)
    while rest and rest[0].startswith("-F"):
        if rest.pop(0) == "-F" and rest:
            rest.pop(0)
    if not rest or rest[0].startswith("-") or not rest[0].strip() or not _AWK.fullmatch(rest[0]):
        return None
    return None if any(word.startswith("-") and word != "-" for word in rest[1:]) else here.names(rest[1:])


def _find(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    rest, paths = list(arguments), list[str]()
    while rest and rest[0] in ("-H", "-P"):
        rest.pop(0)
    while rest and not rest[0].startswith("-") and rest[0] not in ("(", "!"):
        paths.append(rest.pop(0))
    while rest:
        kind = _FIND.get(rest.pop(0))
        if kind is None or (kind and not rest):
            return None
        value = rest.pop(0) if kind else ""
        paths += [value] if kind == "@" else []
    return None if here.names(paths) is None else ()


def _jq(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    given = told_apart(programs()["jq"], arguments)
    if given is None or re.search(r"\b(?:import|include)\b", " ".join(given.operands[:1])):
        return None
    return here.names(given.paths)


def _ps(arguments: Sequence[str], _: Spot) -> tuple[str, ...] | None:
    """List processes: `e` would show their environments."""
    return () if " ".join(arguments) in _PS else None


JUDGES: Mapping[str, Callable[[Sequence[str], Spot], "tuple[str, ...] | None"]] = {
    "awk": _awk,
    "cd": _cd,
    "command": _command,
    "date": _date,
    "echo": _echo,
    "find": _find,
    "jq": _jq,
    "printf": _printf,
    "ps": _ps,
    "sed": _sed,
    "test": _test,
}
