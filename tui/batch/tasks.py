"""What is to be done: tasks read from JSON lines or from a folder of markdown files."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ogcode.agent.memory.notes import read_head
from ogcode.agent.nearest import nearest
from ogcode.agent.rights.permissions import Mode
from ogcode.tui.arguments import MODES

_NAME = re.compile(r"(?!.*\.\.)(?!.*\.attempt-\d+$)(?!.*\.lock$)[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
_TEXTS = ("id", "prompt", "model", "cwd", "mode", "setup", "check")
_COUNTS = ("max_turns", "max_tokens")
_AMOUNTS = ("max_cost", "time_limit", "command_time")
_LONGEST_PROMPT = 1_000_000


class TasksBroken(Exception):
    """The tasks can't be used; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    prompt: str
    model: str = ""
    cwd: str = ""
    """Relative to the folder that the batch is started in."""
    mode: Mode | None = None
    setup: str = ""
    check: str = ""
    max_turns: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    time_limit: float | None = None
    command_time: float | None = None
    """Seconds that setup may take, and check."""

    @property
    def digest(self) -> str:
        """Tell this wording of the task from others."""
        return _digest(json.dumps(asdict(self)).encode())


@dataclass(frozen=True, slots=True)
class Tasks:
    digest: str
    """Of all of them, in order."""
    each: tuple[Task, ...]


def is_name(text: str) -> bool:
    """Tell whether a text can name a file, a folder and a part of a branch."""
    return bool(_NAME.fullmatch(text))


def read_tasks(path: Path) -> Tasks:
    """Read a file of JSON lines, or each `.md` of a folder.

    Raises:
        TasksBroken: they can't be read, or there is something in them that makes no sense; nothing of it is used then.
    """
    try:
        tasks = tuple(_of_folder(path) if path.is_dir() else _of_lines(path))
    except OSError as error:
        raise TasksBroken(f"{error.filename or path}: it can't be read: {error.strerror}") from error
    if not tasks:
        raise TasksBroken(f"{path}: there are no tasks in it")
    seen = dict[str, str]()
    for task in tasks:
        if other := seen.get(task.id.casefold()):
            raise TasksBroken(f"{path}: '{other}' and '{task.id}' are the same id; each task needs its own")
        seen[task.id.casefold()] = task.id
    return Tasks(_digest("".join(task.digest for task in tasks).encode()), tasks)


def _of_lines(path: Path) -> Iterator[Task]:
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            given = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TasksBroken(f"{where}: not JSON ({error}); write one object a line") from error
        if not isinstance(given, dict):
            raise TasksBroken(f"{where}: not an object; write one object a line")
        yield _task(given, where)


def _of_folder(folder: Path) -> Iterator[Task]:
    for path in sorted(folder.glob("*.md")):
        facts, prompt, fault = read_head(path.read_text("utf-8", "replace").removeprefix("\ufeff"))
        if fault:
            raise TasksBroken(f"{path}: {fault}")
        yield _task({"id": path.stem, **facts, "prompt": prompt.strip()}, str(path))


def _task(given: Mapping[str, object], where: str) -> Task:
    limits = given.get("limits", {})
    if not isinstance(limits, dict):
        raise TasksBroken(f"{where}: limits must be an object of {', '.join((*_COUNTS, *_AMOUNTS))}")
    _known(limits, (*_COUNTS, *_AMOUNTS), where)
    facts = {key: value for key, value in given.items() if key != "limits"} | limits
    _known(facts, (*_TEXTS, "limits", *_COUNTS, *_AMOUNTS), where)
    texts = {key: _text(facts.get(key, ""), key, where) for key in _TEXTS}
    if not is_name(texts["id"]):
        raise TasksBroken(f"{where}: '{texts['id']}' can't be an id; use letters, digits, '.', '_' and '-', 64 at most")
    if not texts["prompt"].strip() or len(texts["prompt"]) > _LONGEST_PROMPT:
        raise TasksBroken(f"{where}: a task needs a prompt, of {_LONGEST_PROMPT:,} characters at most")
    if texts["mode"] and texts["mode"] not in MODES:
        raise TasksBroken(f"{where}: there is no mode '{texts['mode']}'; modes are {', '.join(dict.fromkeys(MODES))}")
    counts = {key: _count(facts[key], key, where) for key in _COUNTS if facts.get(key) is not None}
    amounts = {key: _amount(facts[key], key, where) for key in _AMOUNTS if facts.get(key) is not None}
    return Task(
        id=texts["id"],
        prompt=texts["prompt"],
        model=texts["model"],
        cwd=texts["cwd"],
        mode=MODES[texts["mode"]] if texts["mode"] else None,
        setup=texts["setup"],
        check=texts["check"],
        max_turns=counts.get("max_turns"),
        max_tokens=counts.get("max_tokens"),
        max_cost=amounts.get("max_cost"),
        time_limit=amounts.get("time_limit"),
        command_time=amounts.get("command_time"),
    )


def _known(given: Mapping[str, object], known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            near = nearest(str(key), known)
            hint = f"did you mean '{near}'?" if near else f"there are {', '.join(known)}"
            raise TasksBroken(f"{where}: unknown key '{key}'; {hint}")


def _text(value: object, key: str, where: str) -> str:
    if key == "id" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or "\0" in value:
        raise TasksBroken(f"{where}: {key} must be a text")
    return value.encode("utf-8", "replace").decode()


def _count(value: object, key: str, where: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise TasksBroken(f"{where}: {key} must be a positive whole number")


def _amount(value: object, key: str, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9:
        return float(value)
    raise TasksBroken(f"{where}: {key} must be a positive number")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
