"""`ogcode batch`: many tasks, each in a worktree and a process of its own."""

import argparse
import asyncio
import fcntl
import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ogcode.agent.files.durable import born, make_folder
from ogcode.agent.memory.spool import prepare_store
from ogcode.agent.rights.permissions import Mode
from ogcode.agent.sandbox.layout import LEVELS, Level
from ogcode.agent.tools.process import program
from ogcode.tui.arguments import MODES
from ogcode.tui.batch.journal import Journal
from ogcode.tui.batch.progress import Progress
from ogcode.tui.batch.results import Results, ResultsRefused
from ogcode.tui.batch.runner import Row, Runner
from ogcode.tui.batch.shop import Shop, Stop, Wishes
from ogcode.tui.batch.tasks import Task, Tasks, TasksBroken, is_name, read_tasks
from ogcode.tui.batch.worktrees import GitFailed, Worktrees
from ogcode.tui.boundary import Boundary
from ogcode.tui.commands.given import count, seconds
from ogcode.tui.commands.notes import counted
from ogcode.tui.commands.terminal import answer, remark
from ogcode.tui.place import Here, look_around, utc_now

FAILED, BAD_INPUT, LIMIT, DENIED, INTERRUPTED, TERMINATED = 1, 42, 54, 55, 130, 143

_LOCK_SECONDS = 30.0
"""How long a git that a killed run has started may take to end."""
_JOBS = 4

EPILOG = """TASKS is a file of JSON lines or a folder of markdown files, whose frontmatter has the fields and whose text
is the prompt: id, prompt, model, cwd, mode, setup, check and limits, these being max_turns, max_tokens, max_cost,
time_limit and command_time.

Each task has a worktree, a branch ogcode/NAME/ID and a session of its own. Each gives one JSON object on stdout.
Start the same batch again and it goes on where it was left; nothing is done twice.

exit codes: 0 all done, checks passed; 1 some failed; 42 the tasks make no sense; 54 --max-cost reached;
55 the folder is not trusted; 130 interrupted; 143 terminated
"""


class BatchRefused(Exception):
    """The batch can't be run; one sentence."""


class _Asked(argparse.Namespace):
    tasks: Path
    name: str
    jobs: int | None
    model: str
    mode: Mode | None
    sandbox: Level | None
    max_cost: float | None
    memory_wait: float
    output: Path | None
    in_place: bool
    fail_fast: bool
    retry_failed: bool
    keep_worktrees: bool
    trust: bool


def run_batch(words: Sequence[str]) -> int:
    """Run a batch, or go on with it; return the exit code.

    Raises:
        SystemExit: the words make no sense, and that has been said.
        SandboxMissing, ConfigBroken, TrustBroken, OSError: nothing was begun, or what was begun is gone on with later.
    """
    asked = batch_parser().parse_args(words, _Asked())
    here = look_around(Path.cwd(), dict(os.environ), utc_now, trust=asked.trust, sandbox=asked.sandbox)
    if not here.trusted:
        remark("ogcode: this folder is not trusted, and a batch runs git and commands in it; --trust trusts it")
        return DENIED
    try:
        tasks = read_tasks(asked.tasks)
        _check_places(here, tasks.each)
        return _run(asked, here, tasks)
    except (TasksBroken, ResultsRefused) as error:
        code, said = BAD_INPUT, str(error)
    except (BatchRefused, GitFailed) as error:
        code, said = FAILED, str(error)
    remark(f"ogcode: {said}")
    return code


def batch_parser() -> argparse.ArgumentParser:
    """Build the reader of the command's words."""
    parser = argparse.ArgumentParser(
        prog="ogcode batch",
        description="Run many tasks, each once, however often the batch is killed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("tasks", type=Path, metavar="TASKS", help="a .jsonl file, or a folder of .md files")
    add("-j", "--jobs", type=count, metavar="N", help=f"tasks at the same time ({_JOBS} at most; 1 with --in-place)")
    add("--name", default="", metavar="NAME", help="of the batch and its branches; otherwise that of TASKS")
    add("-m", "--model", default="", metavar="NAME", help="for tasks that name none")
    add("--mode", type=_mode, metavar="MODE", help="for tasks that name none: plan, ask, edit, auto or yolo")
    add("--sandbox", choices=LEVELS, metavar="LEVEL", help="close commands in: ro, ws, ws+net or off")
    add("-o", "--output", type=Path, metavar="FILE", help="append the results there instead of printing them")
    add("--max-cost", type=_amount, metavar="USD", help="begin no task once all together have cost that")
    add("--memory-wait", type=seconds, default=60.0, metavar="SECONDS", help="wait for a task's note at most (60)")
    add("--fail-fast", action="store_true", help="begin no task once one has failed")
    add("--retry-failed", action="store_true", help="run again what was not done")
    add("--in-place", action="store_true", help="work in this checkout: no worktrees, branches and commits")
    add("--keep-worktrees", action="store_true", help="leave the worktrees of finished tasks")
    add("--trust", action="store_true", help="trust this folder from now on")
    return parser


def _run(asked: _Asked, here: Here, tasks: Tasks) -> int:
    name = asked.name or asked.tasks.resolve().name.removesuffix(".jsonl")
    if not is_name(name):
        raise BatchRefused(f"'{name}' can't name a batch and its branches; give it another name with --name")
    if not here.seal.sign(b""):
        raise BatchRefused(f"{here.home} can't be written, so that a batch could not be gone on with; set OGCODE_HOME")
    prepare_store(here.root.store)
    folder = here.root.store / "batches" / name
    if folder.is_symlink() or folder.parent.is_symlink():
        raise BatchRefused(f"{folder} is a link; a batch is only kept in a folder of the project's own")
    make_folder(folder)
    if notice := Boundary.of(here, folder).notice:
        remark(f"ogcode: {notice}")
    with _alone(folder / "lock", name) as lock:
        journal = Journal(folder / "journal.jsonl", here.seal, here.now)
        _say_changes(journal, tasks, name)
        journal.begin(tasks.digest)
        worktrees = None if asked.in_place else _worktrees(here, name, lock)
        shop = Shop(
            name,
            folder,
            here,
            Wishes(
                jobs=asked.jobs or (1 if asked.in_place else min(_JOBS, os.cpu_count() or 1)),
                model=asked.model,
                mode=asked.mode,
                sandbox=asked.sandbox,
                max_cost=asked.max_cost,
                memory_wait=asked.memory_wait,
                fail_fast=asked.fail_fast,
                retry_failed=asked.retry_failed,
                keep_worktrees=asked.keep_worktrees,
            ),
            journal,
            worktrees,
            Progress(sys.stderr, len(tasks.each), time.monotonic),
            Stop(),
        )
        return asyncio.run(_all(shop, tasks, Results(asked.output)))


async def _all(shop: Shop, tasks: Tasks, results: Results) -> int:
    def tell(row: Row) -> None:
        try:
            if line := results.take(row):
                answer(line)
                sys.stdout.flush()
        except BrokenPipeError:
            shop.stop.came(signal.SIGTERM, INTERRUPTED)

    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED), (signal.SIGHUP, TERMINATED)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            told = signal.SIGINT if number == signal.SIGINT else signal.SIGTERM
            loop.add_signal_handler(number, shop.stop.came, told, code)
    if shop.worktrees:
        await shop.worktrees.head()
        if name := await shop.worktrees.in_the_way():
            raise BatchRefused(f"there is a branch '{name}', so that none can be ogcode/{shop.name}/ID; rename it")
        if await shop.worktrees.changed():
            shop.progress.say("what is not committed here is not part of the tasks' worktrees")
    runner = Runner(shop, tasks.each, tell)
    await runner.run()
    undone = [task.id for task in tasks.each if task.id not in runner.rows]
    failed = [task for task, row in runner.rows.items() if row.get("status") != "done"]
    shop.progress.say(shop.progress.totals() + (f"; {len(undone)} left for the next start" if undone else ""))
    if runner.halted == "cost" and undone:
        spent, most = shop.journal.spent, shop.wishes.max_cost
        shop.progress.say(f"--max-cost {most:g} is reached: ${spent:.4f} are spent; a higher one goes on")
    if failed and not undone:
        shop.progress.say("--retry-failed runs again what was not done")
    if shop.stop.code:
        return shop.stop.code
    if runner.halted == "cost" and undone and not failed:
        return LIMIT
    return FAILED if failed or undone else 0


def _say_changes(journal: Journal, tasks: Tasks, name: str) -> None:
    if journal.strange:
        remark(f"{counted(journal.strange, 'line')} of the journal of {name} are torn or not yours, and not believed")
    if journal.tasks in ("", tasks.digest):
        return
    known = set(journal.known())
    new = sum(task.id not in known for task in tasks.each)
    other = sum(task.id in known and journal.of(task.id).task != task.digest for task in tasks.each)
    gone = len(known - {task.id for task in tasks.each})
    what = f"{new} not begun, {other} changed, {gone} gone"
    remark(f"the tasks of {name} are not as they were: {what}; what is done and as it was is not run again")


def _check_places(here: Here, tasks: Sequence[Task]) -> None:
    for task in tasks:
        place = Path(os.path.realpath(here.folder / task.cwd))
        if not place.is_relative_to(here.root.top):
            raise TasksBroken(f"task {task.id}: cwd '{task.cwd}' is outside {here.root.top}")


def _worktrees(here: Here, name: str, lock: int) -> Worktrees:
    git = program("git", here.environ.get("PATH", ""), outside=here.root.top)
    if git is None:
        raise BatchRefused("git is not installed; --in-place works without it")
    if not (here.root.top / ".git").exists():
        raise BatchRefused(f"{here.root.top} is not a git repository; --in-place works without one")
    person = Path(here.environ.get("HOME") or "~").expanduser()
    state = Path(here.environ.get("XDG_STATE_HOME") or person / ".local" / "state")
    own = f"{here.root.path.name}-{hashlib.sha256(os.fsencode(here.root.path)).hexdigest()[:8]}"
    folder = state.absolute() / "ogcode" / "worktrees" / own / name
    return Worktrees(here.root.top, folder, name, git=git, environ=here.environ, lock=lock)


@contextmanager
def _alone(path: Path, name: str) -> Iterator[int]:
    """Hold the lock of a batch; what a killed run had started with git is waited for.

    Raises:
        BatchRefused: it is running.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while not _locked(descriptor):
            pid, _, since = os.pread(descriptor, 100, 0).decode("ascii", "replace").partition(" ")
            if (pid.isdecimal() and born(int(pid)) == since) or time.monotonic() > deadline:
                raise BatchRefused(f"batch {name} is running already (process {pid})")
            time.sleep(0.05)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {born(os.getpid())}".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _mode(text: str) -> Mode:
    if text not in MODES:
        raise argparse.ArgumentTypeError(f"there is no mode '{text}'; modes are plan, ask, edit, auto and yolo")
    return MODES[text]


def _amount(text: str) -> float:
    if text.isascii() and text.replace(".", "", 1).isdecimal():
        return float(text)
    raise argparse.ArgumentTypeError(f"'{text}' is not an amount")
