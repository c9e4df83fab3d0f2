"""What a one-word answer costs, here and with other agents: CPU time and peak memory of whole processes.

    python bench/peers.py [--venv VENV] [--peer NAME=COMMAND] …

NAME is one of llm, codex, claude, pi, mini, aider; COMMAND is where it was installed. VENV holds ogcode as users have
it; without it one is made, which takes a minute. All ask one server on loopback that always says the same, as OpenAI
(chat and responses), Anthropic and Ollama do; each has a home and a folder of its own, and answers once before it is
measured. CPU is that of a process and of all that it waited for, the peak that of the largest of them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from startup import BARE, BARE_OLLAMA, Cost, install, measure

ANSWER = "Hi."
OURS, THEIRS = 20, 5
"""Runs of ogcode and the bare scripts, and of each of the others."""
ENDS = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How mini-swe-agent is told that all is done: it takes no answer without a command."""


@dataclass(frozen=True)
class Case:
    command: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Its settings, by name from its home."""
    said: str = ANSWER


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare what a one-word answer costs.")
    parser.add_argument("--venv", type=Path)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    given = parser.parse_args()
    peers = dict[str, str](each.split("=", 1) for each in given.peer)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        venv = given.venv.absolute() if given.venv else install(folder)
        url = serve()
        cases = {**ours(venv, url), **theirs(peers, url)}
        told = {name: Places(folder / name.replace("/", "-").replace(" ", "_"), case) for name, case in cases.items()}
        costs = {name: list[Cost]() for name in cases if told[name].answers(name)}
        for run in range(OURS):
            for name in costs:
                if run < THEIRS or "ogcode" in name or "bare" in name:
                    costs[name].append(told[name].measured())
    report(costs, sorted({"llm", "codex", "claude", "pi", "mini", "aider"} - peers.keys()))


class Places:
    """The home and the folder that a case runs in."""

    def __init__(self, folder: Path, case: Case) -> None:
        self._case, self._work, home = case, folder / "work", folder / "home"
        self._work.mkdir(parents=True)
        for name, text in case.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
        home.mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        fixed = {"HOME": str(home), "TERM": "dumb", "OGCODE_SCRIBE_LINGER": "0"}
        self._environ = {
            **kept,
            **fixed,
            **{name: text.replace("HOME", str(home)) for name, text in case.environ.items()},
        }

    def answers(self, name: str) -> bool:
        """Run it once: what does not answer is not measured."""
        try:
            done = subprocess.run(
                self._case.command,
                cwd=self._work,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return False
        if done.returncode == 0 and self._case.said in done.stdout:
            return True
        print(
            f"{name} ended with {done.returncode} and did not answer: {(done.stdout + done.stderr)[-600:]}",
            file=sys.stderr,
        )
        return False

    def measured(self) -> Cost:
        return measure(self._case.command, cwd=self._work, env=self._environ)


def ours(venv: Path, url: str) -> dict[str, Case]:
    openai = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"}
    python, ogcode = f"{venv}/bin/python", f"{venv}/bin/ogcode"
    return {
        "bare httpx / OpenAI": Case([python, "-c", BARE], openai),
        "ogcode / OpenAI": Case([ogcode, "-p", "say hi", "-m", "openai/fake"], openai),
        "bare httpx / Ollama": Case([python, "-c", BARE_OLLAMA], {"OLLAMA_HOST": url}),
        "ogcode / Ollama": Case([ogcode, "-p", "say hi", "-m", "ollama/fake"], {"OLLAMA_HOST": url}),
    }


def theirs(peers: Mapping[str, str], url: str) -> dict[str, Case]:
    """Say how each of the others is asked; by an endpoint of its own kind where it speaks nothing else."""
    found = dict[str, Case]()
    for name, command in peers.items():
        for kind, case in KNOWN[name](command, url).items():
            found[f"{name} / {kind}"] = case
    return found


def _llm(command: str, url: str) -> dict[str, Case]:
    models = f"- model_id: ours\n  model_name: fake\n  api_base: {url}/v1\n"
    here = {"LLM_USER_PATH": "HOME/llm", "OPENAI_API_KEY": "k", "OLLAMA_HOST": url}
    files = {"llm/extra-openai-models.yaml": models}
    return {
        "OpenAI": Case([command, "-m", "ours", "say hi"], here, files),
        "Ollama": Case([command, "-m", "ollama/fake", "say hi"], here),
    }


def _codex(command: str, url: str) -> dict[str, Case]:
    own = f'model_providers.own={{name="own",base_url="{url}/v1",wire_api="responses"}}'
    words = [command, "exec", "--skip-git-repo-check"]
    return {
        "OpenAI responses": Case([*words, "-m", "fake", "-c", 'model_provider="own"', "-c", own, "say hi"]),
        "Ollama responses": Case(
            [*words, "--oss", "--local-provider", "ollama", "-m", "fake", "say hi"], {"CODEX_OSS_BASE_URL": f"{url}/v1"}
        ),
    }


def _claude(command: str, url: str) -> dict[str, Case]:
    here = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "k",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return {"Anthropic": Case([command, "-p", "say hi"], here)}


def _pi(command: str, url: str) -> dict[str, Case]:
    own = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "k", "models": [{"id": "fake"}]}
    files = {".pi/agent/models.json": json.dumps({"providers": {"own": own}})}
    words = [command, "--provider", "own", "--model", "fake", "-p", "say hi"]
    return {"OpenAI": Case(words, {"PI_OFFLINE": "1"}, files)}


def _mini(command: str, url: str) -> dict[str, Case]:
    here = {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": "k",
        "OPENAI_API_BASE": f"{url}/v1",
        "OLLAMA_API_BASE": url,
    }
    words = [command, "--yolo", "--exit-immediately", "-t", "say hi", "-m"]
    return {
        "OpenAI": Case([*words, "openai/fake"], here, said="Exit:"),
        "Ollama": Case([*words, "ollama_chat/fake"], here, said="Exit:"),
    }


def _aider(command: str, url: str) -> dict[str, Case]:
    here = {"OPENAI_API_KEY": "k", "OPENAI_API_BASE": f"{url}/v1", "OLLAMA_API_BASE": url}
    quiet = ["--no-git", "--yes-always", "--no-check-update", "--analytics-disable", "--no-show-model-warnings"]
    words = [command, *quiet, "--no-pretty", "--message", "say hi", "--model"]
    return {"OpenAI": Case([*words, "openai/fake"], here), "Ollama": Case([*words, "ollama_chat/fake"], here)}


KNOWN: Mapping[str, Callable[[str, str], dict[str, Case]]] = {
    "aider": _aider,
    "claude": _claude,
    "codex": _codex,
    "llm": _llm,
    "mini": _mini,
    "pi": _pi,
}


def report(costs: Mapping[str, Sequence[Cost]], missing: Sequence[str]) -> None:
    print(f"{'':26}{'n':>4}{'CPU s: median':>15}{'p95':>8}{'peak MB: median':>17}{'p95':>8}{'CPU / bare':>12}")
    for name, runs in costs.items():
        cpu, peak = sorted(run.cpu for run in runs), sorted(run.peak for run in runs)
        bare = statistics.median(run.cpu for run in costs[f"bare httpx / {'Ollama' if 'Ollama' in name else 'OpenAI'}"])
        middle = statistics.median(cpu)
        print(
            f"{name:26}{len(runs):4}{middle:15.3f}{_p95(cpu):8.3f}{statistics.median(peak):17.1f}{_p95(peak):8.1f}"
            f"{middle / bare:12.2f}"
        )
    if missing:
        print(f"not given: {', '.join(missing)}")


def _p95(ordered: Sequence[float]) -> float:
    return ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]


def serve() -> str:
    """Start the server; give its address."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{http.server_address[1]}"


class Server(BaseHTTPRequestHandler):
    """Says `ANSWER` to everybody, or the command that ends it to who offers no way to just answer."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/api/tags":
                self._json(
                    {"models": [{"name": "fake", "model": "fake", "size": 1, "digest": "0" * 64, "details": {}}]}
                )
            case "/api/version":
                self._json({"version": "99.0.0"})
            case "/api/ps":
                self._json({"models": []})
            case _:
                self._json({"object": "list", "data": [{"id": "fake", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        bare = [tool.get("function", tool).get("name") for tool in body.get("tools") or ()] == ["bash"]
        command = ENDS if bare and "gcode" not in json.dumps(body)[:4_000] else ""
        match self.path.partition("?")[0]:
            case "/v1/chat/completions":
                self._chat(streamed=bool(body.get("stream")), command=command)
            case "/v1/responses":
                self._events(_responses())
            case "/v1/messages":
                self._events(_messages()) if body.get("stream") else self._json(_message())
            case "/api/chat":
                self._ollama(streamed=body.get("stream", True) is not False, command=command)
            case "/api/show":
                capabilities = {"capabilities": ["completion", "tools"], "model_info": {"fake.context_length": 32_768}}
                self._json({**capabilities, "details": {}, "template": "", "parameters": "", "modelfile": ""})
            case _:
                self._json({"input_tokens": 10, "status": "success"})

    def _chat(self, *, streamed: bool, command: str) -> None:
        calls = [
            {
                "index": 0,
                "id": "c1",
                "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": command})},
            }
        ]
        said = {"role": "assistant", "content": ANSWER, **({"tool_calls": calls} if command else {})}
        ended = "tool_calls" if command else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        whole = {"id": "x", "created": 0, "model": "fake"}
        if not streamed:
            choice = {"index": 0, "message": said, "finish_reason": ended}
            self._json({**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        piece = {**whole, "object": "chat.completion.chunk"}
        parts: list[dict[str, Any]] = [
            {**piece, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {**piece, "choices": [{"index": 0, "delta": {}, "finish_reason": ended}]},
            {**piece, "choices": [], "usage": usage},
        ]
        lines = [f"data: {json.dumps(part)}\n\n" for part in parts]
        self._send("".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")

    def _ollama(self, *, streamed: bool, command: str) -> None:
        calls = {"tool_calls": [{"function": {"name": "bash", "arguments": {"command": command}}}]} if command else {}
        message = {"role": "assistant", "content": ANSWER, **calls}
        named = {"model": "fake", "created_at": "2026-01-01T00:00:00Z"}
        end = {
            **named,
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 10,
            "eval_count": 2,
            "total_duration": 1,
        }
        if not streamed:
            self._json({**end, "message": message})
            return
        lines = [{**named, "message": message, "done": False}, {**end, "message": {"role": "assistant", "content": ""}}]
        self._send("".join(f"{json.dumps(line)}\n" for line in lines).encode(), "application/x-ndjson")

    def _events(self, events: Sequence[Mapping[str, Any]]) -> None:
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(text.encode(), "text/event-stream")

    def _json(self, value: object) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _responses() -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    counts = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": {**counts, **details}}
    return [
        {"type": "response.created", "response": {"id": "r1", "object": "response", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0, "delta": ANSWER},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]


def _message() -> dict[str, Any]:
    said = {"id": "m1", "type": "message", "role": "assistant", "model": "fake", "stop_sequence": None}
    usage = {"input_tokens": 10, "output_tokens": 2}
    return {**said, "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn", "usage": usage}


def _messages() -> list[dict[str, Any]]:
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": {**_message(), "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]


if __name__ == "__main__":
    main()
