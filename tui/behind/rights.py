"""What is allowed here and why, what a person may add or take away, and what they have not accepted yet."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ogcode.agent.rights.claude import ClaudeSettingsBroken, claude_rules
from ogcode.agent.rights.permissions import Mode, Rules, lasting
from ogcode.agent.rights.trust import CLAUDE_SETTINGS
from ogcode.agent.settings.config import ConfigBroken, load_config
from ogcode.agent.settings.kept import drop_rule
from ogcode.agent.turn import ToolCall
from ogcode.tui.desks.rights import Asking, RuleLine, Unbelieved
from ogcode.tui.place import mode_here

if TYPE_CHECKING:
    from ogcode.tui.opened import Opened

_MODES: Mapping[Mode, str] = {
    "plan": "mode plan: it looks around and plans; nothing is changed or run",
    "ask": "mode ask: each change of a file and each command is asked for, but for what only reads",
    "edit": "mode edit: files are changed without asking; commands are asked for, but for what only reads",
    "auto": "mode auto: files are changed, and commands run where the sandbox holds them, without asking",
    "yolo": "mode yolo: nothing is asked for",
}


class Rights:
    """Implements `RightsDesk`."""

    def __init__(
        self,
        opened: "Callable[[], Opened]",
        mode: Callable[[], Mode],
        rules: Callable[[], Rules],
        without: Callable[[str], None],
        preview: Callable[[ToolCall], str],
    ) -> None:
        self._opened = opened
        self._mode = mode
        self._rules = rules
        self._without = without
        self._preview = preview

    def asking(self, call: ToolCall, why: str) -> Asking:
        rule = lasting(call, why, trusted=self._opened().here.trusted)
        return Asking(why, self._preview(call), rule, self._boundary() if call.name == "bash" else "")

    def rules(self) -> Sequence[RuleLine]:
        sources = list(self._sources())
        own = next((rules.allow for origin, rules in sources if origin == _SETTINGS), ())
        lines = list[RuleLine]()
        held = self._rules()
        for rule in held.deny:
            lines.append(RuleLine("deny", rule, _origin(sources, rule, lambda rules: rules.deny), kept=False))
        for rule in held.ask:
            lines.append(RuleLine("ask", rule, _origin(sources, rule, lambda rules: rules.ask), kept=False))
        for rule in held.allow:
            origin = _origin(sources, rule, lambda rules: rules.allow)
            lines.append(RuleLine("allow", rule, origin, kept=rule in own))
        return lines

    def explained(self) -> Sequence[str]:
        here, mode = self._opened().here, mode_here(self._opened().here, self._mode())
        told = [_MODES[mode], self._boundary()]
        if here.root.wide:
            told.append("this is a home folder or /, so every change is asked for whatever the mode")
        if not here.trusted:
            told.append(
                "this folder is not trusted, so every change and every command is asked for; no rule allows any"
            )
        return told

    def remove(self, rule: str) -> str:
        home = self._opened().here.home
        try:
            found = drop_rule(home, rule)
        except (ConfigBroken, OSError) as error:
            return f"the rule is still there: {error}"
        if not found:
            return f"'{rule}' is not among what your settings allow"
        self._without(rule)
        return f"'{rule}' is removed from {home / 'config.toml'}: it is asked for again from the next turn on"

    def unbelieved(self) -> Sequence[Unbelieved]:
        try:
            changed = self._opened().knowledge.facts.unbelieved()
        except OSError:
            return ()
        return [Unbelieved(file, difference) for file, difference in changed]

    def believe(self, seen: Unbelieved) -> str:
        try:
            self._opened().knowledge.facts.believe(seen.file)
        except OSError as error:
            return f"{seen.file.name} is not believed yet: what was accepted can't be written ({error.strerror})"
        return f"{seen.file.name} is believed as it was shown, from the next turn on"

    def _boundary(self) -> str:
        boundary = self._opened().boundary
        if boundary.level == "off":
            return f"no sandbox ({boundary.sandbox.why}): commands run with all your rights"
        reach = {"ro": "nothing here can be changed", "ws": "only this folder can be changed, no network"}
        return f"sandbox {boundary.level} ({boundary.sandbox.tier}): " + reach.get(
            boundary.level, "only this folder can be changed, the network is open"
        )

    def _sources(self) -> Iterator[tuple[str, Rules]]:
        """Give what each file sets, as it is now; what can't be read sets nothing that could be named."""
        here = self._opened().here
        project = here.root.top if here.trusted and not here.root.wide else None
        person = Path(here.environ.get("HOME") or "~").expanduser()
        try:
            own, _ = load_config(here.home, None)
            yield _SETTINGS, own.rules
            if project:
                yield ".ogcode/config.toml", load_config(here.home, project / ".ogcode")[0].rules
            for name in CLAUDE_SETTINGS:
                yield f"~/{name}", claude_rules(person, [name], allow=True, home=person)
                if project:
                    yield name, claude_rules(project, [name], allow=False, home=person)
        except (ConfigBroken, ClaudeSettingsBroken):
            return


_SETTINGS = "your settings"


def _origin(sources: Sequence[tuple[str, Rules]], rule: str, of: Callable[[Rules], Sequence[str]]) -> str:
    return next((origin for origin, rules in sources if rule in of(rules)), "this session or its command line")
