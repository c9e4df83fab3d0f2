"""Find the text that an edit names and put other text there: exactly, or by the first rung that finds it once."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property

from ogcode.agent.clean import clean
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.indent import reindented
from ogcode.agent.tools.text import line_at, lines, newline

_NEWLINE = r"(?:\r\n|\n|\r)"
_START = r"(?<![^\n\r])"
_END = rf"(?={_NEWLINE}|\Z)"
_ALIKE = ('"“”„‟″«»', "'‘’‚‛′`´", "-‐‑‒–—―−", " \u00a0\u2007\u2009\u202f\u3000")
_FOLDED = {ord(char): group[0] for group in _ALIKE for char in group} | {ord("…"): "..."}
_DOTS = r"(?:…|\.\.\.)"
_CLASS = {char: f"[{re.escape(group)}]" for group in _ALIKE for char in group} | {"…": _DOTS, "...": _DOTS}
_NUMBERED = re.compile(r"^ *(\d+)\| ?", re.MULTILINE)
_SHOWN = re.compile(r"<U\+([0-9A-F]{4,6})>")
_LINE = re.compile(rf"[^\r\n]*{_NEWLINE}|[^\r\n]+")
_WORD = re.compile(r"\w+|\.\.\.|.", re.DOTALL)
_CHARACTER = re.compile(r"\.\.\.|.", re.DOTALL)
_BLANK = " \t"
_LONGEST = 10_000


class AlreadyThere(ToolError):
    """The new text is where the old one should be."""


@dataclass(frozen=True, slots=True)
class Replaced:
    text: str
    """The whole text after the edit."""
    line: int
    lines: int
    """How many lines were replaced, from `line` on."""
    places: int = 1
    rung: str = ""
    """What had to be overlooked; empty for an exact match."""


def numbered(text: str) -> bool:
    """Tell whether every line begins with its number, one after the other, as `read` shows them."""
    found = [_NUMBERED.match(line) for line in text.splitlines()]
    numbers = [int(each[1]) if each and len(each[1]) < 10 else 0 for each in found]
    return bool(numbers) and numbers[0] > 0 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def replaced(text: str, old: str, new: str, *, every: bool, name: str) -> Replaced:
    """Replace `old`, wherever it is with `every`, else only where it is unique.

    Raises:
        ToolError: it is not there, or more than once.
    """
    if made := _climbed(text, old, new, every=every, name=name):
        return made
    ending = newline(text)
    if old.endswith("\n") and not text.endswith(ending):
        made = _climbed(text + ending, old, new, every=every, name=name)
        if made:
            return replace(made, text=made.text.removesuffix(ending), rung=made.rung or "the missing final line ending")
    raise _missing(text, old, new, name)


def _climbed(text: str, old: str, new: str, *, every: bool, name: str) -> Replaced | None:
    held = _Lines(text)
    for reading, needle, put in _readings(old, new):
        for rung, pattern in _rungs(needle, held):
            spots = _spots(text, pattern, needle, every=every)
            if len(spots) > 1 and not (every and rung in ("", "line endings")):
                raise _ambiguous(text, spots, rung, name)
            if not spots or (put_there := _fitted(text, spots, needle, put, rung)) is None:
                continue
            noted = " and ".join(part for part in (reading, rung) if part)
            return _applied(text, spots, put_there, noted)
    return None


def _readings(old: str, new: str) -> Iterator[tuple[str, str, str]]:
    yield "", old, new
    written = [line for line in old.split("\n") if line.strip()]
    if written and all(_NUMBERED.match(line) for line in written):
        yield "line numbers", _NUMBERED.sub("", old), _NUMBERED.sub("", new)
    if _SHOWN.search(old):
        yield "shown characters", _SHOWN.sub(_shown, old), _SHOWN.sub(_shown, new)


def _shown(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else found[0]


class _Lines:
    """The lines of a text, to tell at once what can't be in it: a pattern takes long to find nothing."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _plain(self) -> frozenset[str]:
        return frozenset(line.strip() for line in _split(self._text))

    @cached_property
    def _folded(self) -> frozenset[str]:
        return frozenset(line.translate(_FOLDED).strip() for line in self._plain)

    def may_hold(self, old: str) -> bool:
        return _may_hold(self._plain, old)

    def may_hold_alike(self, old: str) -> bool:
        return _may_hold(self._folded, old.translate(_FOLDED))


def _may_hold(there: frozenset[str], old: str) -> bool:
    """Only the first and the last line need not be there whole."""
    wanted = [line.strip() for line in _split(old)]
    if len(wanted) == 1:
        return any(wanted[0] in line for line in there)
    first, *inner, last = wanted
    whole = there.issuperset(inner)
    return whole and any(line.endswith(first) for line in there) and any(line.startswith(last) for line in there)


def _rungs(old: str, held: _Lines) -> Iterator[tuple[str, str]]:
    yield "", ""
    if not old.strip():
        return
    if held.may_hold(old):
        if "\n" in old or "\r" in old:
            yield "line endings", _NEWLINE.join(re.escape(line) for line in _split(old))
        yield "trailing space", _trailing(old, re.escape)
        yield "indentation", _indentation(old, re.escape)
    if held.may_hold_alike(old):
        yield "typography", _trailing(old, _alike)
        yield "typography and indentation", _indentation(old, _alike)


def _trailing(old: str, write: Callable[[str], str]) -> str:
    split = _split(old)
    end = "" if split[-1].rstrip(_BLANK) == split[-1] else rf"[ \t]*+{_END}"
    start = "" if split[0].strip(_BLANK) else r"(?<![ \t])"
    return start + rf"[ \t]*+{_NEWLINE}".join(write(line.rstrip(_BLANK)) for line in split) + end


def _indentation(old: str, write: Callable[[str], str]) -> str:
    ends = old.endswith(("\n", "\r"))
    each = [rf"[ \t]*+{write(line.strip(_BLANK))}[ \t]*+" for line in _split(old)[: -1 if ends else None]]
    return _START + _NEWLINE.join(each) + (_NEWLINE if ends else _END)


def _alike(text: str) -> str:
    return "".join(_CLASS.get(part, re.escape(part)) for part in _CHARACTER.findall(text))


def _split(text: str) -> list[str]:
    return re.split(_NEWLINE, text)


def _spots(text: str, pattern: str, old: str, *, every: bool) -> list[tuple[int, int]]:
    if pattern:
        return [found.span() for found in re.finditer(pattern, text)]
    found, at = list[tuple[int, int]](), text.find(old)
    while at >= 0:
        found.append((at, at + len(old)))
        at = text.find(old, at + (len(old) if every else 1))
    return found


def _fitted(text: str, spots: list[tuple[int, int]], old: str, new: str, rung: str) -> list[str] | None:
    """Give what to put at each spot, written as the file is written; None where that can't be told."""
    put = list[str]()
    for start, end in spots:
        there = text[start:end]
        wanted = new
        if "indentation" in rung:
            indented = reindented(there, old, new, tabs="\n\t" in text or text.startswith("\t"))
            if indented is None:
                return None
            wanted = indented
        if "\r" not in wanted and (rung or "\r" not in old):
            wanted = wanted.replace("\n", _ending(text, start, end))
        put.append(_kept(there, wanted) if rung else wanted)
    return put


def _ending(text: str, start: int, end: int) -> str:
    if found := re.search(_NEWLINE, text[start:end]):
        return found[0]
    found = re.compile(_NEWLINE).search(text, end)
    return found[0] if found else newline(text)


def _kept(there: str, new: str) -> str:
    """Write `new` with every part that the edit does not mean to change as it stands in the file."""
    old_lines, new_lines = _LINE.findall(there), _LINE.findall(new)
    folded = [_trimmed(line.translate(_FOLDED)) for line in old_lines]
    matcher = SequenceMatcher(None, folded, [_trimmed(line) for line in new_lines], False)
    out = list[str]()
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            out += [_same_end(before, after) for before, after in zip(old_lines[a:b], new_lines[c:d], strict=True)]
        elif b - a == d - c:
            out += [_line_kept(before, after) for before, after in zip(old_lines[a:b], new_lines[c:d], strict=True)]
        else:
            out += new_lines[c:d]
    return "".join(out)


def _line_kept(there: str, new: str) -> str:
    old_words, new_words = _WORD.findall(there), _WORD.findall(new)
    if len(old_words) + len(new_words) > 600:
        return new
    matcher = SequenceMatcher(None, [word.translate(_FOLDED) for word in old_words], new_words, False)
    return "".join(
        "".join(old_words[a:b] if kind == "equal" else new_words[c:d]) for kind, a, b, c, d in matcher.get_opcodes()
    )


def _same_end(there: str, new: str) -> str:
    if new.endswith(("\n", "\r")) == there.endswith(("\n", "\r")):
        return there
    return there.rstrip("\r\n") + new[len(new.rstrip("\r\n")) :]


def _trimmed(line: str) -> str:
    return line.rstrip(" \t\r\n")


def _applied(text: str, spots: list[tuple[int, int]], put: list[str], rung: str) -> Replaced:
    parts, at = list[str](), 0
    for (start, end), new in zip(spots, put, strict=True):
        parts += text[at:start], new
        at = end
    start, end = spots[0]
    count = len(lines(text[start:end]))
    return Replaced("".join(parts) + text[at:], line_at(text, start), count, len(spots), rung)


def _ambiguous(text: str, spots: list[tuple[int, int]], rung: str, name: str) -> ToolError:
    listed = ", ".join(str(line_at(text, start)) for start, _ in spots[:10])
    more = f" and {len(spots) - 10} more" if len(spots) > 10 else ""
    how = f" when {rung} is overlooked" if rung else ""
    advice = "add lines around it" + ("" if rung else ", or set all to true")
    return ToolError(f"old is in {name} {len(spots)} times{how}: at lines {listed}{more}; {advice}")


def _missing(text: str, old: str, new: str, name: str) -> ToolError:
    if (line := _only_line(text, new)) and not _only_line(text, old):
        return AlreadyThere(f"{name} already holds the new text, at line {line}, and not the old")
    nearest = _nearest(lines(text), lines(old))
    if not nearest:
        return ToolError(f"old is not in {name}, nor anything like it; read the file first")
    return ToolError(f"old is not in {name}; the nearest is this (- what you sent, + what is there):\n{nearest}")


def _only_line(text: str, part: str) -> int:
    """Find the line of what occurs once, whatever the space between its words; 0 where it does not."""
    words = part.split()
    if not 3 < len(part.strip()) <= _LONGEST:
        return 0
    found = list(re.finditer(r"\s+".join(map(re.escape, words)), text))
    return line_at(text, found[0].start()) if len(found) == 1 else 0


def _nearest(there: list[str], old: list[str]) -> str:
    """Compare `old` with the region that has most in common with it."""
    at = _region(there, [line.strip() for line in old])
    if at is None:
        return ""
    region, shown = there[at : at + len(old)], list[str]()
    for group in SequenceMatcher(None, old[:500], region[:500], False).get_grouped_opcodes(3):
        for kind, a, b, c, d in group:
            if kind != "equal":
                shown += [f"- | {_brief(line)}" for line in old[a:b]]
            mark = " " if kind == "equal" else "+"
            shown += [f"{mark} {at + 1 + c + number}| {_brief(line)}" for number, line in enumerate(region[c:d])]
    return "\n".join(shown[:40]) or f"  from line {at + 1} on, all but blanks; read it again and copy it exactly"


def _brief(line: str) -> str:
    return clean(line[:200], prose=True)


def _region(there: list[str], old: list[str]) -> int | None:
    stripped = [line.strip() for line in there[:200_000]]
    wanted = Counter(line for line in old if len(line) > 2)
    hits = [min(1, wanted[line]) for line in stripped]
    window = sum(hits[: len(old)])
    best, at = window, 0
    for end in range(len(old), len(hits)):
        window += hits[end] - hits[end - len(old)]
        if window > best:
            best, at = window, end - len(old) + 1
    if best:
        first = next(number for number in range(at, len(stripped)) if hits[number])
        return max(0, first - old.index(stripped[first]))
    longest = max(old, key=len, default="")[:300]
    candidates = [line for line in dict.fromkeys(stripped[:20_000]) if 0 < len(line) <= 600]
    near = get_close_matches(longest, candidates, 1, 0.5)
    return max(0, stripped.index(near[0]) - [line[:300] for line in old].index(longest)) if near else None
