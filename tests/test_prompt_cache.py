"""What providers keep between requests: tools and system text, the same to the byte, and each step all of the last."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import anthropic, ollama, openai
from conftest import Serve
from fake_server import Body, Call, Reply, Say, Seen

from ogcode.agent.events import ignore
from ogcode.agent.model import Model
from ogcode.agent.turn import Limits, ToolCall, Verdict
from ogcode.tui.earlier import Choice
from ogcode.tui.place import look_around, utc_now
from ogcode.tui.wiring import open_session

EACH = pytest.mark.parametrize("client", [openai, ollama, anthropic])
FILES = ("one.py", "two.py", "three.py")


def reading(body: Body) -> Reply:
    """Read three files in two steps, then answer."""
    step = sum(message["role"] == "assistant" for message in body["messages"])
    calls = [Call("read", {"path": name}, f"id_{step}_{name[:3]}") for name in (FILES[:2] if step == 0 else FILES[2:])]
    return Say("I know them all now.") if step > 1 else (Say("let me see"), *calls)


async def yes(_: ToolCall) -> Verdict:
    return Verdict(allowed=True)


async def asked(tmp_path: Path, serve: Serve, client: Callable[[str], Model]) -> list[Seen]:
    for name in FILES:
        tmp_path.joinpath(name).write_text("é = 1\n" * 9, "utf-8")
    tmp_path.joinpath("AGENTS.md").write_text("Use tabs — always.\n", "utf-8")
    environ = {"HOME": str(tmp_path / "h"), "OGCODE_HOME": str(tmp_path / "h" / ".ogcode"), "PATH": "/usr/bin:/bin"}
    here = look_around(tmp_path, environ, utc_now, trust=True)
    server = serve(reading)
    session = open_session(here, client(server.url), Choice(), memory="on").session
    for request in ("read them", "and again", "once more"):
        await session.ask(request, emit=ignore, approve=yes, limits=Limits())
    return [seen for seen in server.seen if seen.body.get("messages")]


def written(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@EACH
async def test_tools_and_system_text_are_the_same_bytes_in_every_request_of_a_session(
    tmp_path: Path, serve: Serve, client: Callable[[str], Model]
) -> None:
    requests = await asked(tmp_path, serve, client)
    assert len(requests) == 9
    first = requests[0].body
    kept = written(first["tools"]), written(first.get("system") or first["messages"][0])
    assert b"always" in kept[1]
    assert all(part in seen.raw for seen in requests for part in kept)


@EACH
async def test_a_step_begins_with_the_very_bytes_of_the_last_one(
    tmp_path: Path, serve: Serve, client: Callable[[str], Model]
) -> None:
    requests = await asked(tmp_path, serve, client)
    mark = b',"cache_control":{"type":"ephemeral"}'
    said = [written(seen.body["messages"]).replace(mark, b"").removesuffix(b"]") for seen in requests]
    assert all(written(seen.body["messages"]) in seen.raw for seen in requests)
    assert all(
        later.startswith(earlier) and len(later) > len(earlier)
        for start in (0, 3, 6)
        for earlier, later in zip(said[start : start + 2], said[start + 1 : start + 3], strict=True)
    )
