"""The calls of a turn, a line each: what was asked for, never what came of it."""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import TypeVar

from ogcode.agent.memory.scrubbed import Scrubber, Trial
from ogcode.agent.turn import Step

LINE = 240
"""Characters of a call that are kept."""

_CHANGING = ("write", "edit")
_BLOB = re.compile(r"[A-Za-z0-9+/]{120,}={0,2}")
_RECALLED = re.compile(r"\[\[\d{4}-\d\d-\d\dT\d{6}Z--[^\[\]]*\]\]")
"""The source that a recall gives with what it says."""

_SENTENCES = re.compile(r"(?:\s*\n\s*|(?<=[.!?])\s+)(?!\[\[|\[Source)")
_Run = TypeVar("_Run")
_Told = tuple[Step, int]
"""A call, and how often it was made in a row."""


def arguments(step: Step) -> dict[str, object]:
    """Read what a call was given; empty where that is not JSON."""
    try:
        given = json.loads(step.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def tell(steps: Sequence[Step], scrubber: Scrubber, room: int) -> tuple[list[str], int]:
    """Tell calls in so many bytes, repeats folded; the second value counts those that did not fit."""
    runs = [(step, sum(1 for _ in same)) for step, same in groupby(steps)]
    trial = Trial(scrubber.known)
    lines, left = _lines_of(runs, trial, room)
    careful = trial.scrubber()
    if not careful.harmless.issuperset(trial.seen):
        lines, left = _lines_of(runs, careful, room)
    return lines, sum(times for _, times in left)


def _lines_of(runs: Sequence[_Told], scrubber: Scrubber, room: int) -> tuple[list[str], list[_Told]]:
    scrubbed = cache(scrubber.line)  # the same names and paths again and again

    def line(run: _Told) -> str:
        step, times = run
        return (
            _told(step, scrubbed).rstrip()
            + (" (failed)" if step.failed else "")
            + (f" (×{times})" if times > 1 else "")
        )

    return within(runs, line, lambda run: run[0].failed or run[0].name in _CHANGING, room)


def within(
    runs: Sequence[_Run], line: Callable[[_Run], str], telling: Callable[[_Run], bool], room: int
) -> tuple[list[str], list[_Run]]:
    """Choose what fits in so many bytes: the first, then what tells most, then the last; and give what does not fit."""
    chosen, spent = dict[int, str](), 0
    places = range(len(runs))
    for order, until in (
        (places, room // 3),
        ((place for place in reversed(places) if telling(runs[place])), room * 3 // 4),
        (reversed(places), room),
    ):
        for place in order:
            if place in chosen:
                continue
            told = line(runs[place])
            if spent + len(told.encode()) > until:
                break
            chosen[place] = told
            spent += len(told.encode())
    return [chosen[place] for place in sorted(chosen)], [runs[place] for place in places if place not in chosen]


def _told(step: Step, scrubbed: Callable[[str, int], str]) -> str:
    given = arguments(step)

    def short(text: object, limit: int = LINE) -> str:
        return scrubbed(_BLOB.sub(_size, _own(str(text))), limit)

    name = short(step.name, 60)
    match step.name, given:
        case "write", {"path": str(path), "content": str(content)}:
            return f"write {scrubbed(path, LINE)}: {_lines(content)} lines: {short(content, LINE // 2)}"
        case "edit", {"path": str(path), "old": str(old), "new": str(new)}:
            before, after = short(old, LINE // 3), short(new, LINE // 3)
            more = given.get("more")
            further = f" (and {len(more)} more)" if isinstance(more, list) and more else ""
            return f"edit {scrubbed(path, LINE)}: {_lines(old)} lines to {_lines(new)}: {before} -> {after}{further}"
        case _ if len(given) == 1:
            return f"{name} {short(next(iter(given.values())))}"
        case _ if given:
            return f"{name} {short(', '.join(f'{key}={short(value)}' for key, value in given.items()))}"
        case _:
            return f"{name} {short(step.arguments)}"


def _own(text: str) -> str:
    """Leave out what is quoted from memory with its source: recalled text is not remembered again."""
    if not _RECALLED.search(text):
        return text
    return " ".join(sentence for sentence in _SENTENCES.split(text) if not _RECALLED.search(sentence))


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _size(data: re.Match[str]) -> str:
    return f"[{len(data[0]):,} characters of data]"
