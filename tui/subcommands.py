"""The commands that are not a turn: recall, memory, sessions, models, demo."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ogcode.agent.clean import clean
from ogcode.agent.events import ignore
from ogcode.tui.earlier import SessionUnknown
from ogcode.tui.place import Here, look_around, utc_now
from ogcode.tui.wiring import open_library, start_scribe

_USAGES = {
    "recall": "usage: ogcode recall QUESTION [--conversation TAG] [--json]",
    "memory": "usage: ogcode memory list|show NAME|search WORDS|status|wait [SECONDS]|path   [--json]",
    "sessions": "usage: ogcode sessions [--json]",
    "models": "usage: ogcode models",
    "demo": "usage: ogcode demo",
}


def run_command(name: str, arguments: list[str]) -> int:
    """Run one of the commands; return its exit code."""
    if {"-h", "--help"} & set(arguments):
        _out(_USAGES[name])
        return 0
    as_json = "--json" in arguments
    rest = [argument for argument in arguments if argument != "--json"]
    if name == "demo":
        from ogcode.tui.demo import run_demo

        return run_demo() if not rest else _usage(name)
    here = look_around(Path.cwd(), dict(os.environ), utc_now, trust="--trust" in rest)
    rest = [argument for argument in rest if argument != "--trust"]
    match name, rest:
        case "recall", [*words]:
            return _recall(here, words, as_json=as_json)
        case "memory", ["list"]:
            return _list(here, "", as_json=as_json)
        case "memory", ["search", *words] if words:
            return _list(here, " ".join(words), as_json=as_json)
        case "memory", ["show", note]:
            return _show(here, note)
        case "memory", ["status"]:
            return _status(here, as_json=as_json)
        case "memory", ["wait"]:
            return _wait(here, 60.0)
        case "memory", ["wait", seconds] if seconds.isascii() and seconds.replace(".", "", 1).isdecimal():
            return _wait(here, float(seconds))
        case "memory", ["path"]:
            _out(str(here.root.memory))
            return 0
        case "sessions", ([] | ["list"]):
            return _sessions(here, as_json=as_json)
        case "models", []:
            return asyncio.run(_models(here))
        case _:
            return _usage(name)


def _recall(here: Here, words: list[str], *, as_json: bool) -> int:
    from ogcode.librarian.recall import RecallFailed, recall

    scope, question = "", list[str]()
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--conversation":
            if not queue:
                return _usage("recall")
            scope = queue.pop(0)
        else:
            question.append(word)
    if not question:
        return _usage("recall")
    library = open_library(here, _conversation(here, scope) if scope else None)

    async def answer() -> str:
        from ogcode.agent.models.choice import choose, open_model

        configured = here.config.librarian_model or here.config.model
        name = await choose(flag="", environ=here.environ, configured=configured)
        model = await open_model(
            name,
            environ=here.environ,
            api_base=here.config.api_base,
            num_ctx=here.config.num_ctx,
            prices_cache=here.home / "prices.json",
        )
        return await recall(" ".join(question), library=library, model=model, emit=ignore)

    try:
        text = asyncio.run(answer())
    except RecallFailed as error:
        sys.stderr.write(f"ogcode: {clean(str(error))}\n")
        return 75
    _out(json.dumps({"question": " ".join(question), "answer": text}) if as_json else text)
    return 0


def _conversation(here: Here, tag: str) -> dict[str, int]:
    library = open_library(here, None)
    near = sorted({entry.session_id for entry in library.notes.entries() if entry.session_id.startswith(tag)})
    if len(near) != 1:
        several = f"could be {', '.join(each[:12] for each in near[:6])}" if near else "is no conversation here"
        raise SessionUnknown(f"'{tag}' {several}; ogcode memory list shows them")
    return {near[0]: sys.maxsize}


def _list(here: Here, query: str, *, as_json: bool) -> int:
    notes = open_library(here, None).notes
    entries = notes.find(query) if query else notes.entries()
    for entry in entries:
        told = {
            "id": entry.id,
            "title": entry.title,
            "topics": entry.topics,
            "session_id": entry.session_id,
            "created_at": entry.created_at,
            "turn": entry.turn,
            "outcome": entry.outcome,
            "scribe": entry.scribe,
            "origin": entry.origin,
            "pending": entry.pending,
            "path": str(here.root.store / entry.path),
        }
        marks = "".join(
            f" ({mark})" for mark in (entry.origin if entry.origin != "own" else "", "pending" * entry.pending) if mark
        )
        _out(json.dumps(told) if as_json else f"{entry.id}  {entry.title}  [{'; '.join(entry.topics)}]{marks}")
    if not entries and not as_json:
        sys.stderr.write(f"nothing matches '{clean(query)}'\n" if query else "memory is empty here\n")
    return 0


def _show(here: Here, name: str) -> int:
    notes = open_library(here, None).notes
    near = notes.named(name)
    if len({entry.id for entry in near}) != 1:
        found = f"could be {', '.join(entry.id for entry in near[:6])}" if near else "is no note here"
        raise SessionUnknown(f"'{name}' {found}; ogcode memory list shows them")
    _out(notes.text(near[0]))
    return 0


def _status(here: Here, *, as_json: bool) -> int:
    from ogcode.agent.memory.job import Job
    from ogcode.agent.memory.spool import jobs

    entries = open_library(here, None).notes.entries()
    waiting = [job for _, job, _ in jobs(here.root.store)]
    told = {
        "root": str(here.root.path),
        "trusted": here.trusted,
        "notes": sum(not entry.pending for entry in entries),
        "pending": [job.id for job in waiting if isinstance(job, Job) and not job.upgrade],
        "to_upgrade": [job.id for job in waiting if isinstance(job, Job) and job.upgrade],
        "broken": [str(job) for job in waiting if not isinstance(job, Job)],
        "log": [] if here.root.store.is_symlink() else _tail(here.root.store / "scribe.log", 5),
    }
    if as_json:
        _out(json.dumps(told))
        return 0
    for key, value in told.items():
        for line in value if isinstance(value, list) else [value]:
            _out(f"{key}: {line}")
    return 0


def _tail(path: Path, lines: int) -> list[str]:
    try:
        told = path.read_text("utf-8", "replace") if path.is_file() and not path.is_symlink() else ""
    except OSError:
        return []
    return told.splitlines()[-lines:]


def _wait(here: Here, seconds: float) -> int:
    """Start the scribe and wait until no turn waits for its note."""
    from ogcode.agent.memory.job import Job
    from ogcode.agent.memory.spool import jobs

    def waiting() -> Sequence[str]:
        return [job.id for _, job, _ in jobs(here.root.store) if isinstance(job, Job) and not job.upgrade]

    if not waiting():
        return 0
    start_scribe(here, linger=0.0)
    if _until(lambda: not waiting(), seconds):
        return 0
    sys.stderr.write(f"ogcode: {len(waiting())} turns still wait for their notes; see ogcode memory status\n")
    return 3


def _until(holds: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _sessions(here: Here, *, as_json: bool) -> int:
    from ogcode.agent.transcript import own_sessions, recollect

    for path in own_sessions(here.root.sessions, here.seal):
        past = recollect(path)
        first = past.said[0][0] if past.said else ""
        told = {"session_id": past.session_id, "turns": past.turns, "top": past.top, "first": first}
        _out(
            json.dumps(told)
            if as_json
            else f"{past.session_id[:8]}  {past.turns:3} turns  {' '.join(first.split())[:80]}"
        )
    return 0


async def _models(here: Here) -> int:
    from ogcode.agent.models.choice import choose

    _out(await choose(flag="", environ=here.environ, configured=here.config.model))
    return 0


def _usage(name: str) -> int:
    sys.stderr.write(f"{_USAGES[name]}\n")
    return 2


def _out(text: str) -> None:
    shown = clean(text, prose=True) if sys.stdout.isatty() else text.encode("utf-8", "replace").decode()
    sys.stdout.write(shown if shown.endswith("\n") else f"{shown}\n")
