"""A repository with a batch of tasks, and a model that does what each task says."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fake_server import Body, Call, FakeServer, Reply, Say, last_user
from stage_cli import NOTE, Place, new_place, role_of

FLAGS = ("--trust", "--mode", "edit", "--memory-wait", "30", "--sandbox", "off")


def a_repository(tmp_path: Path, *, memory: bool = True) -> Place:
    """Make one with a commit; without a memory its runs are quicker."""
    place = new_place(tmp_path, indoors=True)
    if not memory:
        place.home.mkdir()
        (place.home / "config.toml").write_text('memory = "off"\n')
    git(place, "config", "user.name", "Ada")
    git(place, "config", "user.email", "ada@example.org")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    return place


def git(place: Place, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=place.folder, env=place.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write_tasks(place: Place, tasks: Iterable[Mapping[str, object]], name: str = "tasks.jsonl") -> Path:
    path = place.folder.parent / name
    path.write_text("".join(f"{json.dumps(task)}\n" for task in tasks), "utf-8")
    return path


def a_task(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "prompt": f"write {name}.txt", **more}


class Worker:
    """Write the file that the request names, then say so; counts what was asked of it and answered to the end."""

    def __init__(self) -> None:
        self.finished = Counter[str]()

    def __call__(self, body: Body) -> Reply:
        if role_of(body) != "agent":
            return Say(NOTE)
        found = re.search(r"write ([\w-]+)\.txt", last_user(body))
        name = found[1] if found else "nothing"
        if not any(message["role"] == "tool" for message in body["messages"]):
            return Call("write", {"path": f"{name}.txt", "content": f"{name}\n"})
        self.finished[name] += 1
        return Say(f"{name} is written")


def rows(text: str) -> dict[str, Any]:
    """Read results by id; each id is there once."""
    each = [json.loads(line) for line in text.splitlines()]
    found = {row["id"]: row for row in each}
    assert len(found) == len(each)
    return found


def worktrees(place: Place) -> list[str]:
    """List what there is besides the checkout: known to git, or on disk."""
    known = [
        line for line in git(place, "worktree", "list", "--porcelain").splitlines() if line.startswith("worktree ")
    ]
    below = place.folder.parent / ".local" / "state" / "ogcode" / "worktrees"
    return [*known[1:], *(str(path) for path in below.rglob("*"))]


def branches(place: Place) -> list[str]:
    return git(place, "for-each-ref", "--format=%(refname:short)", "refs/heads/ogcode").splitlines()


def journal(place: Place, name: str = "tasks") -> list[Any]:
    lines = (place.folder / ".ogcode" / "batches" / name / "journal.jsonl").read_text("utf-8").splitlines()
    return [json.loads(json.loads(line)["row"]) for line in lines]


def note_ids(place: Place) -> list[str]:
    return ["--".join(path.stem.split("--")[:2]) for path in place.notes]


def asked(server: FakeServer) -> Sequence[Body]:
    return [body for body in server.chats if role_of(body) == "agent"]
