"""A model server on loopback that says what a script says, as OpenAI and Anthropic (SSE) and as Ollama (NDJSON).

    python tests/fake_server.py --port 8099 script.json

where script.json is a list of {"system": …, "when": …, "tool": …, "replies": [{"text", "calls", "status", "stall"}]}:
the first entry whose words occur in the system text, the last user message and the names of the tools offered
answers, with its replies in order, the last one again and again.
"""

import argparse
import json
import select
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, Self

Body = dict[str, Any]


@dataclass(frozen=True)
class Say:
    text: str
    reasoning: str = ""


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Fail:
    """An HTTP error; `body` is text or becomes JSON."""

    status: int
    body: object = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stall:
    """Say `text`, then nothing until the client goes away. Without `headers` not even those come."""

    text: str = ""
    headers: bool = True


@dataclass(frozen=True)
class Late:
    """Send nothing, not even headers, until `until` is set: a model is being loaded."""

    until: threading.Event
    say: "Say | Call"


@dataclass(frozen=True)
class Cut:
    """Break the connection off after that many bytes of what `say` would give."""

    after: int
    say: "Say | Call" = Say("cut off before its end")


@dataclass(frozen=True)
class Raw:
    """These lines, as they are."""

    lines: tuple[str, ...]
    kind: str = "text/event-stream"


@dataclass(frozen=True)
class Bytes:
    """The first `after` bytes of a recorded answer; then the connection breaks off, or its body has a proper end."""

    content: bytes
    after: int | None = None
    broken: bool = True


Part = Say | Call
Reply = Part | tuple[Part, ...] | Fail | Stall | Late | Cut | Raw | Bytes
Script = Callable[[Body], Reply] | Sequence[Reply]

CHATS = ("/chat/completions", "/api/chat", "/v1/messages")


@dataclass(frozen=True)
class Seen:
    path: str
    headers: Mapping[str, str]
    body: Body
    port: int
    """The client's."""
    raw: bytes = b""
    """The body as it came."""


class FakeServer:
    """Serve `script`; use it as a context manager. `chats` are the bodies of what the model was asked."""

    def __init__(
        self,
        script: Script,
        *,
        models: Sequence[str] = ("fake",),
        show: Mapping[str, object] | None = None,
        loaded: Mapping[str, int] | None = None,
        window: int | None = None,
        sizes: Mapping[str, str] | None = None,
        told: Mapping[str, object] | None = None,
        port: int = 0,
    ) -> None:
        self.told = dict(told or {})
        """What a path answers instead of the usual."""
        self._script = script
        self._replies = list(script) if isinstance(script, Sequence) else []
        self._lock = threading.Lock()
        self.models = models
        self.show = {"capabilities": ["completion", "tools"], "model_info": {"fake.context_length": 32768}} | dict(
            show or {}
        )
        self.loaded = dict(loaded or {})
        self.window = window
        self.sizes = dict(sizes or {})
        self.prompt_tokens: int | None = None
        """What is reported instead of bytes / 4."""
        self.seen: list[Seen] = []
        self.gone = threading.Event()
        """A client left a `Stall`."""
        self.stalled = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def chats(self) -> list[Body]:
        return [seen.body for seen in self.seen if seen.path.endswith(CHATS)]

    def reply(self, body: Body) -> Reply:
        if callable(self._script):
            return self._script(body)
        with self._lock:
            return self._replies.pop(0) if self._replies else Fail(400, "the script of the fake server has run out")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def serve_forever(self) -> None:
        self._http.serve_forever()


def system_of(body: Body) -> str:
    said = [block["text"] for block in body.get("system", ())]
    return "\n".join([*said, *(str(each["content"]) for each in body["messages"] if each["role"] == "system")])


def last_user(body: Body) -> str:
    return next((str(message["content"]) for message in reversed(body["messages"]) if message["role"] == "user"), "")


def tools_of(body: Body) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in body.get("tools") or ()]


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

        def _headers(self) -> dict[str, str]:
            return {name.lower(): value for name, value in self.headers.items()}

        def do_GET(self) -> None:
            server.seen.append(Seen(self.path, self._headers(), {}, self.client_address[1]))
            self._answer({})

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(text or b"{}")
            server.seen.append(Seen(self.path, self._headers(), body, self.client_address[1], text))
            try:
                if self.path.endswith("/chat/completions"):
                    self._chat(body, len(text), _openai)
                elif self.path == "/api/chat":
                    self._chat(body, len(text), _ollama)
                elif self.path == "/v1/messages":
                    self._chat(body, len(text), _anthropic)
                else:
                    self._answer(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _answer(self, body: Body) -> None:
            match self.path:
                case path if path in server.told:
                    self._json(200, server.told[path])
                case "/v1/models":
                    extra = {"max_model_len": server.window} if server.window else {}
                    self._json(200, {"object": "list", "data": [{"id": name, **extra} for name in server.models]})
                case "/api/tags":
                    self._json(200, {"models": [_tag(name, server.sizes) for name in server.models]})
                case "/api/ps":
                    entries = [{"name": name, "context_length": size} for name, size in server.loaded.items()]
                    self._json(200, {"models": entries})
                case "/api/show" if body.get("model") in server.models:
                    own = server.show.get(body["model"], server.show)
                    self._json(200, own)
                case "/api/show":
                    self._json(404, {"error": f"model '{body.get('model')}' not found"})
                case _:
                    self._json(404, {"error": "not found"})

        def _chat(self, body: Body, length: int, shape: "Shape") -> None:
            reply = server.reply(body)
            if isinstance(reply, Late):
                reply.until.wait(20)
                reply = reply.say
            counts = length // 4 if server.prompt_tokens is None else server.prompt_tokens
            match reply:
                case Fail(status, text, headers):
                    self._json(status, text, headers)
                case Stall(text, headers):
                    if headers:
                        self._begin("text/event-stream")
                        self._chunk(shape.piece(Say(text)) if text else "")
                    server.stalled.set()
                    while not (select.select([self.connection], [], [], 5)[0] and not self.connection.recv(1)):
                        pass
                    server.gone.set()
                    self.close_connection = True
                case Cut(after, say):
                    whole = shape.piece(say) + shape.end(counts, 1)
                    self._begin("text/event-stream")
                    self._chunk(whole.encode()[:after].decode("utf-8", "ignore"))
                    self.close_connection = True
                case Raw(lines, kind):
                    self._begin(kind)
                    for line in lines:
                        self._chunk(line + "\n")
                    self._chunk("")
                    self.wfile.write(b"0\r\n\r\n")
                case Bytes(content, after, broken):
                    self._begin("text/event-stream")
                    self._send(content[:after])
                    self.close_connection = broken
                    if not broken:
                        self.wfile.write(b"0\r\n\r\n")
                case _:
                    parts = reply if isinstance(reply, tuple) else (reply,)
                    self._begin(shape.kind)
                    numbers = count()
                    for place, part in enumerate(parts):
                        for piece in _pieces(part):
                            self._chunk(shape.piece(piece, next(numbers) if shape is _anthropic else place))
                    self._chunk(shape.end(counts, len(str(reply)) // 4))
                    self.wfile.write(b"0\r\n\r\n")

        def _json(self, status: int, value: object, headers: Mapping[str, str] | None = None) -> None:
            content = value.encode() if isinstance(value, str) else json.dumps(value).encode()
            self.send_response(status)
            for name, text in ({"Content-Type": "application/json"} | dict(headers or {})).items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(content)))
            with suppress(ConnectionError):  # who asked has left
                self.end_headers()
                self.wfile.write(content)

        def _begin(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()

        def _chunk(self, text: str) -> None:
            self._send(text.encode())

        def _send(self, content: bytes) -> None:
            if content:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
                self.wfile.flush()

    return Handler


@dataclass(frozen=True)
class Shape:
    kind: str
    piece: Callable[..., str]
    end: Callable[[int, int], str]


def _pieces(part: Part) -> list[Part]:
    """Text comes in pieces of a few words, as from a real model."""
    if isinstance(part, Call):
        return [part]
    texts: list[Part] = [Say(part.text[start : start + 16]) for start in range(0, len(part.text), 16)]
    return [Say("", part.reasoning), *texts] if part.reasoning else texts


def _tag(name: str, sizes: Mapping[str, str]) -> Body:
    return {"name": name, "model": name, "size": 1, "details": {"parameter_size": sizes.get(name, "1B")}}


def _openai_piece(part: Part, place: int = 0) -> str:
    if isinstance(part, Say):
        delta: Body = {"reasoning_content": part.reasoning} if part.reasoning else {"content": part.text}
        return _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    text = json.dumps(part.arguments)
    half = len(text) // 2
    first = {"index": place, "id": part.id or f"fake_{place}", "type": "function"}
    pieces = [
        first | {"function": {"name": part.name, "arguments": text[:half]}},
        {"index": place, "function": {"arguments": text[half:]}},
    ]
    return "".join(
        _event({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}]}) for piece in pieces
    )


def _openai_end(given: int, taken: int) -> str:
    usage = {"prompt_tokens": given, "completion_tokens": taken, "total_tokens": given + taken}
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return _event(finish) + _event({"choices": [], "usage": usage}) + "data: [DONE]\n\n"


def _event(chunk: Body) -> str:
    chunk = {"id": "fake", "object": "chat.completion.chunk", "created": 0, "model": "fake"} | chunk
    return f"data: {json.dumps(chunk)}\n\n"


def _ollama_piece(part: Part, place: int = 0) -> str:
    message: Body = {"role": "assistant", "content": ""}
    if isinstance(part, Say):
        message |= {"thinking": part.reasoning} if part.reasoning else {"content": part.text}
    else:
        message["tool_calls"] = [{"function": {"name": part.name, "arguments": dict(part.arguments)}}]
    return json.dumps({"model": "fake", "message": message, "done": False}) + "\n"


def _ollama_end(given: int, taken: int) -> str:
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": given, "eval_count": taken}
    return json.dumps({"model": "fake", "message": {"role": "assistant", "content": ""}} | end) + "\n"


def _anthropic_piece(part: Part, place: int = 0) -> str:
    if isinstance(part, Call):
        start: Body = {"type": "tool_use", "id": part.id or f"toolu_{place}", "name": part.name, "input": {}}
        text = json.dumps(part.arguments) if part.arguments else ""
        half = len(text) // 2
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in (text[:half], text[half:])]
    elif part.reasoning:
        start = {"type": "thinking", "thinking": "", "signature": ""}
        thought = {"type": "thinking_delta", "thinking": part.reasoning}
        deltas = [thought, {"type": "signature_delta", "signature": f"signed:{part.reasoning}"}]
    else:
        start, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": part.text}]
    grown: list[Body] = [{"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas]
    started: Body = {"type": "content_block_start", "index": place, "content_block": start}
    ended: Body = {"type": "content_block_stop", "index": place}
    return "".join(map(_named_event, [started, {"type": "ping"}, *grown, ended]))


def _anthropic_end(given: int, taken: int) -> str:
    usage = {"input_tokens": given, "output_tokens": taken}
    finish = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    return _named_event(finish) + _named_event({"type": "message_stop"})


def _named_event(event: Body) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


_anthropic = Shape("text/event-stream", _anthropic_piece, _anthropic_end)
_openai = Shape("text/event-stream", _openai_piece, _openai_end)
_ollama = Shape("application/x-ndjson", _ollama_piece, _ollama_end)


def script_of(entries: Sequence[Body]) -> Callable[[Body], Reply]:
    """Make a script of what a JSON file holds."""
    used = [0] * len(entries)
    lock = threading.Lock()

    def answer(body: Body) -> Reply:
        for place, entry in enumerate(entries):
            if (
                entry.get("system", "") in system_of(body)
                and entry.get("when", "") in last_user(body)
                and (not entry.get("tool") or entry["tool"] in tools_of(body))
            ):
                with lock:
                    step = min(used[place], len(entry["replies"]) - 1)
                    used[place] += 1
                return _reply(entry["replies"][step])
        return Fail(400, "no entry of the script fits this request")

    return answer


def _reply(given: Body) -> Reply:
    if "status" in given:
        return Fail(given["status"], given.get("body", ""), given.get("headers", {}))
    if given.get("stall"):
        return Stall(given.get("text", ""))
    calls = [Call(call["name"], call.get("arguments", {})) for call in given.get("calls", ())]
    return (Say(given.get("text", ""), given.get("reasoning", "")), *calls)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve a script as a model.")
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="append each request body to this file, one JSON a line")
    given = parser.parse_args()
    answer = script_of(json.loads(given.script.read_text()))

    def recorded(body: Body) -> Reply:
        if given.record:
            with given.record.open("a") as lines:
                lines.write(json.dumps(body) + "\n")
        return answer(body)

    server = FakeServer(recorded, port=given.port)
    print(f"READY {server.url}", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
