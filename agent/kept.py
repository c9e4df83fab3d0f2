"""A rule that a person allows for good: written into the settings, and nothing else of them touched."""

import json
import os
import re
import tomllib
from pathlib import Path

from ogcode.agent.config import ConfigBroken
from ogcode.agent.durable import Lock, make_folder, replace_file

_ALLOW = re.compile(r"^[ \t]*allow[ \t]*=[ \t]*\[", re.MULTILINE)


def keep_rule(home: Path, rule: str) -> None:
    """Add a rule to what the user's settings allow; a rule that is there stays as it is.

    Raises:
        ConfigBroken: the settings are not such that a rule can be added; nothing was changed.
        OSError: they can't be written.
    """
    make_folder(home)
    path = Path(os.path.realpath(home / "config.toml"))
    lock = Lock.take(home / "config.lock")
    if lock is None:
        raise ConfigBroken(f"{path} is being changed by another ogcode; try again")
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        if (added := with_rule(text, rule)) is None:
            raise ConfigBroken(f"{path}: can't add the rule '{rule}' there; add it to 'allow' yourself")
        if added != text:
            replace_file(path, added.encode())
    finally:
        lock.release()


def with_rule(text: str, rule: str) -> str | None:
    """Give settings with one rule more, all else letter for letter the same; None where that can't be done."""
    before = _parsed(text)
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
    return added if _parsed(added) == {**(before or {}), "allow": [rule, *allowed]} else None


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
