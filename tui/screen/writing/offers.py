"""What can complete the word that is being typed: slash commands and `@` files."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ogcode.tui.message.mentions import written
from ogcode.tui.screen.actions.catalogue import COMMANDS, matching
from ogcode.tui.screen.actions.command import Command

if TYPE_CHECKING:
    from ogcode.tui.screen.app import Ogcode


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


def files(paths: Iterable[str]) -> list[Offer]:
    return [Offer(path, "", written(path)) for path in paths]
