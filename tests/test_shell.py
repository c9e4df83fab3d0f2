import asyncio
import json
import os
from pathlib import Path

import pytest
from waiting import alive, until

from ogcode.agent.tool import ToolError
from ogcode.agent.tools.shell import child_environment, shell_tool
from ogcode.agent.tools.workspace import Workspace

ENVIRON = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


SOON = 20.0
"""Seconds after which a test gives up; what must not be waited for takes longer."""


class Shell:
    def __init__(self, top: Path, environ: dict[str, str] = ENVIRON, *, trusted: bool = True) -> None:
        self.top = top
        self.outputs = top / ".ogcode" / "outputs"
        self.tool = shell_tool(Workspace(top), environ=environ, output_folder=self.outputs, trusted=trusted)

    async def run(self, command: str, **more: object) -> str:
        async with asyncio.timeout(SOON):
            return await self.tool.function(**self.tool.arguments(json.dumps({"command": command, **more})))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo hi", "hi"),
        ("true", "(no output)"),
        ("false", "exit 1"),
        ("echo out; echo err >&2; exit 3", "out\nerr\nexit 3"),
        ("kill -SEGV $$", "exit 139 (Segmentation fault)"),
        ("printf 'a\\033[31mb\\033]52;c;QQ\\007c'", "abc"),
        ("printf '1%%\\r50%%\\r100%%\\n'", "100%"),
        ("printf 'caf\\351\\n'", "caf\ufffd"),
        ("no_such_program", "bash: line 1: no_such_program: command not found\nexit 127"),
        ("pwd -P | grep -c .", "1"),
        ("echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $GIT_EDITOR $EDITOR", "dumb cat cat 0 true false"),
        ("shopt -q login_shell || echo $BASH_VERSION | grep -c .", "1"),
    ],
)
async def test_the_answer_is_the_output_and_how_it_ended(shell: Shell, command: str, said: str) -> None:
    assert (await shell.run(command)).removeprefix("/usr/bin/") == said


@pytest.mark.parametrize(
    "command", ["read x", "cat", "python3 -c 'input()'", "sudo -n true", "git commit", "cat /dev/tty"]
)
async def test_what_waits_for_a_key_ends_at_once(shell: Shell, command: str) -> None:
    await shell.run(command)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 31.71 & echo done",
        "setsid sleep 31.71 & echo done",
        "(setsid nohup sleep 31.71 >/dev/null 2>&1 &) ; echo done",
        "trap '' TERM HUP; sleep 31.71 & echo done",
    ],
)
async def test_a_child_in_the_background_is_not_waited_for_and_does_not_stay(shell: Shell, command: str) -> None:
    said = await shell.run(command)
    assert said.startswith("done\n[1 still running")
    await until(lambda: not alive("31.71"))


async def test_a_child_that_floods_in_the_background_is_ended(shell: Shell) -> None:
    said = await shell.run("yes 31.72 & sleep 0.2")
    assert len(said.encode()) < 32_000
    await until(lambda: not alive("31.72"))


async def test_a_last_line_written_behind_the_shell_is_kept(shell: Shell) -> None:
    assert await shell.run("echo late > >(sleep 0.03; cat)") == "late"


@pytest.mark.parametrize(
    "command",
    [
        "echo before; sleep 31.73",
        "echo before; trap '' TERM; while :; do : 31.73; done",
        "echo before; setsid sleep 31.73 & wait",
    ],
)
async def test_a_timeout_ends_everything_and_says_what_to_do(shell: Shell, command: str) -> None:
    with pytest.raises(ToolError, match=r"timed out after 1 s .*longer timeout.*\nbefore"):
        await shell.run(command, timeout=1)
    await until(lambda: not alive("31.73"))


async def test_on_a_timeout_a_command_may_clean_up(shell: Shell) -> None:
    with pytest.raises(ToolError, match="cleaned"):
        await shell.run("trap 'echo cleaned; exit' TERM; while :; do sleep 0.05; done", timeout=1)


@pytest.mark.parametrize("command", ["sleep 31.74", "trap '' TERM; setsid sleep 31.74 & wait", "yes 31.74"])
async def test_a_cancel_ends_everything_and_waits_for_no_command(shell: Shell, command: str) -> None:
    task = asyncio.create_task(shell.run(command))
    await until(lambda: alive("31.74"))
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=SOON)
    assert [each.cancelled() for each in done] == [True]
    await until(lambda: not alive("31.74"))


@pytest.mark.parametrize(
    ("command", "size"),
    [
        ("head -c 50000000 /dev/urandom", 50_000_000),
        ("yes | head -c 100000000", 100_000_000),
        pytest.param("yes | head -c 1000000000", 1_000_000_000, marks=pytest.mark.torture),
        ("head -c 5000000 /dev/zero | tr '\\0' x", 5_000_000),
        ("yes $'\\u200b' | head -c 1000000", 1_000_000),
    ],
)
async def test_a_flood_is_bounded_and_kept_in_a_file(shell: Shell, command: str, size: int) -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = await shell.run(command)
    assert len(said.encode()) <= 31_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    (kept,) = shell.outputs.iterdir()
    assert f".ogcode/outputs/{kept.name}" in said
    assert kept.stat().st_size == min(size, 50_000_000)
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_head_and_tail_are_shown_and_the_middle_is_counted(shell: Shell) -> None:
    said = await shell.run("seq 1 20000; exit 4")
    head, middle, tail = said.partition("\n… ")
    first, left = head.split("\n"), int(tail.split(" lines left out; full output in ")[0].replace(",", ""))
    last = tail.split(" …\n")[1].split("\n")
    assert middle
    assert first[0] == "1"
    assert last[-2:] == ["20000", "exit 4"]
    assert len(first) + left + len(last) - 1 == 20_000


async def test_no_key_and_nothing_that_steers_programs_is_passed_on(tmp_path: Path) -> None:
    hostile = {
        "OPENAI_API_KEY": "k",
        "ANTHROPIC_API_KEY": "k",
        "BASH_ENV": "/x",
        "LD_PRELOAD": "/x",
        "GIT_CONFIG_COUNT": "77",
        "PYTHONPATH": "/x",
        "RIPGREP_CONFIG_PATH": "/x",
        "BASH_FUNC_ls%%": "() { echo pwned; }",
        "PROMPT_COMMAND": "x",
    }
    for trusted in (True, False):
        said = await Shell(tmp_path, ENVIRON | hostile, trusted=trusted).run("env")
        assert not {f"{name}={value}" for name, value in hostile.items()} & set(said.split("\n"))


async def test_a_planted_shell_never_runs(tmp_path: Path) -> None:
    planted = tmp_path / "bin" / "bash"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    environ = ENVIRON | {"PATH": f"{planted.parent}:.:{ENVIRON['PATH']}"}
    assert await Shell(tmp_path, environ).run("echo real") == "real"
    assert child_environment(environ, Workspace(tmp_path), trusted=False)["PATH"] == ENVIRON["PATH"]
    assert child_environment(environ, Workspace(tmp_path), trusted=True)["PATH"].startswith(str(planted.parent))
    assert child_environment({"PATH": ".:bin"}, Workspace(tmp_path), trusted=True)["PATH"].startswith("/usr/local/bin")


@pytest.mark.parametrize("command", ["echo \0", "echo " + "x" * 200_000, "echo \ud800"])
async def test_a_command_that_cannot_be_started_is_the_models_error(shell: Shell, command: str) -> None:
    with pytest.raises(ToolError, match="can't be started"):
        await shell.run(command)


@pytest.mark.parametrize("timeout", [-1, 10**9])
async def test_a_timeout_out_of_range_is_refused(shell: Shell, timeout: int) -> None:
    with pytest.raises(ToolError, match="1 to 3600"):
        await shell.run("true", timeout=timeout)


async def test_no_descriptor_is_left_open(shell: Shell) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for command in ("true", "sleep 31.75 &", "seq 1 20000"):
        await shell.run(command)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
