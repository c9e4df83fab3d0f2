import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import alive, until

from ogcode.agent.sandbox.wrapped import Wrapped
from ogcode.agent.tool import ToolError
from ogcode.agent.tools.jobs import Jobs
from ogcode.agent.tools.shell import shell_tool
from ogcode.agent.tools.workspace import Workspace

SOON = 20.0


class Shell:
    """The tool as each turn has it: made anew, with the jobs of the session."""

    def __init__(self, top: Path) -> None:
        self.top, self.jobs = top, Jobs()
        self.settled = list[str]()

    async def __call__(self, command: str, **more: object) -> str:
        def wrap(line: object, environ: object) -> Wrapped:
            return Wrapped(line, environ, settle=lambda: self.settled.append(command) or ())  # type: ignore[arg-type, func-returns-value]  # passed on

        tool = shell_tool(
            Workspace(self.top),
            environ={"PATH": os.environ["PATH"]},
            output_folder=self.top / "outputs",
            trusted=True,
            sandbox=wrap,
            jobs=self.jobs,
        )
        async with asyncio.timeout(SOON):
            return await tool.function(**tool.arguments(json.dumps({"command": command, **more})))


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.jobs.close()


RUNNING = "[job 'j' is running: command '' reads on, 'stop' ends it]"


async def test_a_job_is_started_read_on_and_ended(bash: Shell) -> None:
    waits = "until test -e go; do sleep 0.01; done; echo seen; setsid sleep 31.91 & wait"
    server = f"trap 'echo bye; exit 3' TERM; echo up; {waits}"
    assert await bash(server, job="j") == f"up\n{RUNNING}"
    assert await bash("touch go") == "(no output)"
    assert await bash("", job="j") == f"seen\n{RUNNING}"
    assert await bash("stop", job="j") == "bye\n[1 still running in the background: ended]\nexit 3\n[job 'j' has ended]"
    assert not alive("31.91")
    assert bash.settled == ["touch go", server]


async def test_what_ends_at_once_is_told_at_once_and_leaves_the_name_free(bash: Shell) -> None:
    assert await bash("echo no; exit 4", job="j") == "no\nexit 4\n[job 'j' has ended]"
    assert await bash("echo again", job="j") == "again\n[job 'j' has ended]"


async def test_a_reader_waits_for_news_or_the_end(bash: Shell) -> None:
    await bash("until test -e go; do sleep 0.01; done", job="j")
    reading = asyncio.create_task(bash("", job="j"))
    await bash("touch go")
    assert await reading == "[job 'j' has ended]"


async def test_a_reader_waits_no_longer_than_it_says(bash: Shell) -> None:
    await bash("sleep 31.92", job="j")
    assert await bash("", job="j", timeout=1) == RUNNING


async def test_a_flood_of_a_job_is_bounded_and_kept_in_a_file(bash: Shell) -> None:
    said = await bash("seq 1 20000; sleep 31.93", job="j")
    assert len(said.encode()) < 31_000
    [kept] = (bash.top / "outputs").iterdir()
    assert f"full output in outputs/{kept.name}" in said
    assert kept.read_text().endswith("20000\n")


@pytest.mark.parametrize(
    ("command", "job", "why"),
    [
        ("", "k", "no job 'k'; running: j"),
        ("stop", "k", "no job 'k'; running: j"),
        ("echo other", "j", "job 'j' is running"),
        ("echo", "../x", "1 to 40 letters"),
        ("echo \0", "k", "can't be started"),
    ],
)
async def test_what_makes_no_sense_says_what_does(bash: Shell, command: str, job: str, why: str) -> None:
    await bash("sleep 31.94", job="j")
    with pytest.raises(ToolError, match=why):
        await bash(command, job=job)
    assert "j" in bash.jobs


async def test_there_are_only_so_many(bash: Shell) -> None:
    await asyncio.gather(*(bash("sleep 31.95", job=f"j{number}") for number in range(8)))
    with pytest.raises(ToolError, match="8 jobs run already"):
        await bash("sleep 31.95", job="more")


async def test_the_end_of_a_session_ends_its_jobs(bash: Shell) -> None:
    await bash("trap '' TERM HUP; setsid sleep 31.96 & sleep 31.96", job="j")
    before = len(list(Path("/proc/self/fd").iterdir()))
    bash.jobs.close()
    await until(lambda: not alive("31.96"))
    assert len(list(Path("/proc/self/fd").iterdir())) < before
    assert len(bash.settled) == 1


async def test_a_start_that_is_cancelled_leaves_no_job(bash: Shell) -> None:
    task = asyncio.create_task(bash("sleep 31.97", job="j"))
    await until(lambda: alive("sleep\x0031.97"))
    task.cancel()
    await asyncio.wait([task])
    await until(lambda: not alive("31.97"))
    with pytest.raises(ToolError, match="no job 'j'; running: none"):
        await bash("", job="j")


async def test_optional_words_that_small_models_fill_in_change_nothing(bash: Shell) -> None:
    assert await bash("echo hello", timeout=0, job="stop") == "hello"
    assert "stop" not in bash.jobs
