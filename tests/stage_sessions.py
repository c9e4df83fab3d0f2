"""The sessions and the settings of a desk that plays scripted turns."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ogcode.agent.settings.config import NOTIFY, THEMES, Notify, Theme
from ogcode.tui.behind.keys import Keys
from ogcode.tui.desks.desk import NotDone
from ogcode.tui.desks.sessions import SessionLine
from ogcode.tui.desks.settings import SettingLine


def a_session(
    identity: str, first: str, *, last: str = "", name: str = "", branch: str = "main", day: int = 1
) -> SessionLine:
    when = datetime(2026, 9, day, 10, 14, tzinfo=UTC)
    return SessionLine(identity * 8, name, first, last or first, 3, when, branch, here=True)


@dataclass
class StagedSessions:
    """A `SessionsDesk` that goes on with what it was given."""

    lines: Sequence[SessionLine] = ()
    elsewhere: Sequence[SessionLine] = ()
    said: Sequence[tuple[str, str]] = (("fix it", "It is fixed."),)
    taken: Sequence[str] = ()
    notices: Sequence[str] = ()
    done: list[str] = field(default_factory=list)

    def listed(self, *, everywhere: bool = False) -> Sequence[SessionLine]:
        return (*self.lines, *self.elsewhere) if everywhere else self.lines

    def preview(self, session_id: str) -> Sequence[tuple[str, str]]:
        return self.said

    def resume(self, session_id: str) -> Sequence[str]:
        if session_id in self.taken:
            raise NotDone("this is the session that you are in")
        self.done.append(f"resume {session_id}")
        return self.notices

    def fork(self, name: str) -> str:
        self.done.append(f"fork {name}")
        return "you go on in a fork of it"

    def rename(self, name: str, session_id: str = "") -> str:
        self.done.append(f"rename {session_id} {name}" if session_id else f"rename {name}")
        return f"it is called {name} from now on"

    def delete(self, session_id: str) -> str:
        if session_id in self.taken:
            raise NotDone("it is in use; end it first")
        self.done.append(f"delete {session_id}")
        self.lines = [line for line in self.lines if line.session_id != session_id]
        return f"session {session_id[:8]} is in the trash"

    def export(self, kind: str, place: str) -> str:
        self.done.append(f"export {kind} {place}")
        return f"the session is in {place}"


@dataclass
class StagedSettings:
    """A `SettingsDesk` that keeps nothing."""

    theme: Theme = "auto"
    notify: Notify = "bell"
    keys: Keys = field(default_factory=Keys)
    lines: Sequence[SettingLine] = (SettingLine("theme", "auto", "default"),)
    changed: list[str] = field(default_factory=list)
    write: Callable[[], None] | None = None
    """Writes the status line."""
    asked: int = 0
    gate: Callable[[], Awaitable[object]] | None = None
    """What the command waits for."""

    def listed(self) -> Sequence[SettingLine]:
        return self.lines

    def change(self, key: str, value: str) -> str:
        if (key == "theme" and value not in THEMES) or (key == "notify" and value not in NOTIFY):
            raise NotDone(f"{key} can't be {value}")
        self.theme = next((each for each in THEMES if key == "theme" and each == value), self.theme)
        self.changed.append(f"{key} {value}")
        return f"{key} = {value} is written"

    @property
    def has_own_line(self) -> bool:
        return self.write is not None

    async def own_line(self) -> None:
        self.asked += 1
        if self.gate:
            await self.gate()
        if self.write is None:
            raise NotDone("there is none")
        self.write()
