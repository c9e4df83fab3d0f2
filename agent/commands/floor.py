"""What a text may hide, piece by piece, and what nobody wants: a last net for accidents."""

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

_MOST_WRAPPERS = 30
SEPARATOR = re.compile(r"[;&|<>$(){}`\n\r]+")
_COMMAND_END = re.compile(r"[;&|\n\r`()]+")
_QUOTING = re.compile(r"[\"'\\]")
_WRAPPER = re.compile(
    r"(?:(?:sudo|doas|env|nohup|nice|ionice|time|timeout|stdbuf|setsid|command|builtin|exec|xargs|watch"
    r"|then|do|else|if|while|until|(?:ba|z|da|k)?sh)\b|[!{]|-\S+|\d+[smhd]?|\w+\+?=\S*)\s+"
)
_ROOTS = re.compile(
    r"(?:/|~|\.|\.\.|\$\{?HOME\}?|/(?:home|root|etc|usr|var))(?:/*|/+\*)|/+\*|\$\{?\w+\}?/+\*?|(?:\S*/)?\.(?:git|ogcode)(?:/*|/+\*)"
)
"""What is lost with `rm -rf`: also a variable with `/` behind it, which is the root where the variable is empty."""
_FORK_BOMB = re.compile(r"(?<![\w:.])([\w:.]{1,40})\s{0,9}\(\s{0,9}\)\s{0,9}\{[^}]{0,200}\1\s{0,9}\|\s{0,9}\1\s{0,9}&")
_DEVICE = re.compile(r"/dev/(?!null\b|zero\b|stdout\b|stderr\b|tty\b|fd/)\w+")


@lru_cache(maxsize=1)
def segments(command: str) -> tuple[str, ...]:
    """Give every piece that could be a command of its own: as written, unquoted, and without what stands before it."""
    pieces = dict.fromkeys((command, *_COMMAND_END.split(command), *SEPARATOR.split(command)))
    return tuple(dict.fromkeys(segment for piece in pieces for segment in _peeled(piece) if segment))


def _peeled(piece: str) -> Iterator[str]:
    yield " ".join(piece.split())
    bare = " ".join(_QUOTING.sub("", piece).split())
    for _ in range(_MOST_WRAPPERS):
        program, _, arguments = bare.partition(" ")
        bare = f"{posixpath.basename(program)} {arguments}".strip() if "=" not in program else bare
        yield bare
        found = _WRAPPER.match(bare)
        if not found:
            return
        bare = bare[found.end() :]


def forbidden(command: str) -> str:
    """Name what is denied in every mode but yolo: a last net for accidents, not a boundary."""
    if _FORK_BOMB.search(command):
        return "this is a fork bomb"
    for segment in segments(command):
        program, *words = segment.split()
        if program == "rm":
            flags = [word for word in words if word.startswith("-")]
            recursive = any(flag == "--recursive" or re.fullmatch(r"-\w*[rR]\w*", flag) for flag in flags)
            if recursive and any(_ROOTS.fullmatch(word) for word in words if not word.startswith("-")):
                return "this would remove a whole root, home, .git or .ogcode folder"
        if program.startswith("mkfs"):
            return "this would format a disk"
        if program == "dd" and any(word.startswith("of=") and _DEVICE.match(word[3:]) for word in words):
            return "this would write over a device"
    return ""
