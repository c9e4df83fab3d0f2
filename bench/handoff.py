"""What it costs to hand a finished turn over to the scribe: CPU of the digest and of the spool, and the spool's wait.

    python bench/handoff.py [N]

Four turns, N times each (100): a typical one (a digest of about 2 kB), a full one (24 kB, in words of two bytes a
letter), the same with a secret in its calls, and one of 1,000 edits. First without files on disk, so that nothing is
hashed or parsed; then with them. What the process pays once (grammar, rules) is told apart, as the first one. The
spool's time is set against what nobody can do without, in the same run: write as many bytes to a file, fsync it, fsync
its folder.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from ogcode.agent.files.durable import write_all
from ogcode.agent.memory.capture import Place, capture
from ogcode.agent.memory.job import Job, digest
from ogcode.agent.memory.spool import add_job
from ogcode.agent.rights.seal import Seal
from ogcode.agent.turn import Step, Turn

SOURCE = "\n".join(
    f"def function_of_some_name_{number}(value):\n    return value + {number}\n" for number in range(150)
)
SECRETS = ("an-api-key-of-the-environment", "another-one-that-is-known")


ENGLISH = (
    "Raise the limit of tries, and say why. ",
    "The limit of `module_7.function_3` was raised from 3 to 5, since two tries lost mails on slow days. ",
)
RUSSIAN = (
    "Подними предел попыток и скажи, почему. ",
    "Предел попыток отправки поднят с трёх до пяти: двух не хватало, и письма терялись в медленные дни. ",
)


def turn(calls: int, words: int, *, files: int = 40, said: tuple[str, str] = ENGLISH, token: str = "") -> Turn:
    """Make a turn of reads in forty files, edits in so many, and commands."""
    steps = list[Step]()
    for number in range(calls):
        path = f"src/package/module_{number % files}.py"
        new = f"def function_of_some_name_{number % 150}(value):\n    return value + {number % 150}\n"
        steps += [
            Step("read", json.dumps({"path": f"src/package/module_{number % 40}.py"})),
            Step("edit", json.dumps({"path": path, "old": f"return {number}", "new": new})),
            Step(
                "bash",
                json.dumps(
                    {"command": f"{'' if number % 20 else token} pytest tests/test_module_{number}.py -q --maxfail=1"}
                ),
            ),
        ][: 3 if calls < 300 else 2]
    request, answer = said
    return Turn(request * (1 + words // 12), answer * (words // 18), tuple(steps), "done")


TURNS = {
    "typical": turn(4, 120),
    "full": turn(200, 1_800, files=12, said=RUSSIAN),
    "full, with a secret": turn(
        200, 1_800, files=12, said=RUSSIAN, token="TOKEN=ghp_a1B2kX9qTz7LmW3vRn5YcH8sJd4PfG6bQeU2"
    ),
    "1,000 edits": turn(1_000, 400),
}


def place(number: int) -> Place:
    started = datetime.fromtimestamp(1_790_000_000 + 3_700 * number, UTC)
    return Place("3f8c21aa" + "0" * 24, number, started, "scripted/x", 128_000)


def milliseconds(clock: Callable[[], float], work: Callable[[], object]) -> float:
    before = clock()
    work()
    return 1_000 * (clock() - before)


def told(name: str, times: list[float]) -> str:
    """Put times on one line."""
    return f"  {name:44} median {median(times):7.2f} ms   p95 {quantiles(times, n=20, method='inclusive')[18]:7.2f} ms"


def bare_pair(folder: Path, number: int, content: bytes) -> None:
    """Write a file and make it durable, the least that can be done."""
    descriptor = os.open(folder / f"{number}.bin", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    write_all(descriptor, content)
    os.fsync(descriptor)
    os.close(descriptor)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)


def measure(name: str, said: Turn, top: Path, count: int) -> None:
    """Hand one turn over many times and print what that took."""
    empty, store, bare = top / "empty", top / name / ".ogcode", top / name / "bare"
    empty.mkdir(exist_ok=True)
    bare.mkdir(parents=True)
    seal = Seal(top / "home")
    jobs = list[Job]()
    plain = [milliseconds(time.process_time, lambda: capture(said, place(1), empty, SECRETS)) for _ in range(count)]
    whole = [
        milliseconds(
            time.process_time, lambda: jobs.append(capture(said, place(len(jobs)), top / "repository", SECRETS))
        )
        for _ in range(count)
    ]
    spool, cpu, pair = list[float](), list[float](), list[float]()
    for number, job in enumerate(jobs):
        before = time.process_time()
        spool.append(milliseconds(time.perf_counter, partial(add_job, store, job, seal)))
        cpu.append(1_000 * (time.process_time() - before))
        pair.append(milliseconds(time.perf_counter, partial(bare_pair, bare, number, job.to_json())))
    print(f"{name}: a digest of {len(digest(jobs[0]).encode()):,} bytes, {len(said.steps):,} calls, n={count}")
    print(told("CPU of cutting and scrubbing", plain))
    print(told("CPU of that, hashing and parsing files", whole))
    print(told("CPU of the spool", cpu))
    print(told("CPU of all", [a + b for a, b in zip(whole, cpu, strict=True)]))
    print(told("time of the spool", spool))
    print(told("time of a write and two fsyncs", pair))
    print(f"  the spool takes {median(spool) / median(pair):.2f} times as long as the bare pair (medians)")


def main(count: int) -> None:
    """Measure all turns in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder, "repository", "src", "package")
        sources.mkdir(parents=True)
        for number in range(40):
            (sources / f"module_{number}.py").write_text(SOURCE)
        for name, said in TURNS.items():
            measure(name, said, Path(folder), count)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
