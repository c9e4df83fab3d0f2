"""From the command line to the place that it is meant for, and to what it allows there."""

import os
from collections.abc import Collection
from pathlib import Path

from ogcode.agent.memory.switch import MemorySwitch
from ogcode.agent.prompt import Wishes
from ogcode.agent.rights.claude import translated
from ogcode.agent.rights.permissions import Rules
from ogcode.tui.arguments import Arguments, listed
from ogcode.tui.headless.asked import BadInput, text_of
from ogcode.tui.place import Here, Tailored, look_around, rules_of, utc_now

_ALIASES = {"multiedit": "edit"}


def arrive(given: Arguments, folder: Path, *, trust: bool, also: str = "") -> Here:
    """Take in the folder as the command line wants it; the model is told `also` this.

    Raises:
        BadInput: a file or folder that it names can't be used.
        ConfigBroken, TrustBroken: a file of the user's can't be used.
    """
    environ = dict(os.environ)
    wishes = Wishes(
        given.system_prompt or text_of(given.system_prompt_file, folder),
        "\n\n".join(filter(None, (given.more_prompt or text_of(given.more_prompt_file, folder), also))),
        given.bare,
    )
    named = [name.casefold() for name in listed(given.tools or "")]
    all_of_them = given.tools is None or named == ["default"]
    only = None if all_of_them else frozenset(_ALIASES.get(name, name) for name in named)
    without = tuple(rule for rule in given.disallowed if "(" not in rule or rule.endswith("(*)"))
    tailored = Tailored(_beside(given, folder, environ.get("HOME", "")), wishes, only, without, given.global_memory)
    return look_around(
        folder, environ, utc_now, trust=trust, effort=given.effort, sandbox=given.sandbox, tailored=tailored
    )


def rules_given(given: Arguments, here: Here) -> Rules:
    """Put the rules of the command line behind those of the settings.

    Raises:
        ConfigBroken: one is no rule.
    """
    home = Path(here.environ.get("HOME") or "~").expanduser()
    allowed, denied = ([translated(rule, home) or rule for rule in each] for each in (given.allowed, given.disallowed))
    return rules_of(here, [*given.allow, *allowed], [*given.deny, *denied])


def without_tool(given: Arguments, tools: Collection[str]) -> list[str]:
    """Name what the lists of the command line speak of, and what there is no tool for."""
    rules = (*given.allowed, *given.disallowed, *listed(given.tools or ""))
    named = {name: name.casefold() for rule in rules if (name := rule.partition("(")[0]) != "default"}
    return [name for name, ours in named.items() if _ALIASES.get(ours, ours) not in tools]


def memory_given(given: Arguments, here: Here) -> MemorySwitch:
    return "off" if given.bare else given.memory or here.config.memory


def _beside(given: Arguments, folder: Path, home: str) -> tuple[Path, ...]:
    """Find the folders that are part of the workspace as well."""
    found = list[Path]()
    for name in given.beside:
        real = Path(os.path.realpath(folder / Path(name).expanduser()))
        if not real.is_dir():
            raise BadInput(f"--add-dir {name}: there is no such folder")
        if real == Path("/") or (home and Path(os.path.realpath(home)).is_relative_to(real)):
            raise BadInput(f"--add-dir {name}: that holds all that is yours; name the folder that is needed")
        if {".git", ".ogcode"} & {part.casefold() for part in real.parts}:
            raise BadInput(f"--add-dir {name}: git's and ogcode's own folders are not open to tools")
        found.append(real)
    return tuple(dict.fromkeys(found))
