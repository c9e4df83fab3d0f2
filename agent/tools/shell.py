"""The tool that runs commands."""

import os
import re
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ogcode.agent.clean import clean, fold_returns
from ogcode.agent.tool import Tool, ToolError, tool
from ogcode.agent.tools.process import Ended, program, run
from ogcode.agent.tools.workspace import Workspace

_LONGEST_SECONDS = 3_600
_SPILL_BYTES = 50_000_000
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
) -> Tool:
    """Make `bash`. Of an output over `max_bytes` it returns head and tail; all is in a file of `output_folder`."""
    given = child_environment(environ, workspace, trusted=trusted)
    shell = _shell(given["PATH"], workspace)

    @tool(effect="run")
    async def bash(command: str, timeout: int = 120) -> str:  # noqa: ASYNC109  # the model's word
        """Run a command without input, at the top folder, for at most timeout seconds."""
        if not 1 <= timeout <= _LONGEST_SECONDS:
            raise ToolError(f"timeout must be 1 to {_LONGEST_SECONDS} seconds")
        output = _Output(max_bytes, output_folder)
        try:
            ended = await run([*shell, command], output.feed, cwd=workspace.top, environ=given, seconds=timeout)
        except (OSError, ValueError) as error:
            raise ToolError(f"the command can't be started ({error}); put a long one into a script") from error
        finally:
            output.close()
        text = output.text(workspace)
        if ended.timed_out:
            raise ToolError(
                f"timed out after {timeout} s and was ended; run less, or give a longer timeout. It printed:\n"
                + (text or "(nothing)")
            )
        return "\n".join(part for part in (text, *_notes(ended)) if part) or "(no output)"

    return bash


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


def _notes(ended: Ended) -> list[str]:
    notes = list[str]()
    if ended.left:
        notes.append(f"[{ended.left} still running in the background: ended]")
    if ended.code < 0:
        notes.append(f"exit {128 - ended.code} ({signal.strsignal(-ended.code) or 'signal'})")
    elif ended.code:
        notes.append(f"exit {ended.code}")
    return notes


class _Output:
    """What a command prints: head and tail in memory, all of it in a file once it is too long to return."""

    def __init__(self, max_bytes: int, folder: Path | None) -> None:
        self._half = max_bytes // 2
        self._folder = folder
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._lines = 0
        self._file: int | None = None
        self._name: Path | None = None
        self._spilled = 0
        self._fault = ""

    def feed(self, piece: bytes) -> bool:
        self._size += len(piece)
        self._lines += piece.count(b"\n")
        room = 2 * self._half - len(self._head)
        if room > 0 and not self._tail:
            self._head += piece[:room]
            piece = piece[room:]
        if not piece:
            return True
        if self._file is None and not self._fault:
            self._spill(bytes(self._head))
        self._spill(piece)
        self._tail += piece[-self._half :]
        if len(self._tail) > 4 * self._half:
            del self._tail[: -self._half]
        return True

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def text(self, workspace: Workspace) -> str:
        """Give it as the model reads it, bounded whatever it holds."""
        if _binary(self._head):
            return f"[{self._size:,} bytes that are not text{self._where(workspace)}]"
        if not self._tail:
            whole = _plain(self._head)
            if len(whole.encode()) <= 2 * self._half:
                return whole.rstrip("\n")
        kept = bytes(self._head + self._tail)
        head = _start(_plain(self._head[: self._half]), self._half)
        tail = _end(_plain(kept[-self._half :]), self._half).rstrip("\n")
        left = self._lines + (not kept.endswith(b"\n")) - head.count("\n") - tail.count("\n") - 2
        rest = self._size - len(head.encode()) - len(tail.encode())
        what = f"{left:,} lines" if left > 1 else f"{max(0, rest):,} bytes"
        return f"{head}\n… {what} left out{self._where(workspace)} …\n{tail}"

    def _where(self, workspace: Workspace) -> str:
        if self._name is None:
            return f"; {self._fault}" if self._fault else ""
        part = f"first {_SPILL_BYTES // 1_000_000} MB of the" if self._size > self._spilled else "full"
        return f"; {part} output in {workspace.display(self._name)}"

    def _spill(self, piece: bytes) -> None:
        if self._fault:
            return
        try:
            if self._file is None:
                if self._folder is not None:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file, name = tempfile.mkstemp(".txt", "bash-", self._folder)
                self._name = Path(name)
            rest = memoryview(piece[: _SPILL_BYTES - self._spilled])
            self._spilled += len(rest)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self._fault, self._name = f"it could not be kept ({error.strerror})", None
            self.close()


def _plain(piece: bytes | bytearray) -> str:
    return clean(fold_returns(piece.decode("utf-8", "replace")), prose=True)


def _binary(start: bytes | bytearray) -> bool:
    sample = start[:4_096]
    odd = sample.decode("utf-8", "replace").count("\ufffd") + sum(sample.count(code) for code in (0, 1, 2, 3, 4, 5, 6))
    return b"\0" in sample and odd * 10 > len(sample)


def _start(text: str, most: int) -> str:
    """Cut to whole lines where there are any."""
    cut = text.encode()[:most].decode("utf-8", "ignore")
    whole = cut.rpartition("\n")[0]
    return whole if len(whole) * 2 > len(cut) else cut


def _end(text: str, most: int) -> str:
    cut = text.encode()[-most:].decode("utf-8", "ignore")
    whole = cut.partition("\n")[2]
    return whole if len(whole) * 2 > len(cut) else cut
