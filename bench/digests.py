"""How long digests and notes are, also those of a model, and whether anything that a tool printed is in them.

    python bench/digests.py FOLDER [MODEL [N [SECONDS]]]

FOLDER holds conversations as JSON files: {"turns": [{"user", "tools": [{"name", "args"}], "tool_results", "answer"}]}.
Tokens are o200k_base. A leak is a digest or note with 40 characters in a row (blanks folded) that stand in one of the
turn's tool results and neither in its request nor in its answer nor in the arguments of its calls.

With a MODEL (as for `ogcode --model`) also the notes that it writes: of N turns (10), evenly spread over those that
need a model; none is begun after SECONDS (600). Where it gave no note the one without a model counts, as in use.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, quantiles

from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.extract import extract_note, is_short_talk
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.model import ModelError
from ogcode.agent.models.choice import open_model
from ogcode.agent.turn import Step, Turn, Usage
from ogcode.agent.window.tokens import count
from ogcode.scribe.compose import compose
from ogcode.scribe.validate import NoteRefused

SHINGLE = 40
_TOOLS = {"Read": "read", "Write": "write", "Edit": "edit", "MultiEdit": "edit", "edit": "edit", "Bash": "bash"}
_PARAMETER = {"read": "path", "write": "path", "edit": "path", "bash": "command"}


@dataclass(frozen=True, slots=True)
class Told:
    """One turn of a conversation as ogcode would have had it."""

    name: str
    turn: Turn
    results: tuple[str, ...]
    paths: tuple[str, ...]
    """What it worked on."""


def conversations(folder: Path) -> Iterator[Told]:
    """Read every turn of every conversation in a folder."""
    for path in sorted(folder.glob("*.json")):
        for number, row in enumerate(json.loads(path.read_bytes())["turns"], 1):
            yield told(f"{path.stem}#{number}", row)


def told(name: str, row: Mapping[str, object]) -> Told:
    """Make a turn of its row; calls get our tools' names and parameters."""
    tools, results, edited = row["tools"], row["tool_results"], row["files_edited"]
    assert isinstance(tools, list)
    assert isinstance(results, list)
    assert isinstance(edited, list)
    calls = [(_TOOLS.get(each["name"], each["name"].lower()), each["args"]) for each in tools]
    steps = tuple(Step(tool, json.dumps({_PARAMETER.get(tool, "input"): given})) for tool, given in calls)
    paths = [given for tool, given in calls if _PARAMETER.get(tool) == "path"]
    turn = Turn(str(row["user"]), str(row["answer"]), steps, "done")
    return Told(name, turn, tuple(map(str, results)), tuple(dict.fromkeys([*map(str, edited), *paths])))


def captured(each: Told, top: Path) -> Job:
    """Capture a turn in a folder that has the files it worked on."""
    for path in each.paths:
        file = Path(os.path.normpath(top / path))
        if file.is_relative_to(top) and len(file.name) < 200:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    place = Place("3f8c21aa" + "0" * 24, 1, datetime(2026, 9, 12, 9, 14, 12, tzinfo=UTC), "scripted/x", 128_000)
    return capture(each.turn, place, top)


def leaks(text: str, each: Told) -> bool:
    """Tell whether a text holds a piece of a tool's result that came from nowhere else, our marks at its ends apart."""
    calls = [f"{step.name} {value}" for step in each.turn.steps for value in json.loads(step.arguments).values()]
    said = "\n".join(" ".join(part.split()) for part in (each.turn.request, each.turn.answer, *calls))
    return any(piece.strip(' -#"') not in said for piece in _shingles(text) & _shingles(*each.results))


def _shingles(*texts: str) -> set[str]:
    found = set[str]()
    for text in texts:
        flat = " ".join(text.split())
        found.update(flat[at : at + SHINGLE] for at in range(len(flat) - SHINGLE + 1))
    return found


def summary(name: str, sizes: list[int]) -> str:
    """Put sizes on one line."""
    cuts = quantiles(sizes, n=20, method="inclusive")
    spread = f"mean={mean(sizes):.0f} median={cuts[9]:.0f} p95={cuts[18]:.0f} max={max(sizes)}"
    return f"{name:7} n={len(sizes)} {spread} tokens"


def main(folder: Path) -> None:
    """Capture every turn and print what came of it."""
    digests, notes, leaking = list[int](), list[int](), list[str]()
    with tempfile.TemporaryDirectory() as name:
        for each in conversations(folder):
            job = captured(each, Path(name))
            texts = digest(job), extract_note(job)
            digests.append(count(texts[0]))
            notes.append(count(texts[1]))
            leaking += [each.name for text in texts if leaks(text, each)]
    print(summary("digests", digests))
    print(summary("notes", notes))
    print(f"leaks   {len(leaking)} {' '.join(leaking)}")


async def write(folder: Path, name: str, turns: int = 10, seconds: float = 600) -> None:
    """Have notes written by a model, one by one, and print how long they are and what they took."""
    model = await open_model(name, environ=dict(os.environ))
    written, every, asked = list[int](), list[int](), list[Usage]()
    deadline = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as top:
        jobs = [(each.name, captured(each, Path(top))) for each in conversations(folder)]
        long = [(turn, job) for turn, job in jobs if not is_short_talk(job)]
        for turn, job in long[:: max(1, len(long) // turns)][:turns]:
            if time.monotonic() > deadline:
                break
            began, before = time.monotonic(), len(asked)
            try:
                note, said = await compose(job, model, asked.append, mark="5f3c9a11"), "written"
                written.append(count(note))
            except (NoteRefused, ModelError) as error:
                note, said = extract_note(job), f"no note: {error}"
            every.append(count(note))
            took = f"{len(asked) - before} requests, {time.monotonic() - began:.0f} s"
            print(f"{turn}: {every[-1]} tokens, {took}, {said}", flush=True)
    for what, sizes in (("written", written), ("all", every)):
        if len(sizes) > 1:
            print(summary(what, sizes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        asyncio.run(write(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:5])))
