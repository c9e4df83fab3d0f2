"""The tool that runs commands."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from ogcode.agent.commands.ground import Ground
from ogcode.agent.sandbox.layout import SandboxRefused
from ogcode.agent.sandbox.wrapped import Wrap, Wrapped
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.tools.jobs import STOP, Jobs
from ogcode.agent.tools.printed import Printed, Tail
from ogcode.agent.tools.process import program, run
from ogcode.agent.tools.workspace import Workspace

_SECONDS = 120
_LONGEST_SECONDS = 3_600
_SAFE_PATH = "/usr/local/bin:/usr/bin:/bin"
_PASSED = re.compile(r"HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|PATH")
_PASSED_WHERE_TRUSTED = re.compile(
    r"VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|JAVA_HOME|GOPATH|GOROOT|CARGO_HOME|RUSTUP_HOME|NVM_DIR|PYENV_ROOT|CI"
    r"|SSH_AUTH_SOCK|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|XDG_[A-Z_]+"
    r"|(?:HTTP|HTTPS|NO|ALL)_PROXY|(?:http|https|no|all)_proxy"
)
_QUIET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "false",
    "DEBIAN_FRONTEND": "noninteractive",
}
"""Nothing may wait for a key."""


def shell_tool(
    workspace: Workspace,
    *,
    environ: Mapping[str, str],
    output_folder: Path | None,
    trusted: bool,
    max_bytes: int = 30_000,
    sandbox: Wrap = Wrapped,
    jobs: Jobs | None = None,
) -> Tool:
    """Make `bash`. Of an output over `max_bytes` it returns head and tail; all is in a file of `output_folder`.

    `jobs` holds what is started in the background, and is the caller's to close.
    """
    given = child_environment(environ, workspace, trusted=trusted)
    shell = _shell(given["PATH"], workspace)
    held = jobs or Jobs()

    def printed() -> Printed:
        return Printed(max_bytes, output_folder)

    @tool(effect="run")
    async def bash(
        command: str,
        timeout: int = _SECONDS,  # noqa: ASYNC109  # the model's word
        job: Annotated[str, "a name runs it in the background; '' reads on, 'stop' ends it"] = "",
    ) -> str:
        """Run a command without input at the top folder."""
        timeout = timeout or _SECONDS  # small models fill in what is optional
        job = "" if job == STOP and command.strip() else job
        if not 1 <= timeout <= _LONGEST_SECONDS:
            raise ToolError(f"timeout must be 1 to {_LONGEST_SECONDS} seconds")
        if job and (job in held or command.strip() in ("", STOP)):
            return await held.go_on(job, command.strip(), printed, workspace, seconds=timeout)
        try:
            line = sandbox(
                [*shell, command],
                _guarded(command, given, Ground(workspace.top, given["PATH"], workspace.hidden, workspace.beside)),
            )
            if job:
                return await held.start(job, line, printed, workspace)
            return await _run(line, printed(), workspace, timeout, held)
        except SandboxRefused as error:
            raise ToolError(f"{error}; nothing was run") from error
        except (OSError, ValueError) as error:
            raise ToolError(f"the command can't be started ({error}); put a long one into a script") from error

    return bash


def _guarded(command: str, given: Mapping[str, str], ground: Ground) -> Mapping[str, str]:
    """Keep git from running what a repository names wherever that was the reason not to ask."""
    from ogcode.agent.commands.git import PROTECTED  # only where a command runs
    from ogcode.agent.commands.reading import only_reads

    return {**given, **PROTECTED} if only_reads(command.strip(), ground) else given


async def _run(line: Wrapped, output: Printed, workspace: Workspace, seconds: int, jobs: Jobs) -> str:
    jobs.now = seen = Tail()

    def feed(piece: bytes) -> bool:
        seen.feed(piece)
        return output.feed(piece)

    try:
        ended = await run(
            line.command, feed, cwd=workspace.top, environ=line.environ, seconds=seconds, keeper=line.keeper
        )
    finally:
        jobs.now = None
        output.close()
        settled = line.settle()  # also where the user stopped it
    text = output.text(workspace)
    if ended.timed_out:
        raise ToolError(
            f"timed out after {seconds} s and was ended; run less, give a longer timeout, or start it in the "
            "background with job='a name'. It printed:\n" + "\n".join((text or "(nothing)", *settled))
        )
    return "\n".join(part for part in (text, *ended.told(), *settled) if part) or "(no output)"


def child_environment(environ: Mapping[str, str], workspace: Workspace, *, trusted: bool) -> dict[str, str]:
    """Choose what a command may see of the environment: no key, and none of the programs of an untrusted folder."""
    passed = {
        name: value
        for name, value in environ.items()
        if _PASSED.fullmatch(name) or (trusted and _PASSED_WHERE_TRUSTED.fullmatch(name))
    }
    entries = [
        entry
        for entry in passed.get("PATH", "").split(os.pathsep)
        if entry.startswith("/") and (trusted or not Path(os.path.realpath(entry)).is_relative_to(workspace.top))
    ]
    return passed | _QUIET | {"PATH": os.pathsep.join(entries) or _SAFE_PATH}


def _shell(path: str, workspace: Workspace) -> list[str]:
    for places in (path, _SAFE_PATH):
        if bash := program("bash", places, outside=workspace.top):
            return [str(bash), "--noprofile", "--norc", "-c"]
    return [str(program("sh", _SAFE_PATH, outside=workspace.top) or "/bin/sh"), "-c"]
