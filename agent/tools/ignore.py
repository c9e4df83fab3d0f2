"""What git ignores: the lines of `.gitignore` files, read as git reads them, byte by byte."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ogcode.agent.files.root import worktree_folders

_MOST_BYTES = 1_000_000
_TOKEN = re.compile(
    rb"""(?sx) \\(?P<escaped>.) | (?P<bracket>\[[!^]?\]?(?:\[:\w*:\]|\\.|[^\]\\])*\]) | (?P<slash>/) | (?P<stars>\*+)
    | (?P<any>\?) | (?P<broken>[\\\[]) | (?P<plain>.)"""
)
_BEGUN = re.compile(rb"(?s)/?([^*?\[\\]*[^*?\[\\/])(\*\*+(?:/.*)?)")
"""Git compares what stands before the first wildcard by itself, so `**` behind it reaches as far as at a beginning."""

_ITEM = re.compile(rb"(?s)\[:(?P<kind>\w*):\]|\\(?P<escaped>.)|(?P<plain>.)")
_KINDS = {
    b"alpha": rb"[a-zA-Z]",
    b"digit": rb"[0-9]",
    b"alnum": rb"[a-zA-Z0-9]",
    b"upper": rb"[A-Z]",
    b"lower": rb"[a-z]",
    b"space": rb"[ \t-\r]",
    b"blank": rb"[ \t]",
    b"xdigit": rb"[0-9a-fA-F]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"cntrl": rb"[\0-\x1f\x7f]",
    b"graph": rb"[!-~]",
    b"print": rb"[ -~]",
}
_EXCLUDES = re.compile(r'(?im)^\s*excludesfile\s*=\s*"?([^"#;\n]+?)"?\s*(?:[#;].*)?$')
_CORE = re.compile(r"(?ims)^\s*\[core\]\s*$(.*?)(?=^\s*\[|\Z)")


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: re.Pattern[bytes]
    keeps: bool
    """It starts with `!`: what an earlier line left out is kept."""
    folders_only: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """The lines of one file, for what lies below a folder."""

    above: int
    """Bytes of the folder's name, from the top and with its slash."""
    rules: tuple[Rule, ...]
    some: re.Pattern[bytes]
    """Fits where any of them does, which tells fastest that none does."""

    @classmethod
    def read(cls, path: Path, folder: bytes = b"") -> "Rules | None":
        """Read a file; None where there is none, or nothing in it. Links are not followed, as git does not."""
        try:
            if path.is_symlink() or not path.is_file():
                return None
            with path.open("rb") as file:
                text = file.read(_MOST_BYTES).removeprefix(b"\xef\xbb\xbf")
        except OSError:
            return None
        rules = tuple(rule for line in text.split(b"\n") if (rule := _rule(line.removesuffix(b"\r"))))
        some = b"|".join(b"(?:%s)" % rule.pattern.pattern for rule in rules)
        return cls(len(folder), rules, re.compile(some, re.DOTALL)) if rules else None

    def ignores(self, path: bytes, *, is_folder: bool) -> bool | None:
        """Tell what the last line that fits says; None where no line does."""
        below = path[self.above :]
        if not self.some.fullmatch(below):
            return None
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(below):
                return not rule.keeps
        return None


def ignored(path: bytes, files: Sequence[Rules], *, is_folder: bool) -> bool:
    """Ask the files in order of precedence, the last first."""
    verdicts = (rules.ignores(path, is_folder=is_folder) for rules in reversed(files))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def ignore_files(top: Path, home: Path | None, settings: str = "") -> tuple[Path, ...]:
    """Name the files like `.gitignore` that git reads besides: the user's own, then the checkout's.

    `settings` is `XDG_CONFIG_HOME`. What the configuration of the repository names is not read: it can name anything.
    """
    found = list[Path]()
    if home is not None:
        folder = Path(settings) if settings.startswith("/") else home / ".config"
        named = [name for place in (folder / "git" / "config", home / ".gitconfig") for name in _named(place)]
        own = Path(named[-1].replace("~", str(home), 1) if named[-1].startswith("~/") else named[-1]) if named else None
        found.append(own if own is not None and own.is_absolute() else folder / "git" / "ignore")
    common = worktree_folders(top)
    found.append((common[1] if common else top / ".git") / "info" / "exclude")
    return tuple(path for path in found if path.is_file())


def _named(config: Path) -> Iterable[str]:
    try:
        text = config.read_text("utf-8", "replace") if config.is_file() else ""
    except OSError:
        return []
    return [name for part in _CORE.findall(text) for name in _EXCLUDES.findall(part)]


def _rule(line: bytes) -> Rule | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    keeps, line = line.startswith(b"!"), line.removeprefix(b"!")
    folders_only, line = line.endswith(b"/"), line.removesuffix(b"/")
    pattern = _pattern(line) if line else None
    return Rule(re.compile(pattern, re.DOTALL), keeps, folders_only) if pattern is not None else None


def _without_trailing_spaces(line: bytes) -> bytes:
    bare = line.rstrip(b" ")
    slashes = len(bare) - len(bare.rstrip(b"\\"))
    return bare + b" " if slashes % 2 and bare != line else bare


def _pattern(line: bytes) -> bytes | None:
    """Write a pattern as a regular expression that never tries in vain for long; None for one that fits nothing.

    What stands between two stars has a fixed length, so where it fits first is as good as any later place.
    """
    if b"/" in line and (begun := _BEGUN.fullmatch(line)):
        rest = _pattern(begun[2]) if b"/" in begun[2] else b".*"
        return None if rest is None else re.escape(begun[1]) + b"/?" + rest
    parts = _parts(line)
    if parts is None:
        return None
    if len(parts) == 1 and b"/" not in line:
        return b"(?:[^/]*+/)*+" + (b"[^/]*" if parts[0] == b"**" else parts[0])
    groups = [list[bytes]()]
    for part in parts[1:] if line.startswith(b"/") else parts:
        if part == b"**":
            groups += [[]] if groups[-1] or len(groups) == 1 else []
        else:
            groups[-1].append(part)
    first, *more = (b"/".join(group) for group in groups)
    if not more:
        return first
    *inner, last = more
    written = (first + b"/" if first else b"") + b"".join(b"(?>(?:[^/]++/)*?%s/)" % part for part in inner)
    return written + (b"(?:[^/]++/)*%s" % last if last else b".+")


def _parts(line: bytes) -> list[bytes] | None:
    """Write each name of a pattern as a regular expression; `**` stays as it is."""
    parts, at = list[bytes](), 0
    pieces: list[bytes] = [b""]
    """Of one name, what stands between its stars."""
    only_stars = True
    for token in _TOKEN.finditer(line):
        at = token.end()
        match token.lastgroup, token[0]:
            case "slash", _:
                parts.append(_name(pieces, doubled=only_stars))
                pieces, only_stars = [b""], True
                continue
            case "stars", stars:
                pieces.append(b"")
                only_stars = only_stars and len(pieces) == 2 and len(stars) > 1
                continue
            case "broken", _:
                return None
            case "any", _:
                pieces[-1] += b"[^/]"
            case "bracket", bracket:
                if (made := _bracket(bracket)) is None:
                    return None
                pieces[-1] += made
            case _:
                pieces[-1] += re.escape(token["escaped"] or token["plain"])
        only_stars = False
    return [*parts, _name(pieces, doubled=only_stars)] if at == len(line) else None


def _name(pieces: list[bytes], *, doubled: bool) -> bytes:
    first, *more = pieces
    if not more:
        return first
    if doubled:
        return b"**"
    *inner, last = more
    return first + b"".join(b"(?>[^/]*?%s)" % piece for piece in inner if piece) + b"[^/]*" + last


def _bracket(text: bytes) -> bytes | None:
    """Write a set of bytes; a slash is never in one, and an unknown kind makes the pattern fit nothing."""
    inner = text[1:-1]
    negated, inner = inner[:1] in (b"!", b"^"), inner[1:] if inner[:1] in (b"!", b"^") else inner
    held, before, items = set[int](), None, list(_ITEM.finditer(inner))
    while items:
        item = items.pop(0)
        if item["kind"] is not None:
            if item["kind"] not in _KINDS:
                return None
            held.update(code for code in range(256) if re.fullmatch(_KINDS[item["kind"]], bytes([code])))
            before = None
        elif item[0] == b"-" and before is not None and items and items[0]["kind"] is None:
            held.update(range(before, _code(items.pop(0)) + 1))
            before = None
        else:
            before = _code(item)
            held.add(before)
    chosen = (set(range(256)) - held if negated else held) - {ord("/")}
    return b"[%s]" % b"".join(b"\\x%02x" % code for code in sorted(chosen)) if chosen else b"(?!)"


def _code(item: re.Match[bytes]) -> int:
    return int((item["escaped"] or item["plain"])[0])
