"""Three small tasks for a small model: edit a line, create a file, find a function; what it solves and what that takes.

    python bench/small_tasks.py ollama/qwen3:0.6b http://127.0.0.1:11434 [--runs 3] [--seconds 180]
    python bench/small_tasks.py openai/qwen3 http://127.0.0.1:8080/v1

Each run is the installed command in a new git repository of its own, trusted, with nothing asked (`--trust -y`), and
without memory, so that no scribe shares the model. Whether a task is solved is checked by code, not by a model. The
model's commands run in that repository with this user's rights: run it where that does no harm.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

FLAGS = ("--trust", "-y", "--no-memory", "--max-turns", "12", "--output-format", "json")
OGCODE = Path(sys.executable).with_name("ogcode")
FILES = {
    "calc.py": '"""Arithmetic."""\n\n\ndef add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n',
    "src/dates.py": "def parse_date(text):\n    return tuple(int(part) for part in text.split('-'))\n",
    "src/names.py": "def parse_name(text):\n    return text.strip().title()\n",
    "src/main.py": "from dates import parse_date\n\nprint(parse_date('2026-01-02'))\n",
}


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    prompt: str
    solved: Callable[[Path, str], bool]
    """Looks at the folder and at the answer."""


def runs(folder: Path, code: str, wanted: str) -> bool:
    """Run Python in a folder; tell whether it prints what is wanted."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=10, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.stdout.strip() == wanted


def edited(folder: Path, answer: str) -> bool:  # noqa: ARG001  # a task's check
    return runs(folder, "import calc; print(calc.add(2, 3), calc.double(4))", "5 8")


def created(folder: Path, answer: str) -> bool:  # noqa: ARG001
    return runs(folder, "import runpy; runpy.run_path('hello.py', run_name='__main__')", "hello world")


def found(folder: Path, answer: str) -> bool:  # noqa: ARG001
    return "src/dates.py" in answer


TASKS = (
    Task("edit a line", "add in calc.py subtracts. Edit calc.py so that add returns a + b.", edited),
    Task("create a file", "Create a file hello.py that prints hello world.", created),
    Task("find a function", "Which file defines the function parse_date? Answer with its path.", found),
)


@dataclass(frozen=True, slots=True)
class Run:
    solved: bool
    subtype: str
    answer: str
    requests: int
    tokens_in: int
    tokens_out: int
    seconds: float


def attempt(task: Task, model: str, environ: Mapping[str, str], seconds: float) -> Run:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "repository"
        for path, content in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, "utf-8")
        subprocess.run(["git", "init", "-q", folder], check=True)
        done = subprocess.run(
            [OGCODE, "-p", task.prompt, "-m", model, *FLAGS, "--time-limit", f"{seconds:g}"],
            cwd=folder,
            env={**environ, "HOME": name, "OGCODE_HOME": f"{name}/home"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout.startswith("{"):
            sys.exit(f"{task.name}: {done.stderr.strip()}")
        result = json.loads(done.stdout)
        usage = result["usage"]
        return Run(
            task.solved(folder, str(result["result"])),
            str(result["subtype"]),
            str(result["result"]),
            int(result["num_turns"]),
            int(usage["input_tokens"]),
            int(usage["output_tokens"]),
            int(result["duration_ms"]) / 1000,
        )


def main() -> None:
    """Run the tasks and print a line for each."""
    parser = argparse.ArgumentParser(description="Three small tasks for a small model.")
    parser.add_argument("model")
    parser.add_argument("base", help="OLLAMA_HOST of an ollama/ model, else OPENAI_BASE_URL")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=180, help="for one run")
    parser.add_argument("--show", action="store_true", help="print the start of each answer, too")
    given = parser.parse_args()
    variable = "OLLAMA_HOST" if given.model.startswith("ollama") else "OPENAI_BASE_URL"
    environ = {name: os.environ[name] for name in ("PATH", "OPENAI_API_KEY") if name in os.environ}
    environ[variable] = given.base
    print(f"{given.model} at {given.base}: solved/tried, then medians of requests, tokens in and out, seconds")
    for task in TASKS:
        done = [attempt(task, given.model, environ, given.seconds) for _ in range(given.runs)]
        middle = [
            statistics.median(getattr(run, key) for run in done)
            for key in ("requests", "tokens_in", "tokens_out", "seconds")
        ]
        ends = ", ".join(sorted({run.subtype for run in done}))
        figures = f"{middle[0]:4g} {middle[1]:8,g} {middle[2]:6,g} {middle[3]:7.1f}"
        print(f"{task.name:16} {sum(run.solved for run in done)}/{len(done)} {figures}  ({ends})", flush=True)
        for run in done if given.show else ():
            print(f"    {run.answer[:300]!r}", flush=True)


if __name__ == "__main__":
    main()
