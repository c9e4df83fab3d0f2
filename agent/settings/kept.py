"""A rule that a person allows for good, or no longer: the settings are changed, and nothing else of them touched."""

import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from ogcode.agent.files.durable import Lock, make_folder, replace_file
from ogcode.agent.settings.config import ConfigBroken

_ALLOW = re.compile(r"^[ \t]*allow[ \t]*=[ \t]*\[", re.MULTILINE)
_TOKEN = re.compile(
    r'(?P<string>"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\')|#[^\n]*|[\s,]+', re.DOTALL
)
"""What stands in a list of strings, up to its bracket."""


def keep_rule(home: Path, rule: str) -> None:
    """Add a rule to what the user's settings allow; a rule that is there stays as it is.

    Raises:
        ConfigBroken: the settings are not such that a rule can be added; nothing was changed.
        OSError: they can't be written.
    """
    change_settings(home, lambda text: with_rule(text, rule), f"add the rule '{rule}' there; add it to 'allow'")


def drop_rule(home: Path, rule: str) -> bool:
    """Take a rule out of what the user's settings allow; tell whether it was there.

    Raises:
        ConfigBroken: the settings are not such that it can be taken out; nothing was changed.
        OSError: they can't be written.
    """
    return change_settings(home, lambda text: without_rule(text, rule), f"take the rule '{rule}' out; do it in 'allow'")


def change_settings(home: Path, change: Callable[[str], str | None], what: str) -> bool:
    """Change the text of the user's settings; tell whether that made a difference.

    Raises:
        ConfigBroken: `change` can't; nothing was changed.
        OSError: they can't be written.
    """
    make_folder(home)
    path = Path(os.path.realpath(home / "config.toml"))
    lock = Lock.take(home / "config.lock")
    if lock is None:
        raise ConfigBroken(f"{path} is being changed by another ogcode; try again")
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        if (changed := change(text)) is None:
            raise ConfigBroken(f"{path}: can't {what} yourself")
        if changed != text:
            replace_file(path, changed.encode())
        return changed != text
    finally:
        lock.release()


def with_rule(text: str, rule: str) -> str | None:
    """Give settings with one rule more, all else letter for letter the same; None where that can't be done."""
    before = parsed(text)
    allowed = before.get("allow", []) if before is not None else None
    if not isinstance(allowed, list):
        return None
    if rule in allowed:
        return text
    quoted = json.dumps(rule, ensure_ascii=False).replace("\x7f", "\\u007f")
    found = _ALLOW.search(text)
    if found:
        comma = ", " if allowed else ""
        added = f"{text[: found.end()]}{quoted}{comma}{text[found.end() :]}"
    else:
        added = f"allow = [{quoted}]\n{text}"
    return added if parsed(added) == {**(before or {}), "allow": [rule, *allowed]} else None


def without_rule(text: str, rule: str) -> str | None:
    """Give settings without a rule, all else letter for letter the same; None where that can't be done."""
    before = parsed(text)
    allowed = before.get("allow", []) if before is not None else None
    if not isinstance(allowed, list):
        return None
    if rule not in allowed:
        return text
    left, found = text, _ALLOW.search(text)
    while found and (place := _place_of(left, found.end(), rule)):
        start, end = place
        if comma := re.compile(r"[ \t]*,[ \t]*").match(left, end):
            end = comma.end()
        elif comma := re.search(r",\s*\Z", left[:start]):
            start = comma.start()
        left = left[:start] + left[end:]
    return left if parsed(left) == {**(before or {}), "allow": [each for each in allowed if each != rule]} else None


def _place_of(text: str, start: int, rule: str) -> tuple[int, int] | None:
    """Find a rule in a list that begins there."""
    while token := _TOKEN.match(text, start):
        if token["string"] and (parsed(f"it = {token['string']}") or {}).get("it") == rule:
            return token.span()
        start = token.end()
    return None


def parsed(text: str) -> dict[str, object] | None:
    """Read TOML; None where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
