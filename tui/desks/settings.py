"""What the app needs of the user's settings: what holds, whose word it is, and a way to change it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ogcode.agent.settings.config import Notify, Theme
    from ogcode.tui.behind.keys import Keys


@dataclass(frozen=True, slots=True)
class SettingLine:
    key: str
    value: str
    origin: str
    """A file, `default`, or `this session`."""


class SettingsDesk(Protocol):
    @property
    def theme(self) -> "Theme": ...

    @property
    def notify(self) -> "Notify": ...

    @property
    def keys(self) -> "Keys": ...

    def listed(self) -> Sequence[SettingLine]:
        """Tell what holds and where it comes from.

        Raises:
            NotDone: a file of settings can't be read any more.
        """

    def change(self, key: str, value: str) -> str:
        """Set one of the user's settings for good, and say so.

        Raises:
            NotDone: it stays as it is.
        """

    @property
    def has_own_line(self) -> bool:
        """A command of the user's writes the status line."""

    async def own_line(self) -> None:
        """Have it written anew; the status shows it from then on.

        Raises:
            NotDone: there is none.
        """
