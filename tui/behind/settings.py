"""The user's settings as the app shows and changes them, and the line at the bottom that is the user's own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ogcode.agent.settings.config import PROJECT, Config, ConfigBroken, Notify, Theme, settings_in
from ogcode.agent.version import VERSION
from ogcode.tui.behind.keys import Keys, load_keys
from ogcode.tui.behind.tally import Tally
from ogcode.tui.desks.desk import NotDone
from ogcode.tui.desks.settings import SettingLine
from ogcode.tui.place import Here

if TYPE_CHECKING:
    from ogcode.tui.desks.desk import Status
    from ogcode.tui.opened import Opened

_AT_ONCE = ("theme", "notify", "vim", "status_line.command")


class Settings:
    """Implements `SettingsDesk`."""

    def __init__(
        self, here: Here, opened: "Callable[[], Opened]", status: "Callable[[], Status]", tally: Tally
    ) -> None:
        self._here = here
        self._opened = opened
        self._status = status
        self._tally = tally
        self._config = here.config
        self._began = here.now()
        self.line = ""
        """What the user's own command said last."""

    @property
    def theme(self) -> Theme:
        return self._config.theme

    @property
    def notify(self) -> Notify:
        return self._config.notify

    @cached_property
    def keys(self) -> Keys:
        return load_keys(self._here.home / "keys.toml")

    def listed(self) -> Sequence[SettingLine]:
        here, status = self._here, self._status()
        place = here.root.top / ".ogcode" / "config.toml"
        try:
            user = _simple(settings_in(here.home / "config.toml"))
            ours = _simple(settings_in(place)) if here.trusted and not here.root.wide else {}
        except ConfigBroken as error:
            raise NotDone(str(error)) from error
        usual, held = _values(Config()), _values(self._config)
        held |= {"model": status.model, "mode": status.mode, "memory": status.memory}
        held["sandbox"] = self._opened().boundary.level
        lines = list[SettingLine]()
        for key, value in held.items():
            if user.get(key) == value:
                origin = str(here.home / "config.toml")
            elif ours.get(key) == value and key.partition(".")[0] in PROJECT:
                origin = str(place)
            else:
                origin = "default" if value == usual[key] or (key == "sandbox" and key not in user) else "this session"
            lines.append(SettingLine(key, value, origin))
        return lines

    def change(self, key: str, value: str) -> str:
        from ogcode.agent.settings.set_value import set_value  # only where one is changed

        path = self._here.home / "config.toml"
        try:
            config = set_value(self._here.home, key, value)
        except ConfigBroken as error:
            raise NotDone(str(error)) from error
        except OSError as error:
            raise NotDone(f"{path} can't be written: {error.strerror}") from error
        self._config = replace(
            self._config, theme=config.theme, notify=config.notify, vim=config.vim, status_line=config.status_line
        )
        self.line = self.line if config.status_line else ""
        holds = "" if key in _AT_ONCE else " and holds from the next start on"
        return f"{key} = {value} is in {path}{holds}"

    @property
    def has_own_line(self) -> bool:
        return bool(self._config.status_line) and self._here.trusted

    async def own_line(self) -> None:
        from ogcode.tui.behind.own_line import own_line  # only where there is one

        try:
            told, here = self._told(), self._here
            self.line = await own_line(self._config.status_line, told, environ=here.environ, folder=here.folder)
        except NotDone:
            self.line = ""
            raise

    def _told(self) -> Mapping[str, object]:
        """Tell of the session in the words in which scripts for Claude Code expect it, and in ours."""
        here, opened, status = self._here, self._opened(), self._status()
        session, folder = opened.session, str(here.folder)
        full = 100 * status.used_tokens / status.window if status.window else 0.0
        lasted = (here.now() - self._began).total_seconds() * 1000
        return {
            "hook_event_name": "Status",
            "session_id": session.id,
            "transcript_path": str(opened.transcript.path) if opened.transcript else "",
            "cwd": folder,
            "model": {"id": status.model, "display_name": status.model.rpartition("/")[2]},
            "workspace": {"current_dir": folder, "project_dir": str(here.root.top)},
            "version": VERSION,
            "output_style": {"name": "default"},
            "cost": {
                "total_cost_usd": status.cost or 0.0,
                "total_duration_ms": round(lasted),
                "total_lines_added": self._tally.added,
                "total_lines_removed": self._tally.removed,
            },
            "context_window": {
                "total_input_tokens": session.usage.input_tokens,
                "total_output_tokens": session.usage.output_tokens,
                "context_window_size": status.window,
                "used_percentage": round(full, 1),
                "remaining_percentage": round(100 - full, 1),
            },
            "exceeds_200k_tokens": status.used_tokens > 200_000,
            "ogcode": {
                "mode": status.mode,
                "sandbox": status.sandbox,
                "turn_tokens": status.turn_tokens,
                "replay_tokens": status.replay_tokens,
                "cost_known": status.cost is not None,
                "branch": status.branch,
                "memory": status.memory,
                "notes": status.notes,
                "notes_pending": status.pending,
            },
        }


def _simple(given: Mapping[str, object]) -> dict[str, str]:
    """Write the settings of a file as they are told, those in tables under both names."""
    found = dict[str, str]()
    for key, value in given.items():
        inner = {f"{key}.{name}": each for name, each in value.items()} if isinstance(value, dict) else {key: value}
        found |= {name: _written(each) for name, each in inner.items()}
    if "memory.switch" in found:
        found["memory"] = found["memory.switch"]
    return found


def _values(config: Config) -> dict[str, str]:
    return {
        "model": config.model,
        "mode": config.mode,
        "effort": config.effort or "",
        "sandbox": config.sandbox or "",
        "memory": config.memory,
        "memory.recall": config.recall,
        "theme": config.theme,
        "notify": config.notify,
        "vim": _written(config.vim),
        "screen_reader": _written(config.screen_reader),
        "status_line.command": config.status_line,
        "scribe.model": config.scribe_model,
        "librarian.model": config.librarian_model,
        "num_ctx": str(config.num_ctx or ""),
        "api_base": config.api_base,
    }


def _written(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
