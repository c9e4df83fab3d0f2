"""What can complete the word that is being typed: slash commands and `@` files."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ogcode.tui.screen.actions.catalogue import COMMANDS, matching
from ogcode.tui.screen.actions.command import Command

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode

_FILE = re.compile(r'(?<![\w@/.\\])@(?:"([^"]*)|([^\s"]*))\Z')
_LONGEST = 400
"""Characters of a path that is being typed."""


@dataclass(frozen=True, slots=True)
class Offer:
    shown: str
    says: str
    """What stands beside it, dimmed."""
    text: str
    """What is put in the place of the word."""
    sent: bool = False
    """Enter sends it at once; else it goes on in the prompt."""


def commands(text: str) -> list[Offer]:
    """Offer the commands that a half-typed one may become: those that begin so, then those with these letters."""
    begun = matching(text)
    letters = [text] if len(text) < 3 or begun or not re.fullmatch(r"/[\w-]+", text) else list(text[1:])
    loose = re.compile(".*".join(map(re.escape, letters)))
    others = [] if len(letters) < 2 else [each for each in COMMANDS if loose.search(each.name)]
    return [*(_offer(each, sent=True) for each in begun), *(_offer(each, sent=False) for each in others)]


def _offer(command: "Command[Ogcode]", *, sent: bool) -> Offer:
    text = command.name if sent else f"{command.name} "
    return Offer(f"{command.name} {command.argument}", command.does, text, sent)


def half_typed_file(before: str) -> tuple[int, str] | None:
    """Find the `@` word that ends where the cursor is: where it begins, and its path so far."""
    found = _FILE.search(before, max(0, len(before) - _LONGEST))
    if not found:
        return None
    quoted, bare = found.groups()
    return found.start(), quoted if bare is None else bare


def files(paths: Iterable[str]) -> list[Offer]:
    return [Offer(path, "", written(path)) for path in paths]


def written(path: str) -> str:
    """Write a path as the user would: quoted where it holds a space; behind a folder one goes on."""
    folder = path.endswith("/")
    if not re.search(r'[\s"]', path):
        return f"@{path}" if folder else f"@{path} "
    return f'@"{path}' if folder else f'@"{path}" '


def same(offered: Sequence[Offer], word: str) -> bool:
    """Tell whether the first offer is what was typed already."""
    return bool(offered) and offered[0].shown == word
