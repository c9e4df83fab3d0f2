"""Which shell texts only read, and what: known programs with known flags, on paths inside the workspace."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.commands.git import runs_no_program
from ogcode.agent.commands.ground import Ground, Spot
from ogcode.agent.commands.judges import FLAGS, JUDGES
from ogcode.agent.commands.known import NAMES_ONLY, SWAYED, TELLS_VERSION
from ogcode.agent.commands.programs import Given, git_commands, programs, told_apart
from ogcode.agent.commands.words import Command, commands

_MOST_FOLDERS = 4
_GIT_LISTS = {
    "branch": {"--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"},
    "tag": {"--list", "-l", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"},
}
"""Flags with which a name that follows is looked for, not made."""

NOWHERE = Ground(Path("/nowhere"), "")
"""A ground of which only the name is known: what leads out of it does so by its text."""


@dataclass(frozen=True, slots=True)
class Part:
    """One command of a text."""

    text: str
    reads: tuple[str, ...] | None
    """Paths, from the top, whose content it shows; None where it may do more than read."""
    fed: bool = False
    """A file is given to it by `<`, which its text does not show."""


def parts(text: str, ground: Ground | None) -> tuple[Part, ...] | None:
    """Tell the commands of a text apart; None where that can't be done. Without a ground none is known to only read.

    A git command counts as reading only where all others do: they may change what git would run.
    """
    found = commands(text)
    if found is None:
        return None
    if ground is None:
        return tuple(Part(command.text, None, bool(command.inputs)) for command in found)
    told, folders = list[tuple[str, ...] | None](), [ground.top]
    for command in found:
        told.append(_reads_anywhere(command, ground, folders))
        if command.words[0].text == "cd":
            folders = _after(command, ground, folders)
    changed = None in told
    return tuple(
        Part(command.text, None if changed and command.words[0].text == "git" else reads, bool(command.inputs))
        for command, reads in zip(found, told, strict=True)
    )


def only_reads(text: str, ground: Ground) -> bool:
    """Tell whether a text is known to only read."""
    found = parts(text, ground)
    return found is not None and all(part.reads is not None for part in found)


def means_to_read(start: str) -> bool:
    """Tell whether a rule that begins so, and goes on as one likes, names but a reading program and its flags."""
    name, *flags = start.split() or [""]
    known = programs()[name].flags if name in programs() else FLAGS.get(name)
    return known is not None and all(
        flag in known or (flag[:1] == "-" and flag[:2] != "--" and all(f"-{letter}" in known for letter in flag[1:]))
        for flag in flags
    )


def _reads_anywhere(command: Command, ground: Ground, folders: Sequence[Path]) -> tuple[str, ...] | None:
    """Judge a command in every folder that it may run in: whether a `cd` before it succeeds is not known."""
    if not folders or len(folders) > _MOST_FOLDERS:
        return None
    reads = list[str]()
    for folder in folders:
        try:
            paths = _reads(command, Spot(ground, folder))
        except (OSError, ValueError):  # a path that can't be one
            return None
        if paths is None:
            return None
        reads += paths
    return tuple(dict.fromkeys(reads))


def _after(command: Command, ground: Ground, folders: Sequence[Path]) -> list[Path]:
    went = [Path(os.path.realpath(folder / command.words[-1].text)) for folder in folders]
    return list(dict.fromkeys((*folders, *(each for each in went if ground.base(each)))))


def _reads(command: Command, here: Spot) -> tuple[str, ...] | None:
    name, *arguments = (text for word in command.words for text in here.expanded(word))
    inputs = here.names([text for word in command.inputs for text in here.expanded(word)])
    if inputs is None or not here.is_theirs(name):
        return None
    if name in TELLS_VERSION and arguments in (["--version"], ["-V"], ["-version"], ["-v"], ["version"]):
        asked = arguments != ["-v"] or name in ("node", "npm", "ruby", "php", "perl", "gcc", "java", "clang")
        asked &= arguments != ["version"] or name in ("go", "docker", "openssl")
        return () if asked and not here.has(*SWAYED.get(name, ())) else None
    judge = _git if name == "git" else JUDGES.get(name)
    paths = judge(arguments, here) if judge else _known(name, arguments, here)
    return None if paths is None else (*inputs, *paths)


def _known(name: str, arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    table = programs()
    if name not in table and arguments and f"{name}-{arguments[0]}" in table:
        name, *arguments = f"{name}-{arguments[0]}", *arguments[1:]
    given = told_apart(table[name], arguments) if name in table else None
    return _shown(name, given, here)


def _shown(name: str, given: Given | None, here: Spot) -> tuple[str, ...] | None:
    if given is None or (names := here.names(given.paths)) is None:
        return None
    if name == "diff" and any((here.folder / path).is_dir() for path in given.paths):
        return None  # it follows links in them
    if name not in NAMES_ONLY and any(map(here.holds_hidden, given.paths or (".",))):
        return None
    whole = name == "rg" or bool(given.flags & {"-r", "--recursive"} and name.endswith("grep"))
    return () if name in NAMES_ONLY else names or ((here.name(".") or ".",) if whole else ())


def _git(arguments: Sequence[str], here: Spot) -> tuple[str, ...] | None:
    rest = list(arguments)
    while rest and rest[0] in ("--no-pager", "-P", "--no-optional-locks", "-C"):
        if rest.pop(0) == "-C":
            if not rest or here.name(rest[0]) is None:
                return None
            here = Spot(here.ground, Path(os.path.realpath(here.folder / rest.pop(0))))
    if not rest or here.names([word for word in rest if not word.startswith("-")]) is None:
        return None
    table, (name, *words) = git_commands(), rest
    if f"{name}-{words[0] if words else ''}" in table:
        name = f"{name}-{words.pop(0)}"
    elif name == "config":
        name = "config-list" if {"--list", "-l"} & set(words) else "config-get"
        one = len([word for word in words if not word.startswith("-")]) == 1
        if name == "config-get" and not one and not {"--get", "--get-all", "--get-regexp"} & set(words):
            return None
    elif _GIT_LISTS.get(name, set()) & {word.partition("=")[0] for word in words}:
        name = f"{name}-list"
    given = told_apart(table[name], words) if name in table else None
    if given is None or here.names(given.paths) is None or not runs_no_program(here.folder, here.base):
        return None
    return (".",)
