"""The words of a command told apart, flags from values from operands, as its program does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ogcode.agent.commands.known import GIT, PROGRAMS

Operands = Literal["paths", "text", "pattern", "one", "none"]
"""What follows the flags: paths, plain text, a pattern and then paths, one path at most, nothing."""


@dataclass(frozen=True, slots=True)
class Program:
    operands: Operands
    flags: Mapping[str, str]
    """Each with what it takes: nothing, `:` text, `@` a path, `?` text that is part of the same word or absent."""


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call, told apart."""

    paths: tuple[str, ...]
    flags: frozenset[str]
    operands: tuple[str, ...]


def told_apart(program: Program, arguments: Sequence[str]) -> Given | None:
    """Tell flags, values and operands apart as the program does; None where one of them is not known."""
    seen, paths, operands = set[str](), list[str](), list[str]()
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            operands += rest
        elif word == "-" or not word.startswith("-"):
            operands.append(word)
        elif word[1:].isdigit() and "-#" in program.flags:
            continue
        else:
            for flag, kind, value in _flags(program, word):
                taken = next(rest, None) if kind in (":", "@") and value is None else value
                if kind == "unknown" or (kind in (":", "@") and taken is None) or (kind == "" and value is not None):
                    return None
                seen.add(flag)
                if kind == "@":
                    paths.append(taken or "")
    given = _operands(program.operands, operands, seen)
    return None if given is None else Given((*paths, *given), frozenset(seen), tuple(operands))


def _flags(program: Program, word: str) -> Iterator[tuple[str, str, str | None]]:
    """Give each flag of a word with its kind and the value that is part of the word."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        yield flag, program.flags.get(flag, "unknown"), value if equals else None
        return
    for at, letter in enumerate(word[1:], 2):
        kind = program.flags.get(f"-{letter}", "unknown")
        if kind != "" and kind != "unknown":
            yield f"-{letter}", kind, word[at:] or None
            return
        yield f"-{letter}", kind, None


def _operands(kind: Operands, operands: list[str], seen: set[str]) -> list[str] | None:
    match kind:
        case "paths":
            return operands
        case "text":
            return []
        case "none":
            return None if operands else []
        case "one":
            return operands if len(operands) < 2 else None
        case "pattern":
            told = seen & {"-e", "-f", "--regexp", "--file", "--files", "--type-list"}
            return operands if told else operands[1:]


@cache
def programs() -> Mapping[str, Program]:
    """Give the programs that only read, `docker ps` and its like as `docker-ps`."""
    table = _table(PROGRAMS)
    same = {"egrep": "grep", "fgrep": "grep", "fdfind": "fd", "pip3-list": "pip-list", "pip3-show": "pip-show"}
    return table | {name: table[other] for name, other in same.items()} | {"npm-list": table["npm-ls"]}


@cache
def git_commands() -> Mapping[str, Program]:
    """Give the commands of git that only read."""
    return _table(GIT)


def _table(text: str) -> dict[str, Program]:
    lines = (line.split() for line in text.replace("\n ", " ").strip().splitlines())
    return {name: Program(_kind(kind), _letters(flags)) for name, kind, *flags in lines}


def _kind(word: str) -> Operands:
    kinds: tuple[Operands, ...] = ("paths", "text", "pattern", "one", "none")
    return next(kind for kind in kinds if kind == word)


def _letters(words: Sequence[str]) -> dict[str, str]:
    flags = dict[str, str]()
    for word in words:
        if word == "-#":
            flags[word] = ""
        elif word.startswith("--"):
            name, kind = (word[:-1], word[-1]) if word[-1] in "=@?" else (word, "")
            flags[name] = ":" if kind == "=" else kind
        else:
            letters = word.removeprefix("-")
            for at, letter in enumerate(letters):
                following = letters[at + 1 : at + 2]
                if letter not in ":@?":
                    flags[f"-{letter}"] = following if following and following in ":@?" else ""
    return flags
