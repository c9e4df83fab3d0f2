"""What a start costs: CPU time and peak memory of whole processes, each beside the least that could do the same.

    python bench/startup.py [VENV]

VENV holds ogcode as users have it: not editable, bytecode compiled. Without it one is made for the run, from
requirements.lock and this checkout; that takes a minute. A one-shot is measured until it exits: the scribe that it
leaves behind is waited for between runs and not counted. Nothing leaves this machine but the installation.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 20
QUIET = 5.0
"""Seconds to wait for the scribe of the run before."""
ANSWER = "Hi there."

# A process's peak counts from the size of the one that started it, so the starter must be the smallest there is.
STARTER = """
import os, sys
to_null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", flags, 0) for fd, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY))]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=to_null)
_, status, usage = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""

BARE = """
import asyncio, json, os, httpx
async def ask() -> None:
    messages = [{"role": "system", "content": "bare httpx"}, {"role": "user", "content": "say hi"}]
    body = {"model": "x", "stream": True, "messages": messages}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    async with httpx.AsyncClient() as client, client.stream("POST", url, json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    print(choice["delta"].get("content") or "", end="", flush=True)
asyncio.run(ask())
"""

BARE_OLLAMA = """
import asyncio, json, os, httpx
async def ask() -> None:
    messages = [{"role": "system", "content": "bare httpx"}, {"role": "user", "content": "say hi"}]
    body = {"model": "fake", "stream": True, "messages": messages}
    url = os.environ["OLLAMA_HOST"] + "/api/chat"
    async with httpx.AsyncClient() as client, client.stream("POST", url, json=body) as response:
        async for line in response.aiter_lines():
            print(json.loads(line)["message"].get("content") or "", end="", flush=True)
asyncio.run(ask())
"""

PAIRS = (
    ("ogcode --version", "python -c pass"),
    ("ogcode -p, OpenAI", "bare httpx, OpenAI"),
    ("ogcode -p, Ollama", "bare httpx, Ollama"),
)
"""Each beside the least that could do the same."""


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float
    peak: float
    """CPU in seconds, user and system; peak resident memory in MB."""


def install(folder: Path) -> Path:
    """Make a virtual environment with ogcode as a user would have it."""
    (tree := folder / "tree").mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in ("agent", "librarian", "scribe", "tui"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    venv = folder / "venv"
    subprocess.run([sys.executable, "-I", "-m", "venv", venv], check=True)
    pip = [f"{venv}/bin/python", "-I", "-m", "pip", "--disable-pip-version-check", "install", "-qq", "--no-deps"]
    subprocess.run([*pip, "--require-hashes", "-r", ROOT / "requirements.lock"], check=True)
    subprocess.run([*pip, "--no-build-isolation", tree], check=True)
    return venv


@contextlib.contextmanager
def endpoint(folder: Path) -> Iterator[str]:
    """Serve a model that answers the agent and the bare call, and refuses the scribe, which then writes without one."""
    hi = [{"text": ANSWER}]
    script = [{"tool": "bash", "replies": hi}, {"system": "bare httpx", "replies": hi}, {"replies": [{"status": 401}]}]
    (folder / "script.json").write_text(json.dumps(script))
    command = [sys.executable, "-P", f"{ROOT}/tests/fake_server.py", f"{folder}/script.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield server.stdout.readline().removeprefix("READY").strip()
        finally:
            server.kill()


def measure(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Cost:
    starter = [sys.executable, "-I", "-S", "-c", STARTER, *command]
    done = subprocess.run(starter, cwd=cwd, env=env, check=True, stdout=subprocess.PIPE, text=True)
    code, cpu, peak = done.stdout.split()
    assert code == "0", f"exit code {code}: {command}"
    deadline = time.monotonic() + QUIET
    while any((cwd / ".ogcode" / "spool").glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    return Cost(float(cpu), int(peak) / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary, endpoint(Path(temporary)) as url:
        folder = Path(temporary)
        venv = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else install(folder)
        (work := folder / "repository").mkdir()
        env = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
            "HOME": temporary,
            "OGCODE_SCRIBE_LINGER": "0",
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": f"{url}/v1",
            "OLLAMA_HOST": url,
        }
        python, ogcode = f"{venv}/bin/python", f"{venv}/bin/ogcode"
        cases = {
            "python -c pass": [python, "-c", "pass"],
            "ogcode --version": [ogcode, "--version"],
            "bare httpx, OpenAI": [python, "-c", BARE],
            "ogcode -p, OpenAI": [ogcode, "-p", "say hi", "-m", "openai/x"],
            "bare httpx, Ollama": [python, "-c", BARE_OLLAMA],
            "ogcode -p, Ollama": [ogcode, "-p", "say hi", "-m", "ollama/fake"],
        }
        for name in [*cases][2:]:
            said = subprocess.run(cases[name], cwd=work, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
            assert said.strip() == ANSWER, f"{name} answered {said!r}"
        costs: dict[str, list[Cost]] = {name: [] for name in cases}
        for run in range(RUNS + 1):  # the first warms the disk's cache and is not counted
            for name, command in cases.items():
                cost = measure(command, cwd=work, env=env)
                costs[name] += [cost] if run else []
    print(f"{f'n = {RUNS}':18}{'CPU ms: median':>16}{'min':>8}{'max':>8}{'peak MB':>10}")
    middle = {name: statistics.median(cost.cpu for cost in all_) for name, all_ in costs.items()}
    for name, all_ in costs.items():
        times = [cost.cpu * 1e3 for cost in all_]
        print(f"{name:18}{middle[name] * 1e3:16.1f}{min(times):8.1f}{max(times):8.1f}{max(c.peak for c in all_):10.1f}")
    for name, least_name in PAIRS:
        print(f"{name} / {least_name}: {middle[name] / middle[least_name]:.2f}")


if __name__ == "__main__":
    main()
