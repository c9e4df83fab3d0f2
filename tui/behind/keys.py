"""Which key does what in the app, and the user's own choice in `~/.ogcode/keys.toml`."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ogcode.agent.nearest import nearest


@dataclass(frozen=True, slots=True)
class Action:
    key: str
    says: str


ACTIONS: Mapping[str, Action] = {
    "steer": Action("ctrl+s", "say it into the running turn, at its next step"),
    "history": Action("ctrl+r", "search earlier messages"),
    "editor": Action("ctrl+g", "write the message in $VISUAL or $EDITOR; also Ctrl+X Ctrl+E"),
    "picture": Action("ctrl+v", "paste a picture"),
    "mode": Action("shift+tab", "the next mode: ask, edit, plan, auto"),
    "unfold": Action("ctrl+o", "unfold or fold all tool calls; Tab goes to them, Enter unfolds one"),
    "steps": Action("ctrl+t", "the agent's list of steps"),
    "jobs": Action("ctrl+b", "the commands in the background"),
    "palette": Action("ctrl+p", "all commands, found as you type"),
    "redraw": Action("ctrl+l", "draw the screen again"),
    "suspend": Action("ctrl+z", "go to the shell; fg comes back"),
    "clear": Action("ctrl+c", "copy what is selected, else clear the prompt or stop the turn; twice leaves"),
    "leave": Action("ctrl+d", "leave, when the prompt is empty"),
}
"""What can be given another key, in the order in which it is told; the first four are of the prompt."""

OF_PROMPT = ("steer", "history", "editor", "picture")

_KEY = re.compile(
    r"(?:(?:ctrl|alt|shift|super|meta|hyper)\+)*(?:[a-z0-9]|f[1-9]|f1[0-9]|f2[0-4]|[a-z]{2,}(?:_[a-z]+)*)"
)
_NAMED = frozenset(
    "enter tab escape space backspace delete insert home end pageup pagedown up down left right slash backslash minus "
    "underscore plus equals_sign comma full_stop semicolon apostrophe question_mark at".split()
)
_SAME = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+j": "a new line", "ctrl+h": "Backspace"}
"""What terminals send for these is another key."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of each action, and what was wrong with the user's choice."""

    of: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {each: (ACTIONS[each].key,) for each in ACTIONS})
    faults: tuple[str, ...] = ()

    @property
    def chosen(self) -> dict[str, tuple[str, ...]]:
        """Those that the user has chosen."""
        return {name: keys for name, keys in self.of.items() if keys != (ACTIONS[name].key,)}

    def in_prompt(self) -> dict[str, str]:
        """Tell of each key in the prompt which one it stands for; empty is none."""
        moved = {name: keys for name, keys in self.chosen.items() if name in OF_PROMPT}
        gone = dict.fromkeys((ACTIONS[name].key for name in moved), "")
        return gone | {key: ACTIONS[name].key for name, keys in moved.items() for key in keys}


def load_keys(path: Path) -> Keys:
    """Read the user's keys; a line that makes no sense is told and changes nothing."""
    try:
        text = path.read_text("utf-8")
        given = tomllib.loads(text)
    except FileNotFoundError:
        return Keys()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return Keys(faults=(f"{path}: can't be read, so all keys are as usual: {error}",))
    keys, faults = {name: (each.key,) for name, each in ACTIONS.items()}, list[str]()
    chosen = dict[str, tuple[str, ...]]()
    for name, value in given.items():
        at = f"{path}:{_line_of(text, name)}"
        listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        if name not in ACTIONS:
            near = nearest(name, ACTIONS)
            hint = f"did you mean '{near}'?" if near else f"there are {', '.join(ACTIONS)}"
            faults.append(f"{at}: there is no action '{name}'; {hint}")
        elif not listed or not all(isinstance(key, str) for key in listed):
            faults.append(f'{at}: {name} needs a key, or a list of keys, as in {name} = "{ACTIONS[name].key}"')
        elif wrong := next(filter(None, (_wrong(key) for key in listed)), ""):
            faults.append(f"{at}: {wrong}; {name} stays at {ACTIONS[name].key}")
        else:
            chosen[name] = tuple(dict.fromkeys(key.strip().lower() for key in listed))
    while clash := _clash({**keys, **chosen}, chosen):
        name, said = clash
        faults.append(f"{path}:{_line_of(text, name)}: {said}; {name} stays at {ACTIONS[name].key}")
        del chosen[name]
    return Keys({**keys, **chosen}, tuple(faults))


def _clash(keys: Mapping[str, tuple[str, ...]], chosen: Mapping[str, tuple[str, ...]]) -> tuple[str, str] | None:
    """Find a choice whose key another action has, and say which."""
    taken = dict[str, str]()
    for name in sorted(keys, key=lambda name: name in chosen):
        if name in chosen and (key := next((key for key in keys[name] if key in taken), "")):
            return name, f"{key} is the key of {taken[key]}"
        taken |= dict.fromkeys(keys[name], name)
    return None


def _wrong(key: str) -> str:
    """Say why something is no key that an action can have; empty where it is one."""
    key = key.strip().lower()
    held, _, base = key.rpartition("+")
    if not _KEY.fullmatch(key) or not (len(base) == 1 or base in _NAMED or re.fullmatch(r"f\d+", base)):
        return f"'{key}' is no key, as ctrl+o, alt+p or f5 are"
    if key in _SAME:
        return f"{key} is {_SAME[key]} in most terminals"
    if held in ("", "shift") and not re.fullmatch(r"f\d+", base) and key != "shift+tab":
        return f"{key} is needed for writing"
    return ""


def _line_of(text: str, name: str) -> int:
    found = re.search(
        rf"^[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*[=.]|^[ \t]*\[[ \t]*{re.escape(name)}", text, re.MULTILINE
    )
    return text.count("\n", 0, found.start()) + 1 if found else 1
